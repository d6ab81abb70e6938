"""Expected time up to a horizon, in closed form, of the distribution behind a quantile grid."""

import math

import numpy as np
from numpy.typing import NDArray

from censquant.quantiles._curve import QuantileCurve

Floats = NDArray[np.float64]


def restricted_mean(curve: QuantileCurve, horizon: float) -> Floats:
    r"""Mean time of each row up to a horizon, :math:`E[\min(T, h)]`.

    The mean of a distribution that is only known up to the end of follow-up rests on its tail. The
    mean restricted to a horizon within the follow-up does not, so it is the mean that the data
    can speak for, and a better value to rank individuals by than a median that lies beyond it.

    Parameters
    ----------
    curve : QuantileCurve of n_samples rows
        Predictive distributions, of two levels or more.
    horizon : float
        The time h; infinity for the unrestricted mean.

    Returns
    -------
    mean : ndarray of shape (n_samples,)
        At most ``horizon``.

    Examples
    --------
    >>> from censquant.quantiles import QuantileCurve, restricted_mean
    >>> uniform = QuantileCurve([[0.25, 0.5, 0.75]], taus=[0.25, 0.5, 0.75])
    >>> restricted_mean(uniform, 0.5)
    array([0.375])
    """
    if len(curve.taus) == 1:
        raise ValueError(
            "curve must have at least two levels for a restricted mean, "
            f"got one with {curve.taus[0]} only."
        )
    end = float(horizon)
    if math.isnan(end):
        raise ValueError("horizon must be a number, got nan.")
    return restricted_mean_of(curve.values, curve.taus, curve.lower, end)


def restricted_mean_of(values: Floats, taus: Floats, lower: float, horizon: float) -> Floats:
    r"""Integral of :math:`\min\{Q(u), h\}` over levels u, for rows of two or more levels."""
    gap = values[:, 1:] - values[:, :-1]
    reach = np.minimum(gap[:, 0] * (taus[0] / (taus[1] - taus[0])), values[:, 0] - lower)
    # Between its knots the quantile function is linear; the first knot is level 0.
    knots = np.concatenate(((values[:, 0] - reach)[:, None], values), axis=1)
    low, high = knots[:, :-1], knots[:, 1:]
    # Share of each piece that lies below the horizon.
    below = np.clip(horizon - low, 0.0, high - low)
    share = np.divide(below, high - low, out=np.ones_like(below), where=high > low)
    whole = np.minimum(low, horizon) + below * (1.0 - share / 2.0)
    mean: Floats = whole @ np.diff(taus, prepend=0.0)
    # An exponential tail, cut at the horizon.
    scale = gap[:, -1] / math.log((1.0 - taus[-2]) / (1.0 - taus[-1]))
    left = np.maximum(horizon - values[:, -1], 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        further = np.where(scale > 0, -scale * np.expm1(-left / scale), 0.0)
    mean += (1.0 - taus[-1]) * (np.minimum(values[:, -1], horizon) + further)
    return mean
