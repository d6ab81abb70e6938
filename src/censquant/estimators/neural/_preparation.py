"""From the user's arrays to the rows that a network trains on."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant.estimators.neural._row_order import canonical_order, copies_of
from censquant.exceptions import ConstantFeatureWarning
from censquant.training import Rows

# A spread below this share of the values' size is rounding: the feature is constant.
_NO_SPREAD = 1e-10
_STEPS_IN_ONE = 2.0**20


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
            center = np.average(x, axis=0, weights=weight)
            variance = np.average((x - center) ** 2, axis=0, weights=weight)
        scale = np.sqrt(variance)
        scale[scale <= _NO_SPREAD * np.abs(center)] = 1.0
        scale[scale == 0.0] = 1.0
        return cls(center, scale)

    def apply(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the scaled features."""
        if self.center is None:
            return x
        return (x - self.center) / self.scale


def warn_of_constant_features(x: NDArray[Any], names: Sequence[str], *, stacklevel: int) -> None:
    """Warn of columns that are the same in all rows; ``stacklevel`` as if the caller warned."""
    constant = np.flatnonzero((x == x[0]).all(axis=0))
    if len(constant):
        listed = ", ".join(repr(names[column]) for column in constant[:5])
        more = ", ..." if len(constant) > 5 else ""
        warnings.warn(
            f"X has {len(constant)} of {x.shape[1]} features that are the same in all rows "
            f"({listed}{more}): nothing can be learned from them.",
            ConstantFeatureWarning,
            stacklevel=stacklevel + 1,
        )


def arrangement(
    weight: NDArray[np.float64], *columns: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return an order of the rows that depends only on their content, and their new weights.

    Rows of weight 0 are left out. Weights that are counts become repeated rows, so that a weighted
    fit is identical to repeating the rows; other weights are scaled to 1 on average.

    Parameters
    ----------
    weight : ndarray of shape (n,)
    *columns : arrays of shape (n,) or (n, ...)
        Together the content of the rows.

    Returns
    -------
    order : ndarray of int
        Indices of rows.
    weight : ndarray
        The weight at each place of ``order``.
    """
    used = np.flatnonzero(weight > 0)
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


def in_unit_free_order(rows: Rows) -> Rows:
    """Return scaled rows in an order that does not depend on the user's units.

    Training shuffles rows by their position, so the position decides what is learned.
    """
    # Steps far larger than the rounding that another unit causes, and far smaller than the data's.
    steps = (np.rint(column.astype(np.float64) * _STEPS_IN_ONE) for column in rows.arrays())
    return rows.take(canonical_order(*steps))


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
