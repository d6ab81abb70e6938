"""Which way predicted quantiles are wrong: by location and width of the levels of events."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.metrics._calibration import ROUNDING
from censquant.quantiles import QuantileCurve
from censquant.survival import Target
from censquant.survival._target import GeneralTarget

# Two-sided test of each of the two errors at the 5 % level.
_CRITICAL = 1.96
# The smaller error is reported beside the larger one if it is at least this share of it.
_WORTH_A_WORD = 0.5
# Mean change of the observed level, over all nominal levels, per unit of shift and of log spread.
_PER_SHIFT = 1.0 / (2.0 * math.sqrt(math.pi))
_PER_SPREAD = 1.0 / (2.0 * math.pi)
# Standard deviations of a weak prior that keeps the fit finite where no event was observed.
_PRIOR_SHIFT, _PRIOR_SPREAD = 3.0, 1.0
_STEP = 1e-3
_LEAST_CHANCE = 1e-300


class Gap(NamedTuple):
    """The level at which predicted and observed shares of events differ most."""

    level: float
    observed: float

    @property
    def size(self) -> float:
        """How far they are apart; NaN where follow-up reaches no level."""
        return abs(self.observed - self.level)

    @property
    def words(self) -> str:
        """What was observed at that level."""
        predicted, observed = _share(self.level), _share(self.observed)
        return f"by the {predicted} quantile, where they are furthest off, {observed} had the event"


def _share(level: float) -> str:
    return f"{100 * level:.3g} %"


class Distortion(NamedTuple):
    """Location and log spread of the probit levels of the events, with their standard errors.

    Both are 0 where the predictions are calibrated. A positive shift says that events come later
    than predicted, a positive spread that they scatter more widely.
    """

    shift: float
    spread: float
    shift_error: float
    spread_error: float

    def largest_gap(self, taus: Floats) -> Gap:
        """Return the level at which the shares of events that they stand for differ most."""
        from scipy.special import ndtr, ndtri

        observed = ndtr((ndtri(taus) - self.shift) * math.exp(-self.spread))
        place = int(np.argmax(np.abs(observed - taus)))
        return Gap(float(taus[place]), float(observed[place]))

    def words(self, *, is_mirrored: bool = False) -> tuple[str, ...]:
        """Return what is wrong with the quantiles, the larger error first; nothing if unclear."""
        early = (self.shift > 0) != is_mirrored
        errors = (
            (abs(self.shift) * _PER_SHIFT, "too early" if early else "too late"),
            (abs(self.spread) * _PER_SPREAD, "too narrow" if self.spread > 0 else "too wide"),
        )
        clear = (
            abs(self.shift) > _CRITICAL * self.shift_error,
            abs(self.spread) > _CRITICAL * self.spread_error,
        )
        found = sorted(error for error, sure in zip(errors, clear, strict=True) if sure)[::-1]
        return tuple(word for size, word in found if size >= _WORTH_A_WORD * found[0][0])


def fit_distortion(
    target: Target, curve: QuantileCurve, weight: Floats | None = None
) -> Distortion:
    r"""Fit a normal distribution to the probit levels of the rows.

    Where the predictions are right, the level of an event on its own curve is uniform and
    :math:`Z = \Phi^{-1}\{\hat F(Y | x)\}` is standard normal, censored where the time is and
    outside the grid. The most likely mean and standard deviation then tell an error of location
    from one of width, which the numbers of observed and expected events cannot.
    """
    from scipy.special import log_ndtr, ndtri

    level, low, high = curve.cdf(target.time), curve.taus[0], curve.taus[-1]
    inside = target.event & (level > low + ROUNDING) & (level <= high + ROUNDING)
    before = target.event & (level <= low + ROUNDING)
    outside = ~inside & ~before
    with np.errstate(divide="ignore"):
        at, ends = ndtri(level[inside]), ndtri(np.minimum(level[outside], high))
    n_before, first, n_inside = float(before.sum()), float(ndtri(low)), float(at.size)
    if weight is not None:
        n_before, n_inside = float(weight[before].sum()), float(weight[inside].sum())

    def total(terms: Floats, rows: NDArray[np.bool_]) -> float:
        return float(terms.sum() if weight is None else weight[rows] @ terms)

    def deviance(parameters: Floats) -> float:
        shift, spread = parameters
        scale = math.exp(spread)
        likelihood = -0.5 * total(((at - shift) / scale) ** 2, inside) - n_inside * spread
        likelihood += n_before * log_ndtr((first - shift) / scale)
        likelihood += total(log_ndtr((shift - ends) / scale), outside)
        prior = (shift / _PRIOR_SHIFT) ** 2 + (spread / _PRIOR_SPREAD) ** 2
        return float(0.5 * prior - likelihood)

    return _least(deviance)


def fit_general_distortion(target: GeneralTarget, curve: QuantileCurve) -> tuple[Distortion, float]:
    """Return what `fit_distortion` does of rows with intervals or entries, and a p-value.

    The p-value is that of the likelihood-ratio test of predictions without either error. Each row
    is given the level of its entry. Levels outside the grid are known as such only.
    """
    from scipy.special import ndtri
    from scipy.stats import chi2

    levels, low, high = target.mapped(curve.cdf), curve.taus[0], curve.taus[-1]
    levels = levels.take(levels.entry < high - ROUNDING)
    exact = levels.exact & (levels.time > low + ROUNDING) & (levels.time <= high + ROUNDING)
    begin = np.where(levels.lower < low, 0.0, np.minimum(levels.lower, high))[~exact]
    end = np.where(levels.upper > high, 1.0, np.maximum(levels.upper, low))[~exact]
    with np.errstate(divide="ignore"):
        at, ends = ndtri(levels.time[exact]), ndtri(np.stack((begin, end)))
        entry = ndtri(np.maximum(levels.entry, 0.0))

    def deviance(parameters: Floats) -> float:
        shift, spread = parameters
        scale = math.exp(spread)
        likelihood = -0.5 * (((at - shift) / scale) ** 2).sum() - at.size * spread
        likelihood += _log_between(*((ends - shift) / scale)).sum()
        likelihood -= _log_between((entry - shift) / scale, np.full(entry.size, np.inf)).sum()
        prior = (shift / _PRIOR_SHIFT) ** 2 + (spread / _PRIOR_SPREAD) ** 2
        return float(0.5 * prior - likelihood)

    error = _least(deviance)
    gain = deviance(np.zeros(2)) - deviance(np.array([error.shift, error.spread]))
    return error, float(chi2.sf(2.0 * max(gain, 0.0), 2))


def _log_between(begin: Floats, end: Floats) -> Floats:
    """Return the logarithms of the normal probabilities between two places."""
    from scipy.special import ndtr

    # In the tail on their own side, where no digit is lost.
    with np.errstate(invalid="ignore"):
        turned = begin + end > 0
    low, high = np.where(turned, -end, begin), np.where(turned, -begin, end)
    return np.asarray(np.log(np.maximum(ndtr(high) - ndtr(low), _LEAST_CHANCE)))


def _least(deviance: Callable[[Floats], float]) -> Distortion:
    """Return the most likely errors, with their standard errors by the curvature."""
    from scipy.optimize import minimize

    start = {"initial_simplex": [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]], "xatol": 1e-5}
    best = minimize(deviance, np.zeros(2), method="Nelder-Mead", options=start).x
    shift_error, spread_error = np.sqrt(np.diag(np.linalg.inv(_curvature(deviance, best))))
    return Distortion(float(best[0]), float(best[1]), float(shift_error), float(spread_error))


def _curvature(function: Callable[[Floats], float], at: Floats) -> Floats:
    """Second derivatives of a function, by central differences."""
    steps = _STEP * np.eye(at.size)

    def mixed(a: Floats, b: Floats) -> float:
        rising = function(at + a + b) - function(at + a - b)
        return (rising - function(at - a + b) + function(at - a - b)) / (4 * _STEP**2)

    return np.array([[mixed(a, b) for b in steps] for a in steps])
