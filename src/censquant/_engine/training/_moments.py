"""Weighted moments and ranges of features that are gathered part by part."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from censquant._typing import Floats


@dataclass(frozen=True, eq=False)
class FeatureMoments:
    """Means, spreads and ranges of the features of some rows.

    Parameters
    ----------
    weight : float
        Sum of the weights of the rows.
    mean, squares, low, high : ndarray of shape (n_features,)
        Weighted means, weighted sums of squared distances from them, and ends.
    """

    weight: float
    mean: Floats
    squares: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, x: Floats, weight: Floats) -> "FeatureMoments":
        """Return the moments of rows, of which there may be none."""
        n_features = x.shape[1]
        if not len(x):
            nothing, end = np.zeros(n_features), np.full(n_features, np.inf)
            return cls(0.0, nothing, nothing, end, -end)
        total = float(weight.sum())
        mean = weight @ x / total
        return cls(total, mean, weight @ (x - mean) ** 2, x.min(axis=0), x.max(axis=0))

    @classmethod
    def merged(cls, parts: Sequence["FeatureMoments"]) -> "FeatureMoments":
        """Return the moments of all rows of some parts."""
        weights = np.array([part.weight for part in parts])
        total = float(weights.sum())
        if total == 0.0:
            return parts[0]
        means = np.stack([part.mean for part in parts])
        mean = weights @ means / total
        # The spread of all is that within the parts plus that of their means.
        squares = sum(part.squares for part in parts) + weights @ (means - mean) ** 2
        low = np.min([part.low for part in parts], axis=0)
        return cls(total, mean, squares, low, np.max([part.high for part in parts], axis=0))

    @property
    def variance(self) -> Floats:
        """Weighted variance of each feature."""
        return self.squares / self.weight
