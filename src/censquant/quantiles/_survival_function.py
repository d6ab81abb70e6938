"""The survival function of one individual as an object to call."""

from __future__ import annotations

import operator
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant.quantiles._curve import QuantileCurve


class SurvivalFunction:
    """Survival function S(t) = P(T > t) of one row of a quantile curve.

    It has the attributes `x` and `y` of scikit-survival's step functions and is called like them,
    but it is evaluated from the curve itself: between the times in `x` nothing is rounded to a
    step, and any time may be asked for.

    Parameters
    ----------
    curve : QuantileCurve
        Predictive distributions.
    row : int
        Which of them.
    times : array-like of shape (n_times,), optional
        Times listed in `x`; the row's own quantiles by default.

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
        self, curve: QuantileCurve, row: SupportsIndex, times: ArrayLike | None = None
    ) -> None:
        index = operator.index(row)
        if not 0 <= index < len(curve):
            raise IndexError(f"row must be in 0 to {len(curve) - 1}, got {index}.")
        # A copy, so that one stored function does not keep the predictions of all rows alive.
        values = curve.values[index : index + 1].copy()
        self._curve = QuantileCurve(values, curve.taus, curve.lower)
        self.x: NDArray[np.float64] = values[0] if times is None else np.array(times, np.float64)
        self.y: NDArray[np.float64] = self._curve.survival(self.x)[0]

    def __call__(self, times: ArrayLike) -> NDArray[np.float64]:
        """Survival probability at any times.

        Parameters
        ----------
        times : array-like of any shape

        Returns
        -------
        survival : ndarray of the shape of `times`, in [0, 1]
        """
        array = np.asarray(times, dtype=np.float64)
        survival: NDArray[np.float64] = self._curve.survival(array.ravel())[0]
        return survival.reshape(array.shape)

    def __repr__(self) -> str:
        return f"SurvivalFunction(x={self.x!r}, y={self.y!r})"
