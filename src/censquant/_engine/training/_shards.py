"""Rows on disk: what is known of all of them, files mapped into memory, and their folder."""

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from censquant._engine.networks._network import with_prefix
from censquant._engine.training._rows import Rows
from censquant._files import read_arrays, write_arrays
from censquant._typing import Floats
from censquant.exceptions import ModelFileError
from censquant.survival import Target
from censquant.survival._transform import TimeTransform

MANIFEST = "shards.safetensors"
_KIND = "shards"
_SAMPLE_ROWS = 200_000
_SAMPLE_CELLS = 20_000_000  # of wide rows fewer are in a sample

Records = NDArray[Any]


@dataclass(frozen=True, eq=False)
class FeatureMoments:
    """Means, spreads and ranges of the features of some rows, gathered part by part."""

    weight: float  # sum over the rows
    mean: Floats
    squares: Floats  # weighted sums of squared distances from the means
    low: Floats
    high: Floats

    @classmethod
    def of(cls, x: Floats, weight: Floats) -> "FeatureMoments":
        """Return the moments of rows, of which there may be none."""
        n_features = x.shape[1]
        if not len(x):
            nothing, end = np.zeros(n_features), np.full(n_features, np.inf)
            return cls(0.0, nothing, nothing, end, -end)
        total = float(weight.sum())
        mean = weight @ x / total
        return cls(total, mean, weight @ (x - mean) ** 2, x.min(axis=0), x.max(axis=0))

    @classmethod
    def merged(cls, parts: Sequence["FeatureMoments"]) -> "FeatureMoments":
        """Return the moments of all rows of some parts."""
        weights = np.array([part.weight for part in parts])
        total = float(weights.sum())
        if total == 0.0:
            return parts[0]
        means = np.stack([part.mean for part in parts])
        mean = weights @ means / total
        # The spread of all is that within the parts plus that of their means.
        squares = sum(part.squares for part in parts) + weights @ (means - mean) ** 2
        low = np.min([part.low for part in parts], axis=0)
        return cls(total, mean, squares, low, np.max([part.high for part in parts], axis=0))

    @property
    def variance(self) -> Floats:
        """Weighted variance of each feature."""
        return self.squares / self.weight


