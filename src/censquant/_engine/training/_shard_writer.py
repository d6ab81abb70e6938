"""Rows from a stream to shuffled shards: read once, scattered over buckets, each one shuffled."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from censquant._engine.training._shards import (
    MANIFEST,
    ShardFolder,
    StreamSummary,
    record_type,
    records_digest,
    shard_path,
)
from censquant._files import locked, read_arrays, saying_disk_full, write_arrays
from censquant._typing import Floats
from censquant.exceptions import ModelFileError

Block = tuple[Floats, Floats, NDArray[np.bool_], Floats]
"""Features, times, events and weights of some rows."""

_BUCKET_BYTES = 1 << 26  # shuffling holds about twice as much in memory
_MOST_BUCKETS = 4_096
_BLOCK_ROWS = 65_536
_BLOCK_CELLS = 4_000_000  # of wide rows fewer are read at a time
_JOURNAL_ROWS = 1_000_000
_SHUFFLE_SEED = 0  # the same data give the same shards; trainings shuffle again by their own seeds
_JOURNAL, _LOCK, _KIND = "journal.safetensors", "lock", "shard journal"


class BlockStream(Protocol):
    """Rows that can be read from the start, in parts that follow one another."""

    @property
    def shown(self) -> str:
        """What messages call the data."""
        ...

    @property
    def identity(self) -> str:
        """Says which data these are and how they are read; empty where nobody knows."""
        ...

    @property
    def n_features(self) -> int:
        """Number of features."""
        ...

    @property
    def n_parts(self) -> int:
        """Number of parts, files for example."""
        ...

    def expected_bytes(self) -> int:
        """Return about how many bytes the rows have as float64 numbers."""
        ...

    def blocks(self, part: int, n_rows: int) -> Iterator[Block]:
        """Give the rows of a part in their order, at most ``n_rows`` at a time."""
        ...


Scaling = tuple[Floats | None, Floats | None, Callable[[Floats], NDArray[Any]]]
"""Centre and scale, for the record, and the function that scales features."""


def write_shards(
    stream: BlockStream,
    folder: Path,
    scaling: Callable[[StreamSummary], Scaling],
    *,
    resumable: bool = True,
) -> ShardFolder:
    r"""Write the rows of a stream as shuffled shards, or open them if they are there already.

    The stream is read once. Each row goes to a random bucket; then the rows of each bucket are
    shuffled, scaled and written, so that memory holds one bucket at a time. The folder appears
    under its name when it is complete. A process that was killed is resumed by the next one, and
    the shards are the same to the last bit; after an error nothing is left.
    """
    if (folder / MANIFEST).exists():
        return _opened(stream, folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(
            f"shards must name a new folder, an empty one, or one that fit_dataset wrote, got "
            f"{str(folder)!r}, which holds other files."
        )
    work = folder.with_name(f".{folder.name}.writing")
    work.mkdir(parents=True, exist_ok=True)
    try:
        with (
            locked(work / _LOCK, f"Another process is writing the shards {str(folder)!r}"),
            saying_disk_full(_full(stream, folder)),
        ):
            _check_room(stream, work)
            written = _Writing(stream, work, resumable=resumable).run(scaling)
            if os.name != "nt":  # there no folder with an open file can be moved
                _move(work, folder)
        if os.name == "nt":
            _move(work, folder)
    except BlockingIOError:
        raise
    except Exception:
        shutil.rmtree(work, ignore_errors=True)
        raise
    (folder / _LOCK).unlink(missing_ok=True)
    return replace(written, path=folder)


def _move(work: Path, folder: Path) -> None:
    if folder.exists():
        folder.rmdir()
    work.replace(folder)


def _opened(stream: BlockStream, folder: Path) -> ShardFolder:
    """Return shards that are there already, refused unless they are of this stream."""
    found = ShardFolder.open(folder)
    if not stream.identity or found.identity != stream.identity:
        raise FileExistsError(
            f"shards must name a folder without the shards of other data, got {str(folder)!r}, "
            "written from other files, from other columns or with another standardize: delete it, "
            "or name another."
        )
    return found


def _check_room(stream: BlockStream, folder: Path) -> None:
    """Refuse to begin what the disk has no room for; 4-byte numbers replace 8-byte ones."""
    written = sum(path.stat().st_size for path in folder.iterdir())
    if shutil.disk_usage(folder).free + written < stream.expected_bytes():
        raise OSError(errno.ENOSPC, "no space left")


def _full(stream: BlockStream, folder: Path) -> str:
    needed, place = 1.1e-9 * stream.expected_bytes(), str(folder.absolute().parent)
    return (
        f"The disk is full: the shards of {stream.shown} need about {needed:.2g} GB in {place!r} "
        "while they are written, and nothing was kept; free some space, or name another folder by "
        "shards."
    )


class _Writing:
    """One pass over a stream, and what is noted of it in case that it is interrupted."""

    def __init__(self, stream: BlockStream, work: Path, *, resumable: bool) -> None:
        self._stream, self._work, self._resumable = stream, work, resumable
        self._n_columns = stream.n_features + 3
        n_buckets = -(-stream.expected_bytes() // _BUCKET_BYTES)
        self._lengths = np.zeros(min(max(1, n_buckets), _MOST_BUCKETS), np.int64)
        self._summary = StreamSummary(stream.n_features)
        self._part = self._row = 0  # where reading is to begin
        self._is_scattered = False
        self._done: list[tuple[int, str]] = []  # length and digest of the shards so far
        if not (resumable and stream.identity and self._resume()):
            for path in work.iterdir():
                if path.name != _LOCK:
                    path.unlink()

    def run(self, scaling: Callable[[StreamSummary], Scaling]) -> ShardFolder:
        if not self._is_scattered:
            self._scatter()
        center, scale, apply = scaling(self._summary)
        for bucket in range(len(self._done), len(self._lengths)):
            self._finish(bucket, apply)
        lengths, digests = zip(*(each for each in self._done if each[0]), strict=True)
        found = ShardFolder(
            self._work, self._stream.identity, lengths, digests, self._summary, center, scale
        )
        found.write_manifest()
        (self._work / _JOURNAL).unlink(missing_ok=True)
        return found

    def _scatter(self) -> None:
        """Append each row of the stream to a random bucket."""
        n_rows = max(1, min(_BLOCK_ROWS, _BLOCK_CELLS // self._n_columns))
        n_noted = self._summary.n_rows
        for part in range(self._part, self._stream.n_parts):
            row = 0
            for block in self._stream.blocks(part, n_rows):
                begin, row = row, row + len(block[0])
                if part == self._part and row <= self._row:
                    continue  # before the interruption
                self._append(block, np.random.default_rng([_SHUFFLE_SEED, part, begin]))
                if self._summary.n_rows - n_noted >= _JOURNAL_ROWS:
                    n_noted = self._summary.n_rows
                    self._note(part, row)
        self._is_scattered = True
        self._note(self._stream.n_parts, 0)

    def _append(self, block: Block, rng: np.random.Generator) -> None:
        x, time, event, weight = block
        used = weight > 0
        if not used.all():
            x, time, event, weight = x[used], time[used], event[used], weight[used]
        self._summary.add(x, time, event, weight, rng)
        bucket = rng.integers(0, len(self._lengths), len(x))
        order = np.argsort(bucket, kind="stable")
        values = np.column_stack((x, time, weight, event))[order]
        ends = np.cumsum(np.bincount(bucket, minlength=len(self._lengths)))
        for place, part in enumerate(np.split(values, ends[:-1])):
            if len(part):
                _append_bytes(self._bucket(place), part)
                self._lengths[place] += len(part)

    def _finish(self, bucket: int, apply: Callable[[Floats], NDArray[Any]]) -> None:
        """Write the rows of a bucket, shuffled and scaled, as a shard."""
        n_features, path = self._stream.n_features, self._bucket(bucket)
        if not self._lengths[bucket]:
            self._done.append((0, ""))
            return
        values = np.fromfile(path).reshape(-1, self._n_columns)
        order = np.random.default_rng([_SHUFFLE_SEED, bucket]).permutation(len(values))
        records = np.empty(len(values), record_type(n_features))
        for start in range(0, len(values), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            part = values[order[rows]]
            records["x"][rows] = apply(part[:, :n_features])
            records["time"][rows] = part[:, n_features]
            records["weight"][rows] = part[:, n_features + 1] / self._summary.mean_weight
            records["event"][rows] = part[:, n_features + 2] > 0
        place = sum(length > 0 for length, _ in self._done)
        np.save(shard_path(self._work, place), records)
        self._done.append((len(records), records_digest(records)))
        self._note(self._stream.n_parts, 0)
        path.unlink()

    def _bucket(self, place: int) -> Path:
        return self._work / f"bucket-{place:05d}"

    # What is noted

    def _note(self, part: int, row: int) -> None:
        if not (self._resumable and self._stream.identity):
            return
        header = {
            "identity": self._stream.identity,
            "part": part,
            "row": row,
            "scattered": self._is_scattered,
            "done": self._done,
        }
        write_arrays(
            self._work / _JOURNAL,
            _KIND,
            header,
            {"lengths": self._lengths, **self._summary.state()},
        )

    def _resume(self) -> bool:
        """Go to where an earlier process was; False if there was none, or not for these data."""
        try:
            header, arrays = read_arrays(self._work / _JOURNAL, _KIND)
        except (FileNotFoundError, ModelFileError):
            return False
        lengths = arrays.pop("lengths")
        if header["identity"] != self._stream.identity or len(lengths) != len(self._lengths):
            return False
        done = [(int(length), str(digest)) for length, digest in header["done"]]
        for place in range(len(done), len(lengths)):
            size = int(lengths[place]) * self._n_columns * 8
            path = self._bucket(place)
            if (path.stat().st_size if path.exists() else 0) < size:
                return False
            if size:
                os.truncate(path, size)  # what came after the note is read again
        self._part, self._row = int(header["part"]), int(header["row"])
        self._is_scattered, self._done = bool(header["scattered"]), done
        self._lengths = lengths
        self._summary = StreamSummary.from_state(arrays)
        return True


def _append_bytes(path: Path, values: NDArray[Any]) -> None:
    with path.open("ab") as file:
        file.write(values.data)
