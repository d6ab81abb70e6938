"""The fleet: which units are at risk, what is left of their lives, and when to replace them."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.inspection import ExpectedFailures
from censquant.report._calibration import level_limits
from censquant.report._cohort import FEWEST
from censquant.report._costs import Replacement
from censquant.report._coverage import lower_bound
from censquant.report._settings import Settings
from censquant.report._study import Study

MOST_UNITS = 500
"""Units in the table; the most urgent ones of a larger fleet."""

B_LEVELS = (0.1, 0.5)
"""B10 and B50: shares that have failed by then."""

DUE, NEVER, LATER = "due now", "at failure", "not before"
"""What is said in place of a time of replacement."""


@dataclass(frozen=True)
class Unit:
    """One unit of the fleet. Times are NaN where follow-up does not reach.

    Parameters
    ----------
    row : int
    label : str
    age : float
    risks : tuple of float
        Probability to fail within each time ahead, given the age; where follow-up ends before, that
        until its end; NaN where the unit is older than follow-up.
    risk_is_least : tuple of bool
        Whether follow-up ends before, so that the risk is at least that.
    remaining_bound : float
        Time that is left with a confidence of 1 - risk; NaN where none but 0 is supported.
    bound_is_limited : bool
        Whether follow-up ends the bound: at least that much is left.
    bound_date : str
        Day of it, if the day of the ages is known.
    remaining50 : float
        Time left until half of such units that have reached this age will have failed.
    replace_at : float
        Age of the cheapest replacement; infinite where none pays within follow-up, NaN without
        costs.
    replace_in : float
        Time until then, 0 for a unit that is due; NaN where `replace_at` is not finite.
    replace_date : str
    advice : str
        "due now", "at failure", or "not before", where a cheapest age may lie beyond follow-up.
    supported : float
        Age up to which follow-up supports the search for the cheapest one; NaN without costs.
    """

    row: int
    label: str
    age: float
    risks: tuple[float, ...]
    risk_is_least: tuple[bool, ...]
    remaining_bound: float
    bound_is_limited: bool
    bound_date: str
    remaining50: float
    replace_at: float
    replace_in: float
    replace_date: str
    advice: str
    supported: float


@dataclass(frozen=True)
class NewLife:
    """Life of a new unit: the age by which a share of such units has failed.

    Parameters
    ----------
    level : float
        Share of failures: 0.1 for B10.
    typical, low, high : float
        Median over the units of the report, and of its 95 % limits; NaN or infinite where follow-up
        does not reach.
    shortest, longest : float
        Age that one in ten units of the report is below, and above.
    """

    level: float
    typical: float
    low: float
    high: float
    shortest: float
    longest: float


@dataclass(frozen=True)
class Fleet:
    """Units by their risk within the first time ahead, the highest first.

    Parameters
    ----------
    units : tuple of Unit
    n_asked : int
        Units that were asked for; the table has the most urgent of them.
    confidence : float
        Of the lower bound.
    new_life : tuple of NewLife
        B10 and B50 of new units.
    limits : tuple of (float, float)
        Nominal levels between which B10 and B50 may lie, by the rows of the report.
    failures : ExpectedFailures or None
        Among all running units; None where these are too few to be shown as a total.
    n_due, n_never, n_running : int
        Running units that are due for replacement, those for which no replacement pays within
        follow-up, and all; the first two are 0 without costs.
    """

    units: tuple[Unit, ...]
    n_asked: int
    confidence: float
    new_life: tuple[NewLife, ...]
    limits: tuple[tuple[float, float], ...]
    failures: ExpectedFailures | None
    n_due: int
    n_never: int
    n_running: int


def fleet_of(study: Study, settings: Settings, replacement: Replacement | None) -> Fleet:
    """Return the units that were asked for, by risk, and totals of all that are running."""
    rows = np.array(settings.listed, dtype=np.intp)
    limits = tuple(level_limits(study, level) for level in B_LEVELS)
    running = np.flatnonzero(~study.target.event)
    failures = None
    if len(running) >= FEWEST:
        part = study.curve.take(running)
        failures = ExpectedFailures.of(part, settings.age[running], settings.ahead)
    n_due = n_never = 0
    if replacement is not None:
        n_due = int((settings.age[running] >= replacement.age[running]).sum())
        n_never = int(np.isinf(replacement.age[running]).sum())
    return Fleet(
        _units(study, settings, rows, None if replacement is None else replacement.take(rows)),
        len(rows),
        settings.confidence,
        tuple(
            _new_life(study, level, limit) for level, limit in zip(B_LEVELS, limits, strict=True)
        ),
        limits,
        failures,
        n_due,
        n_never,
        len(running),
    )


def _units(
    study: Study, settings: Settings, rows: NDArray[np.intp], replacement: Replacement | None
) -> tuple[Unit, ...]:
    if not len(rows):
        return ()
    part, age = study.take(rows), settings.age[rows]
    risks, least = _risks(part, age, settings.ahead)
    bound, limited = lower_bound(part, settings.confidence, age)
    left = bound - age
    left[left <= 0] = np.nan
    half = part.known_remaining(age, np.array([0.5]))[:, 0]
    # Units without a known risk come last, and the longer horizons decide between equal risks.
    keys = np.where(np.isnan(risks), np.inf, -risks)
    order = np.lexsort(keys.T[::-1])[:MOST_UNITS]
    found = []
    for k in order:
        due, in_time, advice, supported = math.nan, math.nan, "", math.nan
        if replacement is not None:
            due, supported = float(replacement.age[k]), float(replacement.supported[k])
            if math.isfinite(due):
                in_time = max(due - float(age[k]), 0.0)
                advice = DUE if in_time == 0 else ""
            else:
                advice = LATER if replacement.is_rising[k] else NEVER
        found.append(
            Unit(
                int(rows[k]),
                settings.labels[rows[k]],
                float(age[k]),
                tuple(risks[k].tolist()),
                tuple(least[k].tolist()),
                float(left[k]),
                bool(limited[k]),
                settings.date_after(float(left[k])),
                float(half[k]),
                due,
                in_time,
                settings.date_after(in_time),
                advice,
                supported,
            )
        )
    return tuple(found)


def _risks(part: Study, age: Floats, ahead: tuple[float, ...]) -> tuple[Floats, NDArray[np.bool_]]:
    """Return risks within each time ahead, and whether follow-up ends before."""
    curve, times = part.curve, np.array(ahead)
    risk = curve.risk_within(age, times)
    least = ~curve.is_identified(curve.cdf(age[:, None] + times))
    now = curve.cdf(age)
    with np.errstate(divide="ignore", invalid="ignore"):
        until_end = np.where(curve.reach > now, (curve.reach - now) / (1.0 - now), np.nan)
    return np.where(least, until_end[:, None], risk), least


def _new_life(study: Study, level: float, limit: tuple[float, float]) -> NewLife:
    lives = study.known_quantiles(np.array([level]))[:, 0]
    reached = np.where(np.isnan(lives), np.inf, lives)
    ends = [np.median(end) for end in _at_limits(study, limit).T]
    tenth, half, ninth = np.quantile(reached, (0.1, 0.5, 0.9), method="inverted_cdf")
    return NewLife(level, float(half), float(ends[0]), float(ends[1]), float(tenth), float(ninth))


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