class StreamSummary:
    """Moments and ranges of features, exact, and a uniform sample of times, in bounded memory.

    The sample has at most 200,000 rows; rows with the smallest and largest time, and with the
    smallest positive time of an event and of any row, are always among them, since bounds are
    taken from those.
    """

    def __init__(self, n_features: int) -> None:
        self.n_rows = self.n_events = 0
        self.moments = FeatureMoments.of(np.zeros((0, n_features)), np.zeros(0))
        # One row each of the sample: random key, time, event, weight.
        self._drawn: Floats = np.zeros((0, 4))
        self._ends: Floats = np.zeros((0, 4))

    def add(
        self,
        x: Floats,
        time: Floats,
        event: NDArray[np.bool_],
        weight: Floats,
        rng: np.random.Generator,
    ) -> None:
        """Take some rows, all of them with positive weight."""
        if not len(x):
            return
        self.n_rows += len(x)
        self.n_events += int(np.count_nonzero(event))
        self.moments = FeatureMoments.merged([self.moments, FeatureMoments.of(x, weight)])
        rows = np.column_stack((rng.random(len(x)), time, event, weight))
        self._ends = _ends(np.concatenate((self._ends, rows)))
        drawn: Floats = np.concatenate((self._drawn, rows))
        if len(drawn) > _SAMPLE_ROWS:
            drawn = drawn[np.argpartition(drawn[:, 0], _SAMPLE_ROWS)[:_SAMPLE_ROWS]]
        self._drawn = drawn

    @property
    def mean_weight(self) -> float:
        """Mean of the weights."""
        return self.moments.weight / self.n_rows

    def target(self) -> tuple[Target, Floats]:
        """Return the sample of times and events, and their weights, 1 on average over all rows."""
        rows = np.unique(np.concatenate((self._drawn, self._ends)), axis=0)
        return Target(np.ascontiguousarray(rows[:, 1]), rows[:, 2] > 0), rows[
            :, 3
        ] / self.mean_weight

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of which :meth:`from_state` makes the same summary."""
        moments = self.moments
        return {
            "counts": np.array([self.n_rows, self.n_events]),
            "weight_sum": np.array([moments.weight]),
            "moments": np.stack((moments.mean, moments.squares, moments.low, moments.high)),
            "drawn": self._drawn,
            "ends": self._ends,
        }

    @classmethod
    def from_state(cls, state: dict[str, NDArray[Any]]) -> Self:
        """Return the summary of a state."""
        summary = cls(state["moments"].shape[1])
        summary.n_rows, summary.n_events = (int(count) for count in state["counts"])
        summary.moments = FeatureMoments(
            float(state["weight_sum"][0]), *(values.copy() for values in state["moments"])
        )
        summary._drawn, summary._ends = state["drawn"], state["ends"]
        return summary


def _ends(rows: Floats) -> Floats:
    """Return the rows that bound the times."""
    time, event = rows[:, 1], rows[:, 2] > 0
    places = [int(np.argmin(time)), int(np.argmax(time))]
    for kind in (event, event & (time > 0), time > 0):
        among = np.flatnonzero(kind)
        if among.size:
            places.append(int(among[np.argmin(time[among])]))
    return rows[sorted(set(places))]


def record_type(n_features: int) -> np.dtype[Any]:
    """Return what a shard holds of each row: features as they are trained on, times as given."""
    return np.dtype(
        [("x", "<f4", (n_features,)), ("time", "<f8"), ("weight", "<f4"), ("event", "?")]
    )


@dataclass(frozen=True)
class ShardRows:
    r"""Rows in files that are mapped into memory, shuffled when they were written.

    An epoch visits the files in random order, and the rows of each in random order. Since rows
    were scattered over the files at random, a batch is a random sample of all rows. Apart from the
    batch itself nothing is copied: pages of the files belong to the system, which takes them back
    when memory is short. Made by :meth:`ShardFolder.rows`.
    """

    digest: str  # of the content of all files
    paths: tuple[Path, ...] = field(compare=False, repr=False)
    lengths: tuple[int, ...] = field(repr=False)
    shape: tuple[int, ...]
    transform: TimeTransform
    start: int  # of the rows that are used, counted over all files
    stop: int
    level: NDArray[np.float32] | None = field(default=None, repr=False)
    # What every batch passes; :meth:`prepared` sets it.
    prepare: Callable[[Rows], Rows] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return self.stop - self.start

    def between(self, start: int, stop: int) -> "ShardRows":
        """Return some of the rows, counted from the first of these."""
        return replace(self, start=self.start + start, stop=self.start + stop)

    def batches(self, rng: np.random.Generator, size: int) -> Iterator[Rows]:
        """Give every row once, in random order; all batches but the last have ``size`` rows."""
        parts = list(self._parts())
        records: Records = np.zeros(0, record_type(*self.shape))
        places = np.zeros(0, np.intp)
        for part in rng.permutation(len(parts)):
            path, first, last, place = parts[part]
            file, order = _mapped(path), rng.permutation(last - first)
            # What the part before left over begins the first batch.
            n_taken = min(size - len(records), len(order)) if len(records) else 0
            if n_taken:
                records = np.concatenate((records, file.take(order[:n_taken] + first)))
                places = np.concatenate((places, order[:n_taken] + place))
                if len(records) < size:
                    continue
                yield self._rows(records, places)
            n_left = (len(order) - n_taken) % size
            for start in range(n_taken, len(order) - n_left, size):
                rows = order[start : start + size]
                yield self._rows(file.take(rows + first), rows + place)
            rows = order[len(order) - n_left :]
            records, places = file.take(rows + first), rows + place
        if len(records):
            yield self._rows(records, places)

    def blocks(self, size: int) -> Iterator[Rows]:
        """Give the rows in the order of the files, at most ``size`` at a time."""
        for path, first, last, place in self._parts():
            file = _mapped(path)
            for start in range(first, last, size):
                records = file[start : min(start + size, last)]
                begin = place + start - first
                yield self._rows(records, slice(begin, begin + len(records)))

    def sample(self) -> Rows:
        """Return the first rows, at most 200,000: rows were shuffled, so these are drawn at random.

        Of rows with more than a hundred features fewer are taken, 20 million values in all.
        """
        most = min(_SAMPLE_ROWS, max(1, _SAMPLE_CELLS // max(1, *self.shape)))
        some = replace(self.between(0, min(len(self), most)), level=None, prepare=None)
        parts = [_mapped(path)[first:last] for path, first, last, _ in some._parts()]
        return some._rows(np.concatenate(parts), slice(None))

    def split(self, fraction: float, rng: np.random.Generator) -> "tuple[ShardRows, ShardRows]":
        """Return the rows without the last share of them, and that share: rows were shuffled."""
        end = len(self) - round(fraction * len(self))
        return self.between(0, end), self.between(end, len(self))

    def prepared(self, prepare: Callable[[Rows], Rows]) -> "ShardRows":
        """Return the rows with a preparation that every batch passes; it must keep all rows."""
        return replace(self, prepare=prepare)

    def with_level(self, level: NDArray[np.float32]) -> "ShardRows":
        """Return the rows with levels, in the order of :meth:`blocks`."""
        return replace(self, level=level)

    def scratch(self, dtype: Any) -> NDArray[Any]:
        """Return zeros, one per row, in a file that vanishes with them."""
        with tempfile.TemporaryFile(dir=self.paths[0].parent) as file:
            file.truncate(len(self) * np.dtype(dtype).itemsize)
            return np.memmap(file, dtype, "r+", shape=(len(self),))

    def _parts(self) -> Iterator[tuple[Path, int, int, int]]:
        """Give each file with the first and last of its rows that are used, and their place."""
        ends = accumulate(self.lengths, initial=0)
        for path, (begin, end) in zip(self.paths, pairwise(ends), strict=True):
            first, last = max(begin, self.start), min(end, self.stop)
            if first < last:
                yield path, first - begin, last - begin, first - self.start

    def _rows(self, records: Records, places: NDArray[np.intp] | slice) -> Rows:
        n = len(records)
        rows = Rows(
            x=np.ascontiguousarray(records["x"]),
            time=self.transform.forward(records["time"]).astype(np.float32),
            event=np.ascontiguousarray(records["event"]),
            weight=np.ascontiguousarray(records["weight"]),
            level=np.full(n, -1, np.float32)
            if self.level is None
            else np.ascontiguousarray(self.level[places]),
        )
        if self.prepare is None:
            return rows
        prepared = self.prepare(rows)
        if len(prepared) != n:
            raise ValueError(
                "prepare must keep all rows where they are not in memory, got "
                f"{len(prepared)} of {n}: give the others the weight 0."
            )
        return prepared


def _mapped(path: Path) -> Records:
    """Return the records of a file, which are read when they are used."""
    return np.asarray(np.load(path, mmap_mode="r"))


@dataclass(frozen=True, eq=False)
class ShardFolder:
    """Rows of a data set on disk, ready to be trained on, with what is known of all of them.

    Made by :func:`write_shards`, or by :meth:`open` from what that wrote.
    """

    path: Path
    identity: str  # of the data and of how they were read; empty where nobody knows
    lengths: tuple[int, ...]
    digests: tuple[str, ...]
    summary: StreamSummary
    center: Floats | None  # how features were scaled
    scale: Floats | None

    def rows(self, transform: TimeTransform) -> ShardRows:
        """Return all rows, their times in model units."""
        digest = hashlib.blake2b("".join(self.digests).encode(), digest_size=16).hexdigest()
        paths = tuple(shard_path(self.path, place) for place in range(len(self.lengths)))
        return ShardRows(digest, paths, self.lengths, self._shape, transform, 0, sum(self.lengths))

    @property
    def _shape(self) -> tuple[int, ...]:
        return (len(self.summary.moments.mean),)

    def write_manifest(self) -> None:
        """Write what :meth:`open` reads."""
        header = {
            "identity": self.identity,
            "lengths": list(self.lengths),
            "digests": list(self.digests),
        }
        arrays = {f"summary.{name}": array for name, array in self.summary.state().items()}
        if self.center is not None and self.scale is not None:
            arrays |= {"center": self.center, "scale": self.scale}
        write_arrays(self.path / MANIFEST, _KIND, header, arrays)

    @classmethod
    def open(cls, path: Path) -> "ShardFolder":
        """Return a folder that :func:`write_shards` wrote; one with a damaged file is refused."""
        header, arrays = read_arrays(path / MANIFEST, _KIND)
        try:
            found = cls(
                path,
                str(header["identity"]),
                tuple(int(length) for length in header["lengths"]),
                tuple(str(digest) for digest in header["digests"]),
                StreamSummary.from_state(with_prefix(arrays, "summary.")),
                arrays.get("center"),
                arrays.get("scale"),
            )
        except (KeyError, TypeError, ValueError):
            raise ModelFileError(f"{str(path / MANIFEST)!r} does not describe shards.") from None
        found._check_files()
        return found

    def _check_files(self) -> None:
        type_ = record_type(*self._shape)
        for place, (length, digest) in enumerate(zip(self.lengths, self.digests, strict=True)):
            path = shard_path(self.path, place)
            try:
                records = np.load(path, mmap_mode="r")
                whole = records.dtype == type_ and records.shape == (length,)
            except (OSError, ValueError):
                whole = False
            if not whole or records_digest(records) != digest:
                raise ModelFileError(
                    f"{str(path)!r} is damaged: its content is not that of its digest; delete the "
                    "folder, and it is written again."
                )


def shard_path(folder: Path, place: int) -> Path:
    """Return the place of a file of rows."""
    return folder / f"shard-{place:05d}.npy"


def records_digest(records: NDArray[Any]) -> str:
    """Return the digest of the content of a file of rows."""
    content = np.ascontiguousarray(records).view(np.uint8).data
    return hashlib.blake2b(content, digest_size=16).hexdigest()
