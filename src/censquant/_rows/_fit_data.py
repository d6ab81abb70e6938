"""The one road from a user's features and target to the checked rows of a fit."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from censquant._compile import compiled
from censquant._frames import unmasked
from censquant._leaks import FEWEST_ROWS, Outcome
from censquant._rows._features import feature_range, refuse_swapped, warn_of_leaks
from censquant._typing import Floats
from censquant.survival import Target, read_target
from censquant.survival._columns import read_weights
from censquant.survival._general_rows import refuse_unusable
from censquant.survival._kaplan_meier import default_horizon, read_censoring_times
from censquant.survival._target import GeneralTarget

MOST_TIMES = 1_000
"""Default times of survival functions, and steps of hazards inside ensembles, at most."""
_FEW_TIMES = 100
_LARGEST_COPIES = 100  # times the number of rows: beyond it, weights scale the loss instead
_BLOCK_ROWS = 8_192


@dataclass(frozen=True, eq=False)
class FitData:
    """Rows of a fit: features, targets and weights, checked."""

    x: Any  # array, sparse matrix or DataFrame
    target: Target  # in the user's terms: left-censored times are not mirrored
    weight: Floats
    source: NDArray[np.intp]  # place of each row in the data of the user
    groups: NDArray[Any] | None = None
    censoring_time: Floats | None = None  # when each row was or would have been censored, if known
    left: bool = False  # whether censored rows are left-censored

    @classmethod
    def read(
        cls,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        censoring_time: ArrayLike | None = None,
        *,
        read_features: Callable[[Any], Any] | None = None,
        left: bool = False,
        accepts: Sequence[str] = ("right",),
    ) -> "FitData":
        """Check a user's data, in their order.

        ``read_features`` turns ``X`` into numbers; without it frames stay frames. ``accepts`` are
        the kinds of rows that the estimator can use, as it declares in ``_accepts``: the target is
        a `GeneralTarget` only where rows are of another kind than ``"right"``.
        """
        refuse_swapped(X, y)
        x = indexable(X) if read_features is None else read_features(X)
        n_rows = _num_samples(x)
        target = read_target(y, n_samples=n_rows, accepts=accepts)
        weight = read_weights(sample_weight, n_rows)
        if isinstance(target, GeneralTarget):
            refuse_unusable(target, weight, left=left)
        labels = None if groups is None else read_groups(groups, n_rows)
        limit = None
        if censoring_time is not None:
            limit = read_censoring_times(censoring_time, target, left=left)
        return cls(x, target, weight, np.arange(n_rows), labels, limit, left)

    def __len__(self) -> int:
        return len(self.weight)

    def take(self, rows: NDArray[np.intp]) -> "FitData":
        """Return the rows at some places; without a copy if these are all, in their order."""
        if len(rows) == len(self) and bool((rows == np.arange(len(rows))).all()):
            return self
        return replace(
            self,
            x=self.x[rows] if isinstance(self.x, np.ndarray) else _safe_indexing(self.x, rows),
            target=self.target.take(rows),
            weight=self.weight[rows],
            source=self.source[rows],
            groups=None if self.groups is None else self.groups[rows],
            censoring_time=None if self.censoring_time is None else self.censoring_time[rows],
        )

    def arranged(self, numbers: NDArray[Any] | None = None, *, features: bool = True) -> "FitData":
        """Return the rows in an order that depends on their content alone.

        Rows of weight 0 are left out, and whole weights become repeated rows; see `arrangement`.
        ``numbers`` stand for features that are no array. With ``features=False`` the rows have
        none, for those who sort large arrays a block at a time by ``source``.
        """
        known = () if self.censoring_time is None else (self.censoring_time,)
        order, weight = arrangement(
            self.weight,
            self.x if numbers is None else numbers,
            *self.target.columns,
            *known,
        )
        rows = self if features else replace(self, x=np.empty((len(self), 0)))
        return replace(rows.take(order), weight=weight)

    @property
    def equal_weights(self) -> bool:
        """Whether all weights are equal; ``sample_weight`` is then not passed on."""
        return bool((self.weight == self.weight[0]).all())

    @cached_property
    def timeline(self) -> Target:
        """The target as right-censored times."""
        return Target(-self.target.time, self.target.event) if self.left else self.target

    @property
    def follow_up(self) -> tuple[float, float]:
        """Smallest and largest time."""
        return float(self.target.time.min()), float(self.target.time.max())

    @property
    def horizon(self) -> float:
        """Last time at which enough rows are at risk."""
        return default_horizon(self.target.time, self.weight, left=self.left)

    def event_times(self, *, stands_alone: bool = True) -> Floats:
        """Return distinct times of events: a few for a member of an ensemble, which has its own.

        One file holds many members.
        """
        most = MOST_TIMES if stands_alone else _FEW_TIMES
        return default_times(self.target.time[self.target.event], most)

    @property
    def feature_range(self) -> Floats | None:
        """Smallest and largest value of each feature; None for images and sequences."""
        return feature_range(self.x) if self.x.ndim == 2 else None

    def warn_of_leaks(self, names: Sequence[str]) -> None:
        """Warn of columns of numbers that give the outcome away."""
        if self.x.ndim != 2 or len(self) < FEWEST_ROWS:
            return
        outcome, leaks = Outcome(self.target.time, self.target.event), dict[str, list[str]]()
        for place, name in enumerate(names):
            values = np.asarray(self.x[:, place], np.float64)
            if reason := outcome.find_leak(values) or outcome.find_near_leak(values):
                leaks.setdefault(reason, []).append(name)
        warn_of_leaks(leaks)


def indexable(X: Any) -> Any:
    """Return a table whose rows can be taken."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    return X if hasattr(X, "columns") else np.asarray(unmasked(X))


