"""What is known of rows that no process has all of, by map and reduce."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from censquant.dask._time_sketch import TimeSketch
from censquant.estimators.neural import RowSummary
from censquant.exceptions import NoEventsError
from censquant.survival import Target

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sums over some partitions.

    Parameters
    ----------
    sizes : tuple of int
        Rows of each partition that are used; those of weight 0 are not.
    weight : float
        Sum of weights.
    mean, squares, low, high : ndarray of shape (n_features,)
        Weighted means of features, weighted sums of squared distances from them, and ends.
    times : TimeSketch
    """

    sizes: tuple[int, ...]
    weight: float
    mean: Floats
    squares: Floats
    low: Floats
    high: Floats
    times: TimeSketch

    @classmethod
    def of(cls, x: Floats, target: Target, weight: Floats) -> "Statistics":
        """Return the sums of one partition, which may be empty."""
        total = float(weight.sum())
        p = x.shape[1]
        mean, squares, low, high = np.zeros((4, p))
        low, high = np.full(p, np.inf), np.full(p, -np.inf)
        if len(x):
            mean = weight @ x / total
            squares = weight @ (x - mean) ** 2
            low, high = x.min(axis=0), x.max(axis=0)
        return cls((len(x),), total, mean, squares, low, high, TimeSketch.of(target, weight))

    @property
    def n_rows(self) -> int:
        """Number of rows that are used."""
        return sum(self.sizes)

    def summary(self) -> RowSummary:
        """Return what a fit needs, refused without an event."""
        if not len(self.times.events[0]):
            raise NoEventsError(
                f"The data have no event: all {self.n_rows} rows of {len(self.sizes)} partitions "
                "are censored, so no quantile can be fitted."
            )
        scale = self.n_rows / self.weight  # weights are 1 on average
        return RowSummary(
            self.n_rows,
            self.times.target,
            self.times.weight * scale,
            self.mean,
            self.squares / self.weight,
            self.low,
            self.high,
        )


def merged(parts: Sequence[Statistics]) -> Statistics:
    """Return the sums over all partitions of some parts, in their order."""
    sizes = tuple(size for part in parts for size in part.sizes)
    weights = np.array([part.weight for part in parts])
    total = float(weights.sum())
    if total == 0.0:
        return Statistics(sizes, total, *_of_nothing(parts[0]))
    means = np.stack([part.mean for part in parts])
    mean = weights @ means / total
    # The spread of all is that within the parts plus that of their means.
    squares = sum(part.squares for part in parts) + weights @ (means - mean) ** 2
    return Statistics(
        sizes,
        total,
        mean,
        squares,
        np.min([part.low for part in parts], axis=0),
        np.max([part.high for part in parts], axis=0),
        parts[0].times.merge(*(part.times for part in parts[1:])),
    )


def _of_nothing(part: Statistics) -> tuple[Floats, Floats, Floats, Floats, TimeSketch]:
    return part.mean, part.squares, part.low, part.high, part.times
