"""Up to which level the data can speak, given how long individuals were followed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._follow_up_share import SMALLEST_FOLLOWED_SHARE
from censquant.quantiles._curve import QuantileCurve

# A level differs from the identified one by more than the rounding of its own computation.
_LEVEL_ROUNDING = 1e-12

_BEYOND = ("extrapolate", "inf", "nan")


def identified_levels(
    curve: QuantileCurve, follow_up: QuantileCurve, *, min_share: float = SMALLEST_FOLLOWED_SHARE
) -> NDArray[np.float64]:
    r"""Highest grid level of each row that the data can speak for.

    A quantile is learned from individuals who were still followed when it was reached. With
    :math:`S_Y` the survival function of the observed time (event or end of follow-up, whichever
    came first) and independent censoring given the features, the share still followed is
    :math:`S_C(Q_\tau) = S_Y(Q_\tau) / (1 - \tau)`. A level is identified if this share is at least
    `min_share` and all lower levels are identified too. The observed time is never censored, so
    `follow_up` can be fitted by ordinary quantile regression; beyond its last level the share is
    taken as zero, so a follow-up grid that reaches 0.975 or 0.99 flags fewer levels in vain.
    Dependent censoring is not detected.

    Parameters
    ----------
    curve : QuantileCurve of n_samples rows
        Quantiles of the event time.
    follow_up : QuantileCurve of n_samples rows
        Quantiles of the observed time of the same individuals.
    min_share : float in (0, 1]
        Smallest share of individuals still followed.

    Returns
    -------
    level : ndarray of shape (n_samples,)
        A level of the curve's grid, or 0.0 if none is identified.

    See Also
    --------
    mask_beyond : Replace predictions above these levels.

    Examples
    --------
    >>> from censquant.quantiles import QuantileCurve, identified_levels
    >>> curve = QuantileCurve([[1.0, 2.0, 3.0]], taus=[0.25, 0.5, 0.75])
    >>> follow_up = QuantileCurve([[0.8, 1.5, 2.4]], taus=[0.25, 0.5, 0.75])
    >>> identified_levels(curve, follow_up)
    array([0.5])
    """
    if len(curve) != len(follow_up):
        raise ValueError(
            f"curve and follow_up must have the same rows, got {len(curve)} and {len(follow_up)}."
        )
    if not 0 < min_share <= 1:
        raise ValueError(f"min_share must be in (0, 1], got {min_share}.")
    observed = 1.0 - follow_up.cdf(curve.values)
    # The tail of follow_up is an assumption and not data: it must not vouch for a level.
    observed[curve.values > follow_up.values[:, -1:]] = 0.0
    enough = observed >= min_share * (1.0 - curve.taus)
    n_identified = np.logical_and.accumulate(enough, axis=1).sum(axis=1)
    level: NDArray[np.float64] = np.concatenate(([0.0], curve.taus))[n_identified]
    return level


def mask_beyond(
    values: ArrayLike, levels: ArrayLike, identified: ArrayLike, beyond: str
) -> NDArray[np.float64]:
    """Copy of predictions in which those above the identified level are replaced.

    Parameters
    ----------
    values : array-like of shape (n_samples, k)
        Predicted quantiles.
    levels : array-like of shape (k,)
        Levels of the columns.
    identified : array-like of shape (n_samples,)
        Highest level that the data speak for, as from `identified_levels`.
    beyond : {"extrapolate", "inf", "nan"}
        What stands above it: the model's extrapolation, infinity ("later than the data can tell")
        or NaN.

    Returns
    -------
    masked : ndarray of shape (n_samples, k)

    Examples
    --------
    >>> from censquant.quantiles import mask_beyond
    >>> mask_beyond([[1.0, 2.0], [1.5, 2.5]], [0.5, 0.9], identified=[0.5, 0.9], beyond="inf")
    array([[1. , inf],
           [1.5, 2.5]])
    """
    if beyond not in _BEYOND:
        allowed = ", ".join(repr(word) for word in _BEYOND)
        raise ValueError(f"beyond must be one of {allowed}, got {beyond!r}.")
    masked = np.array(values, dtype=np.float64)
    asked, limit = np.asarray(levels, np.float64), np.asarray(identified, np.float64)
    if masked.shape != limit.shape + asked.shape or masked.ndim != 2:
        raise ValueError(
            "values must have one row for each identified level and one column for each of "
            f"levels, got shapes {masked.shape}, {limit.shape} and {asked.shape}."
        )
    if beyond != "extrapolate":
        masked[asked > limit[:, None] + _LEVEL_ROUNDING] = np.inf if beyond == "inf" else np.nan
    return masked
