"""A random sample of rows, or of whole groups, from many partitions."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.dask._reading import Table
from censquant.survival import Target

_SPREAD = 5.0  # standard deviations by which a sample may turn out smaller than expected
_SPARE_GROUPS = 1.5


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that were drawn, with the random numbers that drew them."""

    table: Table
    keys: Floats


def share_of(most: int, n_rows: int, *, by_groups: bool) -> float:
    """Return the share of rows to draw so that at least ``most`` come, whatever their luck."""
    expected = most * _SPARE_GROUPS if by_groups else most + _SPREAD * sqrt(most)
    return min(1.0, expected / max(n_rows, 1))


def drawn(table: Table, number: int, share: float, seed: int) -> Sample:
    """Return the rows of a partition whose random number is below the share.

    The number belongs to the group, where there are groups, and to the row otherwise. It depends on
    nothing but the seed and the label, or the place of the row.
    """
    if table.groups is None:
        keys = np.random.default_rng([seed, number]).random(len(table))
    else:
        labels, place = np.unique(table.groups, return_inverse=True)
        keys = np.array([_number_of(label, seed) for label in labels])[place]
    # The group of the smallest number of all comes whole, even if it is larger than the share.
    least = keys.min(initial=1.0) if table.groups is not None else -1.0
    return _taken(table, keys, np.flatnonzero((keys < share) | (keys == least)))


def joined(samples: Sequence[Sample], most: int, share: float) -> Sample:
    """Return the rows of the smallest random numbers, at most so many, in the order of these.

    Groups are taken whole, at least one.
    """
    used = [sample for sample in samples if len(sample.table)]
    tables = [sample.table for sample in used]
    keys = np.concatenate([sample.keys for sample in used])
    grouped = tables[0].groups is not None
    together = Table(
        _stacked([table.X for table in tables]),
        Target(
            np.concatenate([table.target.time for table in tables]),
            np.concatenate([table.target.event for table in tables]),
        ),
        np.concatenate([table.weight for table in tables]),
        np.concatenate([table.groups for table in tables]) if grouped else None,
    )
    order = np.argsort(keys, kind="stable")
    order = order[(keys[order] < share) | (keys[order] == keys.min())]
    if len(order) > most:
        last = order[:most][-1]
        following = keys[order[most]]
        if grouped and keys[last] == following:  # a group that does not fit in
            whole = order[keys[order] < following]
            order = whole if len(whole) else order[keys[order] == following]
        else:
            order = order[:most]
    return _taken(together, keys, order)


def _taken(table: Table, keys: Floats, rows: NDArray[np.intp]) -> Sample:
    X = table.X.iloc[rows] if hasattr(table.X, "iloc") else table.X[rows]
    groups = None if table.groups is None else table.groups[rows]
    return Sample(Table(X, table.target.take(rows), table.weight[rows], groups), keys[rows])


def _stacked(parts: list[Any]) -> Any:
    if not hasattr(parts[0], "iloc"):
        return np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def _number_of(label: str, seed: int) -> float:
    """Return a number in [0, 1) that is the same for a label in every partition."""
    digest = blake2b(f"{seed} {label}".encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2.0**64
