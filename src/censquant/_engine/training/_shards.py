"""Rows on disk: files of records that are mapped into memory."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine.training._rows import Rows
from censquant.survival._transform import TimeTransform

_SAMPLE_ROWS = 200_000
_SAMPLE_CELLS = 20_000_000  # of wide rows fewer are in a sample

Records = NDArray[Any]


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

    Parameters
    ----------
    digest : str
        Identifies the content of all files.
    paths : tuple of path
    lengths : tuple of int
        Rows in each file.
    shape : tuple of int
        Shape of the features of one row.
    transform : TimeTransform
        From the user's times to those of the model.
    start, stop : int
        The rows that are used, counted over all files.
    level : float32 ndarray of shape (stop - start,), optional
        As in :class:`RowSource`.
    prepare : callable, optional
        What every batch passes; :meth:`prepared` sets it.
    """

    digest: str
    paths: tuple[Path, ...] = field(compare=False, repr=False)
    lengths: tuple[int, ...] = field(repr=False)
    shape: tuple[int, ...]
    transform: TimeTransform
    start: int
    stop: int
    level: NDArray[np.float32] | None = field(default=None, repr=False)
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
