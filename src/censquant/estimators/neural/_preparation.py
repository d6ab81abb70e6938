"""From the user's arrays to the rows that a network trains on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant.estimators._row_order import order_by_content
from censquant.training import Rows

# A spread below this share of the values' size is rounding: the feature is constant.
_NO_SPREAD = 1e-10
_STEPS_IN_ONE = 2.0**20
_BLOCK_ROWS = 65_536


@dataclass(frozen=True)
class FeatureScale:
    """Centre and scale of features; by default none.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.estimators.neural._preparation import FeatureScale
    >>> x = np.array([[1.0, 7.0], [3.0, 7.0]])
    >>> FeatureScale.fit(x, np.ones(2)).apply(x)
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    center: NDArray[np.float64] | None = None
    scale: NDArray[np.float64] | float = 1.0

    @classmethod
    def fit(cls, x: NDArray[Any], weight: NDArray[np.float64]) -> "FeatureScale":
        """Take weighted mean and standard deviation of each feature.

        A constant feature is only centred. Samples that are images or sequences have one mean and
        one standard deviation in all, so that their parts stay comparable.
        """
        x = x.astype(np.float64, copy=False)
        if x.ndim > 2:
            share = weight / weight.sum()
            axes = tuple(range(1, x.ndim))
            center = np.atleast_1d(share @ x.mean(axis=axes))
            variance = np.atleast_1d(share @ ((x - center) ** 2).mean(axis=axes))
        else:
            total = weight.sum()
            center = _weighted_sum(x, weight) / total
            variance = _weighted_sum(x, weight, around=center) / total
        return cls.of_moments(center, variance)

    @classmethod
    def of_moments(
        cls, center: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> "FeatureScale":
        """Take means and variances that are known; a constant feature is only centred."""
        scale = np.sqrt(variance)
        scale[scale <= _NO_SPREAD * np.abs(center)] = 1.0
        scale[scale == 0.0] = 1.0
        return cls(center, scale)

    def apply(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the scaled features."""
        if self.center is None:
            return x
        return (x - self.center) / self.scale

    def apply_in_blocks(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the scaled features in single precision, without a second array of doubles."""
        if self.center is None:
            return x
        scaled = np.empty(x.shape, np.float32)
        for start in range(0, len(x), _BLOCK_ROWS):
            rows = slice(start, start + _BLOCK_ROWS)
            scaled[rows] = self.apply(x[rows])
        return scaled


def _weighted_sum(
    x: NDArray[np.float64], weight: NDArray[np.float64], around: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the weighted sum of each column, or of its squared distances from a value."""
    sums: NDArray[np.float64] = np.zeros((0, x.shape[1]))
    # A single column is added up in pairs, several one row after the other: with these, blocks of
    # any size give the same sums.
    size = _BLOCK_ROWS if x.shape[1] > 1 else len(x)
    for start in range(0, len(x), size):
        part = x[start : start + size]
        part = part if around is None else (part - around) ** 2
        weighted = part * weight[start : start + size, None]
        sums = np.concatenate((sums, weighted)).sum(axis=0, keepdims=True)
    return np.asarray(sums[0])


def in_unit_free_order(rows: Rows) -> Rows:
    """Return scaled rows in an order that does not depend on the user's units.

    Training shuffles rows by their position, so the position decides what is learned.
    """

    # Steps far larger than the rounding that another unit causes, and far smaller than the data's.
    def steps(part: slice) -> list[NDArray[Any]]:
        return [
            np.rint(column[part].astype(np.float64) * _STEPS_IN_ONE) for column in rows.arrays()
        ]

    return rows.take(order_by_content(len(rows), steps))


def holdout(rows: Rows, fraction: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Hold out a random share of the events and the same share of the censored rows."""
    held = np.zeros(len(rows), dtype=bool)
    for kind in (rows.event, ~rows.event):
        index = rng.permutation(np.flatnonzero(kind))
        held[index[: round(fraction * len(index))]] = True
    if not rows.event[held].any() or not rows.event[~held].any():
        raise ValueError(
            f"early_stopping needs events among the {fraction:g} of rows held out and among the "
            f"others, got {int(rows.event.sum())} events in all: give more data, another "
            "validation_fraction, or early_stopping=False."
        )
    return rows.take(np.flatnonzero(~held)), rows.take(np.flatnonzero(held))
