"""Lower bounds as people make them without calibration for censoring."""

import math
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import train_test_split

from censquant._typing import Floats
from censquant.survival import read_target


class UncalibratedBound(BaseEstimator):
    """Takes a model's own quantile as the bound.

    Parameters
    ----------
    estimator : estimator
        With ``predict_quantiles``.

    Examples
    --------
    >>> from censquant import BoostedQuantileRegressor
    >>> from censquant_bench.coverage import UncalibratedBound
    >>> from censquant.datasets import make_weibull
    >>> X, y = make_weibull(200, random_state=0)
    >>> model = UncalibratedBound(BoostedQuantileRegressor(random_state=0)).fit(X, y)
    >>> model.predict_lower_bound(X, confidence=0.9).shape
    (200,)
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model to all rows."""
        self.estimator_ = clone(self.estimator).fit(X, y)
        return self

    def predict_lower_bound(self, X: Any, confidence: float = 0.9) -> Floats:
        """Return the quantile at one minus the confidence."""
        found: Floats = self.estimator_.predict_quantiles(X, [1 - confidence])[:, 0]
        return np.maximum(found, 0.0)


class EventsOnlyBound(BaseEstimator):
    """Conformalises a model's quantile with the observed events of half of the rows.

    The scores of conformalised quantile regression, quantile minus time, of the rows with an event:
    what a package for data without censoring does when it is given these rows. Early events are
    observed more often than late ones, so these rows are not like the others and the bound comes
    out too low where censoring is early.

    Parameters
    ----------
    estimator : estimator
        With ``predict_quantiles``; fitted to the other half.
    random_state : int, optional
        Of the division.

    Examples
    --------
    >>> from censquant import BoostedQuantileRegressor
    >>> from censquant_bench.coverage import EventsOnlyBound
    >>> from censquant.datasets import make_weibull
    >>> X, y = make_weibull(200, random_state=0)
    >>> model = EventsOnlyBound(BoostedQuantileRegressor(random_state=0), random_state=0).fit(X, y)
    >>> model.predict_lower_bound(X, confidence=0.9).shape
    (200,)
    """

    def __init__(self, estimator: Any, random_state: int | None = None) -> None:
        self.estimator = estimator
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model to half of the rows and keep the events of the other half."""
        train, rest = train_test_split(
            np.arange(len(X)), test_size=0.5, random_state=self.random_state
        )
        self.estimator_ = clone(self.estimator).fit(X[train], y[train])
        target = read_target(y[rest])
        self._X, self._time = X[rest][target.event], target.time[target.event]
        return self

    def predict_lower_bound(self, X: Any, confidence: float = 0.9) -> Floats:
        """Return the quantile moved by the conformal quantile of the scores; 0 for few events."""
        levels = [1 - confidence]
        n_events = len(self._time)
        rank = math.ceil(confidence * (n_events + 1))
        if rank > n_events:
            return np.zeros(len(X))
        scores = np.sort(self.estimator_.predict_quantiles(self._X, levels)[:, 0] - self._time)
        moved: Floats = self.estimator_.predict_quantiles(X, levels)[:, 0] - scores[rank - 1]
        return np.maximum(moved, 0.0)
