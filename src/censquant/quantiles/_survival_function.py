"""Survival and cumulative hazard functions of one individual as objects to call."""

from __future__ import annotations

import operator
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant.quantiles._curve import QuantileCurve


class SurvivalFunction:
    """Survival function S(t) = P(T > t) of one row of a quantile curve.

    It has the attributes `x` and `y` of scikit-survival's step functions and is called like them,
    but it is evaluated from the curve itself: between the times in `x` nothing is rounded to a
    step, and any time may be given.

    Parameters
    ----------
    curve : QuantileCurve
        Predictive distributions.
    row : int
        Which of them.
    times : array-like of shape (n_times,), optional
        Times listed in `x`; the row's own quantiles by default.
    masked : bool, default False
        Whether values are NaN at times that lie beyond the curve's reach.

    Attributes
    ----------
    x : ndarray of shape (n_times,)
        Times at which the function is listed.
    y : ndarray of shape (n_times,), in [0, 1]
        Survival probability at these times.

    Examples
    --------
    >>> from censquant.quantiles import QuantileCurve, SurvivalFunction
    >>> curve = QuantileCurve([[1.0, 2.0, 4.0]], taus=[0.25, 0.5, 0.75])
    >>> survival = SurvivalFunction(curve, row=0)
    >>> survival.x, survival.y
    (array([1., 2., 4.]), array([0.75, 0.5 , 0.25]))
    >>> survival([1.5, 3.0])
    array([0.625, 0.375])
    """

    def __init__(
        self,
        curve: QuantileCurve,
        row: SupportsIndex,
        times: ArrayLike | None = None,
        *,
        masked: bool = False,
    ) -> None:
        index = operator.index(row)
        if not 0 <= index < len(curve):
            raise IndexError(f"row must be in 0 to {len(curve) - 1}, got {index}.")
        # A copy, so that one stored function does not keep the predictions of all rows alive.
        self._curve = curve.take([index]) if masked else curve.take([index], reach=False)
        self._masked = masked
        self.x: Floats = self._curve.values[0] if times is None else np.array(times, np.float64)
        self.y: Floats = self._values(self.x)

    def _values(self, times: Floats) -> Floats:
        survival: Floats = self._curve.survival(times)[0]
        if self._masked:
            survival[~self._curve.is_identified(1.0 - survival)[0]] = np.nan
        return survival

    def __call__(self, times: ArrayLike) -> Floats:
        """Value at any times."""
        array = np.asarray(times, dtype=np.float64)
        return self._values(array.ravel()).reshape(array.shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(x={self.x!r}, y={self.y!r})"


class CumulativeHazardFunction(SurvivalFunction):
    """Cumulative hazard H(t) = -log S(t) of one row of a quantile curve.

    Called like `SurvivalFunction`.

    Parameters
    ----------
    curve, row, times, masked
        As in `SurvivalFunction`.

    Attributes
    ----------
    x : ndarray of shape (n_times,)
        Times at which the function is listed.
    y : ndarray of shape (n_times,), in [0, inf]
        Cumulative hazard at these times.

    Examples
    --------
    >>> from censquant.quantiles import CumulativeHazardFunction, QuantileCurve
    >>> curve = QuantileCurve([[1.0, 2.0, 4.0]], taus=[0.25, 0.5, 0.75])
    >>> CumulativeHazardFunction(curve, row=0)([2.0]).round(3)
    array([0.693])
    """

    def _values(self, times: Floats) -> Floats:
        return cumulative_hazard(super()._values(times))


def cumulative_hazard(survival: Floats) -> Floats:
    """Cumulative hazard -log S of survival probabilities, infinite where they are 0."""
    with np.errstate(divide="ignore"):
        return np.maximum(-np.log(survival), 0.0)
