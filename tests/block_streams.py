"""Streams of rows from arrays, to write shards from, and a way to kill their reader."""

import numpy as np


class Killed(BaseException):
    """Ends a process as a signal would: nothing that handles errors sees it."""


class ArrayBlocks:
    """Rows of arrays in some parts, as a ``BlockStream`` gives them."""

    shown = "the arrays"

    def __init__(self, n_rows=1000, n_parts=3, *, n_features=2, seed=0, killed_after=None, size=0):
        rng = np.random.default_rng(seed)
        self.x = rng.normal(3.0, 2.0, size=(n_rows, n_features))
        self.time = rng.exponential(size=n_rows)
        self.event = rng.uniform(size=n_rows) < 0.6
        self.weight = rng.uniform(0.5, 2.0, n_rows)
        self.n_parts, self.n_features = n_parts, n_features
        self.identity = f"arrays {seed} {n_rows}"
        self.killed_after, self.n_read, self._size = killed_after, 0, size

    def expected_bytes(self):
        return self._size or self.x.nbytes

    def blocks(self, part, n_rows):
        for rows in np.array_split(np.arange(len(self.x)), self.n_parts)[part : part + 1]:
            for start in range(0, len(rows), n_rows):
                block = rows[start : start + n_rows]
                if self.killed_after is not None and self.n_read + len(block) > self.killed_after:
                    raise Killed
                self.n_read += len(block)
                yield self.x[block], self.time[block], self.event[block], self.weight[block]


def plain(summary):
    """Leave features as they are."""
    return None, None, lambda x: x


def table_of(rows):
    """All rows of a source, sorted, to be compared with those that were written."""
    parts = [
        np.column_stack((block.x, block.time, block.event, block.weight))
        for block in rows.blocks(97)
    ]
    table = np.concatenate(parts)
    return table[np.lexsort(table.T)]
