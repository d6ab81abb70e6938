"""The rows of a pool's fit, and those of them on which candidates are compared."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.survival import Target
from censquant.survival._transform import TimeTransform

MOST_COMPARED = 50_000
"""Rows on which candidates are compared at most; those that are used learn from all rows.

More rows would hardly change the weights, and every candidate is fitted once per fold.
"""


@dataclass(frozen=True, eq=False)
class PoolRows:
    """Features, targets and weights of a fit, in an order that depends on their content alone.

    Parameters
    ----------
    x : ndarray of shape (n, ...)
    target : Target
        In the user's terms.
    weight : ndarray of shape (n,)
    transform : TimeTransform
        To right-censored times.
    """

    x: NDArray[Any]
    target: Target
    weight: Floats
    transform: TimeTransform

    def __len__(self) -> int:
        return len(self.weight)

    def take(self, rows: Any) -> "PoolRows":
        """Return some of the rows; all of them, where ``rows`` is as long, without a copy."""
        if len(rows) == len(self):
            return self
        return PoolRows(self.x[rows], self.target.take(rows), self.weight[rows], self.transform)

    @property
    def timeline(self) -> Target:
        """The target as right-censored times."""
        return Target(self.transform.forward(self.target.time), self.target.event)

    @property
    def span(self) -> tuple[float, float]:
        """Smallest and largest time of the timeline."""
        time = self.timeline.time
        return float(time.min()), float(time.max())


def compared_rows(
    n_rows: int, groups: NDArray[Any] | None, most: int = MOST_COMPARED
) -> NDArray[np.intp]:
    """Return the rows on which candidates are compared: all, or the first whole groups.

    Rows come in an order that is a hash of their content, so that the first of them are a random
    sample that does not depend on how a file was sorted.
    """
    if n_rows <= most:
        return np.arange(n_rows)
    if groups is None:
        return np.arange(most)
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    by_appearance = np.argsort(np.argsort(first))[group]
    size = np.bincount(by_appearance)
    n_groups = max(1, int(np.searchsorted(np.cumsum(size), most, side="right")))
    return np.flatnonzero(by_appearance < n_groups)


def read_groups(groups: ArrayLike, n_rows: int) -> NDArray[Any]:
    """Return one label per row, or raise one sentence."""
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"groups must have one label for each of the {n_rows} rows of X, got shape "
            f"{labels.shape}."
        )
    return labels
