"""How long rows like this one were followed: the ground for saying what is identified."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant.estimators._follow_up import LEVELS
from censquant.estimators.linear._design import Design, DistinctRows
from censquant.estimators.linear._portnoy import portnoy_path
from censquant.estimators.linear._program import Floats
from censquant.quantiles import QuantileCurve


@dataclass(frozen=True, eq=False)
class ObservedTime:
    """Quantiles of the observed time, event or censoring, whichever came first.

    The observed time is never censored, so plain quantile regression is enough. It is quadratic
    in each feature: where follow-up ends bends the quantiles, however straight those of the events
    are. Beyond the features seen it stays as at their edge.

    Parameters
    ----------
    low, high : ndarray of shape (n_features,)
        Range of the features.
    coefficients : ndarray of shape (n_levels, 1 + 2 * n_features)
        Of the constant, the features and their squares.
    """

    low: Floats
    high: Floats
    coefficients: Floats

    @classmethod
    def fit(cls, rows: DistinctRows) -> "ObservedTime":
        """Learn from all rows, on the scale of their times."""
        low, high = rows.x.min(axis=0), rows.x.max(axis=0)
        design = Design.of(_terms(rows.x, low, high), rows.target.time, intercept=True)
        y = design.response(rows.target.time)
        everything = np.ones(len(y), dtype=bool)
        path = portnoy_path(design.X, y, everything, np.asarray(LEVELS), rows.weight)
        return cls(low, high, design.original(path.coefficients))

    def curve(self, features: NDArray[Any]) -> QuantileCurve:
        """Return the quantile curves of some rows on the scale of the fit."""
        terms = _terms(features, self.low, self.high)
        values = terms @ self.coefficients[:, 1:].T + self.coefficients[:, 0]
        return QuantileCurve.from_own(values, np.asarray(LEVELS))


def _terms(x: Floats, low: Floats, high: Floats) -> Floats:
    """Return features between -1 and 1, and their squares."""
    half = (high - low) / 2.0
    inside = (np.clip(x, low, high) - low) / np.where(half > 0, half, 1.0) - 1.0
    return np.hstack((inside, inside**2))
