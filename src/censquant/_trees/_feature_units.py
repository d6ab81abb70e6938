"""Features in units in which single precision is enough, whatever their own."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats


@dataclass(frozen=True, eq=False)
class FeatureUnits:
    """Distances from the median of each feature, the largest of the fit being 1, as float32.

    scikit-learn's trees see single precision. A date in seconds or a concentration of 1e-50 would
    lose its differences there; relative to the median only the furthest values are rounded.

    Parameters
    ----------
    half_median, half_reach : ndarray of shape (n_features,)
        Half of the median and of the largest distance from it: halves, because the distance of two
        finite numbers may be infinite.
    """

    half_median: Floats
    half_reach: Floats

    @classmethod
    def fit(cls, x: NDArray[Any]) -> Self:
        """Return the units of some rows."""
        # Of the existing values: their mean may overflow, and need not be among them.
        half_median = np.partition(x, len(x) // 2, axis=0)[len(x) // 2] / 2.0
        half_reach = np.abs(x / 2.0 - half_median).max(axis=0)
        return cls(half_median, np.where(half_reach > 0.0, half_reach, 1.0))

    def __call__(self, x: NDArray[Any]) -> NDArray[np.float32]:
        """Return rows in these units."""
        # What overflows is infinite, which is on the right side of every threshold.
        with np.errstate(over="ignore"):
            return ((x / 2.0 - self.half_median) / self.half_reach).astype(np.float32)
