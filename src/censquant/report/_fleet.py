"""The fleet: when each unit should be replaced, and what is left of its life."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from censquant.report._calibration import level_limits
from censquant.report._coverage import lower_bound
from censquant.report._settings import Settings
from censquant.report._study import Study

Floats = NDArray[np.float64]

MOST_UNITS = 500
"""Units in the table; the most urgent ones of a larger fleet."""

B_LEVELS = (0.1, 0.5)
"""B10 and B50: shares that have failed by then."""


@dataclass(frozen=True)
class Unit:
    """One unit of the fleet. Times are NaN or infinite where the data cannot speak.

    Parameters
    ----------
    row : int
    label : str
    age : float
    remaining_bound : float
        Time that is left with a confidence of 1 - risk; NaN where no bound but 0 is supported.
    b10, b10_low, b10_high, b50, b50_low, b50_high : float
        Life since the start by which 10 % and 50 % of such units have failed, and their limits.
    remaining10, remaining50 : float
        Time left until 10 % and 50 % of such units that have reached this age will have failed.
    replace_by : float
        Age at which the accepted risk is reached.
    replace_by_date : str
        Day of it, if the day of the ages is known.
    """

    row: int
    label: str
    age: float
    remaining_bound: float
    b10: float
    b10_low: float
    b10_high: float
    b50: float
    b50_low: float
    b50_high: float
    remaining10: float
    remaining50: float
    replace_by: float
    replace_by_date: str


@dataclass(frozen=True)
class Fleet:
    """Units by their lower bound, the most urgent first.

    Units without a bound are placed by the model's own quantile.

    Parameters
    ----------
    units : tuple of Unit
    n_asked : int
        Units that were asked for; the table has the most urgent of them.
    confidence : float
        Of the lower bound.
    limits : tuple of (float, float)
        Nominal levels between which B10 and B50 may lie, by the rows of the report.
    """

    units: tuple[Unit, ...]
    n_asked: int
    confidence: float
    limits: tuple[tuple[float, float], ...]


def fleet_of(study: Study, settings: Settings) -> Fleet:
    """Return the units that were asked for, sorted by their lower bound."""
    rows = np.array(settings.listed, dtype=np.intp)
    confidence = settings.confidence
    limits = tuple(level_limits(study, level) for level in B_LEVELS)
    if not len(rows):
        return Fleet((), 0, confidence, limits)
    age = settings.age[rows]
    part = study.take(rows)
    bound = lower_bound(part, confidence, age) - age
    bound[bound <= 0] = np.nan
    lives = part.known_quantiles(np.array(B_LEVELS))
    ends = np.stack([_at_limits(part, limit) for limit in limits])
    left = part.known_remaining(age, np.array([*B_LEVELS, settings.risk]))
    own = part.curve.remaining(age, [settings.risk])[:, 0]
    urgent = np.argsort(np.where(np.isnan(bound), own, bound), kind="stable")[:MOST_UNITS]
    units = tuple(
        Unit(
            int(rows[k]),
            settings.labels[rows[k]],
            float(age[k]),
            float(bound[k]),
            float(lives[k, 0]),
            float(ends[0, k, 0]),
            float(ends[0, k, 1]),
            float(lives[k, 1]),
            float(ends[1, k, 0]),
            float(ends[1, k, 1]),
            float(left[k, 0]),
            float(left[k, 1]),
            float(age[k] + left[k, 2]),
            settings.date_after(float(left[k, 2])),
        )
        for k in urgent
    )
    return Fleet(units, len(rows), confidence, limits)


def _at_limits(part: Study, limits: tuple[float, float]) -> Floats:
    """Return times at two levels; the start of life for 0, infinity for 1 and past the data."""
    low, high = limits
    ends = np.empty((len(part), 2))
    ends[:, 0] = part.curve.at([low])[:, 0] if low > 0 else max(part.curve.lower, 0.0)
    ends[:, 1] = np.inf
    if high < 1:
        known = part.known_quantiles(np.array([high]))[:, 0]
        ends[:, 1] = np.where(np.isnan(known), np.inf, known)
    return ends
