"""Features on a common scale."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Columns that vary among the training rows, with their mean and spread taken off.

    A column that is constant in a fold stops the Newton steps of a Cox model, and one ridge
    penalty fits all columns only where they have one scale.
    """

    kept: NDArray[np.bool_]
    mean: Floats
    scale: Floats

    @classmethod
    def fit(cls, X: Floats) -> "Standardizer":
        """Standardizer of the training rows."""
        kept = np.ptp(X, axis=0) > 0
        if not kept.any():
            raise ValueError(
                f"X must have a column that varies, got {X.shape[1]} constant ones: "
                "add a feature or more rows."
            )
        return cls(kept, X[:, kept].mean(axis=0), X[:, kept].std(axis=0))

    def __call__(self, X: Floats) -> Floats:
        """Rows standardised as the training rows."""
        return np.asarray((X[:, self.kept] - self.mean) / self.scale, dtype=np.float64)
