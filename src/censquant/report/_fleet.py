"""Units in service: those to replace first, ages to replace at, and what they cost."""

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.exceptions import TruncationWarning
from censquant.inspection import ExpectedFailures, ReplacementPolicy
from censquant.inspection._fleet import risks_within
from censquant.inspection._replacement import (
    LATER,
    NEVER,
    RISKS,
    at_risk,
    smoothed_lives,
)
from censquant.metrics import coverage
from censquant.report._accuracy import FEWEST, level_limits, lower_bound
from censquant.report._study import LEVELS, Settings, Study

OWN_AGE, AT_FAILURE = "each unit at its own cheapest age", "only at failure"
"""Rules beside those of a common risk."""


@dataclass(frozen=True)
class CostRow:
    """A rule of replacement for all units of the report, over whole cycles from new."""

    rule: str
    risk: float  # mean share of units that fail before their replacement, by the model
    # The same share of past units, estimated under censoring, with its 95 % limits
    late: float
    late_low: float
    late_high: float
    service: float  # mean time in service per cycle, from new to replacement or failure
    identified: float  # share of units whose age of replacement lies within follow-up
    cost: float  # mean cost of a cycle; NaN without costs
    rate: float  # mean cost per unit of time in service; NaN without costs


def replacement_for(study: Study, settings: Settings) -> ReplacementPolicy | None:
    """Return the cheapest ages of all rows; None without costs."""
    if settings.early_cost is None or settings.late_cost is None:
        return None
    return ReplacementPolicy.of(study.curve, settings.early_cost, settings.late_cost)


def cost_rows(
    study: Study, settings: Settings, replacement: ReplacementPolicy | None
) -> tuple[CostRow, ...]:
    """Return the rules, all of them for the same units and from new."""
    curve = study.curve
    times, service = smoothed_lives(curve)
    found = []
    for risk in sorted({*RISKS, settings.risk}):
        level = np.full(len(curve), risk)
        age, cycle = at_risk(times, risk), at_risk(service, risk)
        known = curve.is_identified([risk])[:, 0]
        rule = f"at a risk of {100 * risk:g} %"
        found.append(_rule(study, settings, rule, level, age, cycle, known))
    if replacement is None:
        return tuple(found)
    everyone = np.ones(len(curve))
    own = _rule(
        study,
        settings,
        OWN_AGE,
        replacement.level,
        replacement.age,
        replacement.service,
        np.isfinite(replacement.age),
    )
    mean_life = curve.restricted_mean(np.inf)
    never = np.full(len(curve), np.inf)
    known = curve.reach >= LEVELS[-1]
    return (own, *found, _rule(study, settings, AT_FAILURE, everyone, never, mean_life, known))


def _rule(
    study: Study,
    settings: Settings,
    rule: str,
    level: Floats,
    age: Floats,
    service: Floats,
    known: NDArray[np.bool_],
) -> CostRow:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)  # identified says it
        late = coverage(study.y, -np.inf, age, y_train=study.y_train)
    cost = rate = np.nan
    if settings.early_cost is not None and settings.late_cost is not None:
        each = settings.early_cost * (1.0 - level) + settings.late_cost * level
        cost = float(each.mean())
        # Every unit stays in service, cycle after cycle: costs per time are averaged over units.
        rate = float((each / service).mean()) if (service > 0).all() else np.nan
    return CostRow(
        rule,
        float(level.mean()),
        late.estimate,
        late.confidence_low,
        late.confidence_high,
        float(service.mean()),
        float(known.mean()),
        cost,
        rate,
    )


MOST_UNITS = 500
"""Units in the table; the most urgent ones of a larger fleet."""

B_LEVELS = (0.1, 0.5)
"""B10 and B50: shares that have failed by then."""

DUE = "due now"
"""What is said in place of a time of replacement that has passed."""


@dataclass(frozen=True)
class Unit:
    """One unit of the fleet. Times are NaN where follow-up does not reach."""

    row: int
    label: str
    age: float
    # Probability to fail within each time ahead, given the age; where follow-up ends before, that
    # until its end; NaN where the unit is older than follow-up
    risks: tuple[float, ...]
    # Whether follow-up ends before, so that the risk is at least that
    risk_is_least: tuple[bool, ...]
    # Time that is left with a confidence of 1 - risk; NaN where none but 0 is supported
    remaining_bound: float
    bound_is_limited: bool  # whether follow-up ends the bound: at least that much is left
    bound_date: str  # day of it, if the day of the ages is known
    # Time left until half of such units that have reached this age will have failed
    remaining50: float
    # Age of the cheapest replacement; infinite where none pays within follow-up, NaN without
    # costs
    replace_at: float
    # Time until then, 0 for a unit that is due; NaN where `replace_at` is not finite
    replace_in: float
    replace_date: str
    # "due now", "at failure", or "not before", where a cheapest age may lie beyond follow-up
    advice: str
    # Age up to which follow-up supports the search for the cheapest one; NaN without costs
    supported: float


@dataclass(frozen=True)
class NewLife:
    """Life of a new unit: the age by which a share of such units has failed."""

    level: float  # share of failures: 0.1 for B10
    # Median over the units of the report, and of its 95 % limits; NaN or infinite where follow-up
    # does not reach
    typical: float
    low: float
    high: float
    # Age that one in ten units of the report is below, and above
    shortest: float
    longest: float


@dataclass(frozen=True)
class Fleet:
    """Units by their risk within the first time ahead, the highest first."""

    units: tuple[Unit, ...]
    n_asked: int  # units that were asked for; the table has the most urgent of them
    confidence: float  # of the lower bound
    new_life: tuple[NewLife, ...]  # B10 and B50 of new units
    # Nominal levels between which B10 and B50 may lie, by the rows of the report
    limits: tuple[tuple[float, float], ...]
    # Among all running units; None where these are too few to be shown as a total
    failures: ExpectedFailures | None
    # Running units that are due for replacement, those for which no replacement pays within
    # follow-up, and all; the first two are 0 without costs
    n_due: int
    n_never: int
    n_running: int


def fleet_of(study: Study, settings: Settings, replacement: ReplacementPolicy | None) -> Fleet:
    """Return the units that were asked for, by risk, and totals of all that are running."""
    rows = np.array(settings.listed, dtype=np.intp)
    limits = tuple(level_limits(study, level) for level in B_LEVELS)
    running = np.flatnonzero(~study.target.event)
    failures = None
    if len(running) >= FEWEST:
        part = study.curve.take(running)
        # The rows of the report stand in for those of the fit where these are not given.
        y_train = None if study.train is study.target else study.y_train
        failures = ExpectedFailures.of(part, settings.age[running], settings.ahead, y_train=y_train)
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
    study: Study, settings: Settings, rows: NDArray[np.intp], replacement: ReplacementPolicy | None
) -> tuple[Unit, ...]:
    if not len(rows):
        return ()
    part, age = study.take(rows), settings.age[rows]
    risks, least = risks_within(part.curve, age, settings.ahead)
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
