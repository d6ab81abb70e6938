"""Published settings for bounds under censoring: laws of both times, so that coverage is exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import RandomState, generator
from censquant.quantiles._grid import check_levels
from censquant.survival import Surv

Formula = Callable[[Floats], Floats]
"""Takes the features transposed, so that ``x[0]`` is the first of them, and returns n values."""


class BoundSample(NamedTuple):
    """Rows of a setting, with both times of each.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Features.
    y : structured array of shape (n,)
        What a method may see: ``event`` and ``time``.
    event_time : ndarray of shape (n,)
        Time of the event, also where it was not observed.
    censoring_time : ndarray of shape (n,)
        End of follow-up, also where the event came first.

    Examples
    --------
    >>> from censquant_bench.coverage import BOUND_SETTINGS
    >>> sample = BOUND_SETTINGS["clr1"].sample(5, random_state=0)
    >>> bool((sample.y["time"] <= sample.censoring_time).all())
    True
    """

    X: Floats
    y: NDArray[np.void]
    event_time: Floats
    censoring_time: Floats


class _CensoringLaw(NamedTuple):
    """Censoring time given the features: exponential by its rate, or log-normal."""

    rate: Formula | None = None
    log_mean: Formula | None = None
    log_sd: Formula | None = None

    def draw(self, x: Floats, rng: np.random.Generator | np.random.RandomState) -> Floats:
        n_rows = x.shape[1]
        if self.rate is not None:
            times: Floats = rng.exponential(size=n_rows) / self.rate(x)
        elif self.log_mean is not None and self.log_sd is not None:
            times = np.exp(self.log_mean(x) + self.log_sd(x) * rng.normal(size=n_rows))
        return times


@dataclass(frozen=True, eq=False)
class BoundSetting:
    """A published setting: uniform features, log-normal events, independent censoring given them.

    Parameters
    ----------
    name : str
        What commands and results call it.
    title : str
        What tables call it.
    source : str
        Who published it.
    n_features : int
        Number of features.
    low, high : float
        Interval on which each feature is uniform.
    log_mean, log_sd : callable
        Mean and standard deviation of the logarithm of the time of the event.
    censoring : law
        Of the censoring time.
    n_train : int
        Rows for training and calibration together, as published.
    n_test : int
        Test rows, as published.

    Examples
    --------
    >>> from censquant_bench.coverage import BOUND_SETTINGS
    >>> setting = BOUND_SETTINGS["gui1"]
    >>> bound = setting.true_quantiles([0.1], [[0.0], [4.0]])
    >>> setting.survival(bound[:, 0], [[0.0], [4.0]]).round(12)
    array([0.9, 0.9])
    """

    name: str
    title: str
    source: str
    n_features: int
    low: float
    high: float
    log_mean: Formula
    log_sd: Formula
    censoring: _CensoringLaw
    n_train: int
    n_test: int

    def sample(self, n_samples: int, *, random_state: RandomState = None) -> BoundSample:
        """Draw rows.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, numpy Generator, numpy RandomState or None
            Source of randomness.

        Returns
        -------
        sample : BoundSample
        """
        rng = generator(random_state)
        X = rng.uniform(self.low, self.high, size=(n_samples, self.n_features))
        x = X.T
        event_time: Floats = np.exp(self.log_mean(x) + self.log_sd(x) * rng.normal(size=n_samples))
        censoring_time = self.censoring.draw(x, rng)
        y = Surv.from_arrays(
            event=event_time <= censoring_time, time=np.minimum(event_time, censoring_time)
        )
        return BoundSample(X, y, event_time, censoring_time)

    def true_quantiles(self, levels: ArrayLike, X: ArrayLike) -> Floats:
        """Conditional quantiles of the time of the event.

        Parameters
        ----------
        levels : array-like of shape (k,), inside (0, 1)
            Levels; the quantile at 0.1 is the oracle's lower bound with confidence 0.9.
        X : array-like of shape (n, n_features)
            Features.

        Returns
        -------
        quantiles : ndarray of shape (n, k)
        """
        from scipy.special import ndtri

        x = np.asarray(X, dtype=np.float64).T
        spread = ndtri(check_levels(levels))
        quantiles: Floats = np.exp(self.log_mean(x)[:, None] + self.log_sd(x)[:, None] * spread)
        return quantiles

    def survival(self, times: ArrayLike, X: ArrayLike) -> Floats:
        """Probability that the event comes at a time or later, given the features.

        The mean over rows, at their bounds, is the coverage of the bounds without the noise of
        drawn events.

        Parameters
        ----------
        times : array-like of shape (n,)
            One time per row; 1 is returned at zero and below, 0 at infinity.
        X : array-like of shape (n, n_features)
            Features.

        Returns
        -------
        probability : ndarray of shape (n,)
        """
        from scipy.special import ndtr

        x, t = np.asarray(X, dtype=np.float64).T, np.asarray(times, dtype=np.float64)
        with np.errstate(divide="ignore"):
            log_times = np.log(np.maximum(t, 0.0))
        probability: Floats = ndtr((self.log_mean(x) - log_times) / self.log_sd(x))
        return probability


def _always(value: float) -> Formula:
    return lambda x: np.full(x.shape[1], value)


def _exponential(rate: float | Formula) -> _CensoringLaw:
    return _CensoringLaw(rate=rate if callable(rate) else _always(rate))


def _lognormal(log_mean: Formula, log_sd: Formula) -> _CensoringLaw:
    return _CensoringLaw(log_mean=log_mean, log_sd=log_sd)


def _root(x: Floats) -> Floats:
    mean: Floats = 2 + 0.3651 * np.sqrt(x[0])
    return mean


def _interaction(x: Floats) -> Floats:
    mean: Floats = np.log(2.0) + 1 + 0.5477 * (x[0] ** 2 - x[2] * x[4])
    return mean


def _half_step(slope: float, plateau: float) -> Formula:
    return lambda x: np.where(x[0] > 2, plateau, slope * x[0])


def _geometric_mean(x: Floats) -> Floats:
    mean: Floats = 0.126 * (x[0] + np.sqrt(x[2] * x[4])) + 1
    return mean


def _two_steps(x: Floats) -> Floats:
    steps: Floats = (x[1] > 0.5) * 1.0 + (x[2] < 0.5)
    return steps


@dataclass(frozen=True)
class _Design:
    """What the settings of one paper with so many features share."""

    prefix: str
    source: str
    n_features: int
    low: float
    high: float
    n_train: int
    n_test: int

    def setting(
        self, number: int, log_mean: Formula, log_sd: Formula, censoring: _CensoringLaw
    ) -> BoundSetting:
        return BoundSetting(
            f"{self.prefix.lower()}{number}",
            f"{self.prefix} {number}",
            self.source,
            self.n_features,
            self.low,
            self.high,
            log_mean,
            log_sd,
            censoring,
            self.n_train,
            self.n_test,
        )


_CLR_1 = _Design("CLR", "Candès, Lei and Ren (2023)", 1, 0.0, 4.0, 3000, 3000)
_CLR_100 = replace(_CLR_1, n_features=100, low=-1.0, high=1.0)
_GUI_1 = _Design("Gui", "Gui, Hore, Ren and Barber (2024)", 1, 0.0, 4.0, 2000, 5000)
_GUI_10 = replace(_GUI_1, n_features=10)
_SS_100 = _Design("SS", "Sesia and Svetnik (2025)", 100, 0.0, 1.0, 2000, 1000)

_ONE = _always(1.0)
_HALF = _always(0.5)
_TENTH = _always(0.1)
_BY_LAST = _exponential(lambda x: 0.1 * x[9] + 0.05)

_SETTINGS = (
    _CLR_1.setting(1, _root, _always(1.5), _exponential(0.4)),
    _CLR_1.setting(2, _root, lambda x: (5 + x[0]) / 5, _exponential(0.4)),
    _CLR_100.setting(3, _interaction, _ONE, _exponential(0.4)),
    _CLR_100.setting(4, _interaction, lambda x: np.abs(x[9]) + 1, _exponential(0.4)),
    _GUI_1.setting(1, lambda x: 0.632 * x[0], _always(2.0), _exponential(0.1)),
    _GUI_1.setting(2, _half_step(1.0, 3.0), _HALF, _exponential(0.1)),
    _GUI_1.setting(3, _half_step(1.0, 2.0), _HALF, _exponential(lambda x: 0.25 + (6 + x[0]) / 100)),
    _GUI_1.setting(
        4, _half_step(1.5, 3.0), _HALF, _lognormal(lambda x: 2 + (2 - x[0]) / 50, _HALF)
    ),
    _GUI_10.setting(5, _geometric_mean, _ONE, _BY_LAST),
    _GUI_10.setting(6, _geometric_mean, lambda x: (x[1] + 2) / 4, _BY_LAST),
    _SS_100.setting(
        7, lambda x: x[0] ** 0.25, _TENTH, _lognormal(lambda x: x[0] ** 4 + 0.4, _TENTH)
    ),
    _SS_100.setting(
        8,
        lambda x: _two_steps(x) + (1 - x[0]) ** 0.25,
        lambda x: 0.1 * (1 - x[0]),
        _lognormal(lambda x: _two_steps(x) + (1 - x[0]) ** 4 + 0.4, lambda x: 0.1 * x[1]),
    ),
)

BOUND_SETTINGS: Mapping[str, BoundSetting] = MappingProxyType({one.name: one for one in _SETTINGS})
"""The published settings by name, in the order of the tables."""