def read_groups(groups: ArrayLike, n_rows: int) -> NDArray[Any]:
    """Return one label per row."""
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"groups must have one label for each of the {n_rows} rows of X, got shape "
            f"{labels.shape}."
        )
    return labels


def default_times(event_times: NDArray[np.float64], most: int = MOST_TIMES) -> Floats:
    """Return the distinct times, at most so many of them, spread evenly and with both ends."""
    times = np.unique(event_times)
    return times[spread(len(times), most)]


def spread(n: int, most: int) -> NDArray[np.intp]:
    """Return at most so many of ``n`` places, spread evenly and with both ends."""
    return np.linspace(0, n - 1, min(n, most)).round().astype(np.intp)


# An order of rows that depends on their content, not on their position or on units


def arrangement(
    weight: NDArray[np.float64], *columns: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return an order of the rows that depends only on their content, and their new weights.

    Rows of weight 0 are left out. Weights that are counts become repeated rows, so that a weighted
    fit is identical to repeating the rows; other weights are scaled to 1 on average.
    """
    used = np.flatnonzero(weight > 0)
    if len(used) < len(weight):
        weight, columns = weight[used], tuple(column[used] for column in columns)
    copies = copies_of(weight)
    if copies is not None:
        order = canonical_order(*columns)
        order = used[np.repeat(order, copies[order])]
        return order, np.ones(len(order))
    # An exact sum does not depend on the order, and float32 hides the rounding of the division:
    # the same ratios give the same order and the same bits.
    scaled = weight / (math.fsum(weight) / len(weight))
    weight = scaled.astype(np.float32).astype(np.float64)
    order = canonical_order(*columns, weight)
    return used[order], weight[order]


def in_order(values: NDArray[Any], order: NDArray[np.intp]) -> NDArray[Any]:
    """Return rows in an order: the same array, not a copy, where they are in it already."""
    if len(order) == len(values) and bool((order == np.arange(len(order))).all()):
        return values
    return values[order]


def copies_of(weight: NDArray[np.float64]) -> NDArray[np.intp] | None:
    """Return how often each row is repeated if the weights are counts, else None.

    A row of weight 3 is then trained on as three rows, which makes weighting identical to
    repeating. Counts that would make the data much longer scale the loss instead.
    """
    whole = bool((weight == np.floor(weight)).all())
    if not whole or weight.sum() > _LARGEST_COPIES * len(weight):
        return None
    return weight.astype(np.intp)


@compiled
def _hash_rows(bits: Any, hashes: Any) -> None:
    for i in range(bits.shape[0]):
        word = hashes[i]
        for j in range(bits.shape[1]):
            word = (word ^ bits[i, j]) * np.uint64(0x9E3779B97F4A7C15)
            word ^= word >> np.uint64(29)
        hashes[i] = word


def canonical_order(*columns: NDArray[Any]) -> NDArray[np.intp]:
    """Return the indices that sort rows into an order that is a function of their content.

    With it a fit does not depend on how a file was sorted, nor on the units of time and of the
    features: the order is that of values relative to the largest of their column. Equal rows are
    interchangeable, so their order among themselves does not matter.
    """
    flat = [column.reshape(len(column), -1) for column in columns]
    units = [_largest(column) for column in flat]

    # Another unit rounds the values of a column differently, in the last bits of double precision:
    # single precision hides that. Rows that differ in those bits alone are ordered by them.
    def relative(rows: slice) -> list[NDArray[Any]]:
        return [
            (column[rows] / unit).astype(np.float32)
            for column, unit in zip(flat, units, strict=True)
        ]

    by_content = _hashes(len(flat[0]), lambda rows: [column[rows] for column in flat])
    return np.lexsort((by_content, _hashes(len(flat[0]), relative)))


def order_by_content(
    n_rows: int, content: Callable[[slice], Iterable[NDArray[Any]]]
) -> NDArray[np.intp]:
    """Return an order of rows by what ``content`` gives for some of them at a time.

    No second array of the size of the data is made. Rows of the same content stay in their order.
    """
    return np.argsort(_hashes(n_rows, content), kind="stable")


def _hashes(n_rows: int, content: Callable[[slice], Iterable[NDArray[Any]]]) -> NDArray[np.uint64]:
    """Return one number per row, equal for rows of equal content."""
    hashes = np.zeros(n_rows, dtype=np.uint64)
    for start in range(0, n_rows, _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        for column in content(rows):
            # Adding zero makes -0.0 and 0.0 the same.
            flat = np.ascontiguousarray(column, dtype=np.float64).reshape(len(column), -1) + 0.0
            _hash_rows(flat.view(np.uint64), hashes[rows])
    return hashes


def _largest(flat: NDArray[Any]) -> NDArray[np.float64]:
    """Return the largest finite absolute value of each column, 1 where all are 0."""
    largest = np.zeros(flat.shape[1])
    for start in range(0, len(flat), _BLOCK_ROWS):
        size = np.abs(flat[start : start + _BLOCK_ROWS].astype(np.float64))
        np.maximum(largest, np.where(np.isfinite(size), size, 0.0).max(axis=0), out=largest)
    return np.where(largest > 0.0, largest, 1.0)
