"""The one road from a user's features and target to the checked rows of a fit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from censquant._frames import unmasked
from censquant._rows._features import feature_range, refuse_swapped, warn_of_leaking_features
from censquant._rows._row_order import arrangement
from censquant._typing import Floats
from censquant.survival import Target, read_target
from censquant.survival._columns import read_weights
from censquant.survival._kaplan_meier import default_horizon, read_censoring_times

_MOST_TIMES = 1_000  # default times of survival functions


@dataclass(frozen=True, eq=False)
class FitData:
    """Rows of a fit: n features, targets and weights, checked.

    Parameters
    ----------
    x : array, sparse matrix or DataFrame of n rows
    target : Target of n rows
        In the user's terms: left-censored times are not mirrored.
    weight : ndarray of shape (n,)
    source : ndarray of int, shape (n,)
        Place of each row in the data of the user.
    groups : ndarray of shape (n,) or None
    censoring_time : ndarray of shape (n,) or None
        When each row was or would have been censored, where that is known.
    left : bool
        Whether censored rows are left-censored.
    """

    x: Any
    target: Target
    weight: Floats
    source: NDArray[np.intp]
    groups: NDArray[Any] | None = None
    censoring_time: Floats | None = None
    left: bool = False

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
    ) -> "FitData":
        """Check a user's data, in their order.

        ``read_features`` turns ``X`` into numbers; without it frames stay frames.
        """
        refuse_swapped(X, y)
        x = _indexable(X) if read_features is None else read_features(X)
        n_rows = _num_samples(x)
        target = read_target(y, n_samples=n_rows)
        weight = read_weights(sample_weight, n_rows)
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
            self.target.time,
            self.target.event,
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

    @property
    def event_times(self) -> Floats:
        """Distinct times of events, thinned out if they are many."""
        return default_times(self.target.time[self.target.event])

    @property
    def feature_range(self) -> Floats | None:
        """Smallest and largest value of each feature; None for images and sequences."""
        return feature_range(self.x) if self.x.ndim == 2 else None

    def warn_of_leaks(self, names: Sequence[str]) -> None:
        """Warn of columns of numbers that give the outcome away."""
        if self.x.ndim == 2:
            warn_of_leaking_features(self.x, self.target, names)


def _indexable(X: Any) -> Any:
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


def default_times(event_times: NDArray[np.float64]) -> Floats:
    """Return the distinct times, at most a thousand of them, spread evenly and with both ends."""
    times = np.unique(event_times)
    if len(times) <= _MOST_TIMES:
        return times
    return times[np.linspace(0, len(times) - 1, _MOST_TIMES).round().astype(np.intp)]
