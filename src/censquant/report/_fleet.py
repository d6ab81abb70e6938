"""Units in service: those to replace first, ages to replace at, and what they cost."""

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.exceptions import TruncationWarning
from censquant.inspection import ExpectedFailures
from censquant.metrics import coverage
from censquant.quantiles import QuantileCurve
from censquant.report._accuracy import FEWEST, level_limits, lower_bound
from censquant.report._study import LEVELS, Settings, Study

RISKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
"""Risks of a failure before replacement that are compared."""

# Levels of the search, from rare failures on, as dense where optima of large cost ratios lie.
_SEARCHED: Floats = np.union1d(np.geomspace(5e-4, 0.99, 240), RISKS)
# Levels that carry the shape of a curve; below them single early failures decide.
_LOWEST_FITTED, _FEWEST_FITTED = 0.005, 5
# A replacement that saves less is not recommended: noise of a fit saves as much on paper.
_SMALLEST_SAVING = 0.01
# Shape of a Weibull law from which on the hazard counts as rising where follow-up ends.
_RISING_SHAPE = 1.1
_BLOCK_ROWS = 4_096

OWN_AGE, AT_FAILURE = "each unit at its own cheapest age", "only at failure"
"""Rules beside those of a common risk."""


@dataclass(frozen=True, eq=False)
class Replacement:
    """The cheapest age at which each unit of some rows is replaced, counted from new."""

    age: Floats  # shape (n,); infinite where no replacement before failure pays within follow-up
    level: Floats  # shape (n,); risk of a failure before that age; 1 where the unit runs to failure
    service: Floats  # shape (n,); mean time in service per cycle
    supported: Floats  # shape (n,); age up to which follow-up supports the search
    # Whether the hazard still rises where follow-up ends, so that a cheapest age may lie beyond
    is_rising: NDArray[np.bool_]

    def take(self, rows: NDArray[np.intp]) -> "Replacement":
        """Return some of the rows."""
        return Replacement(
            self.age[rows],
            self.level[rows],
            self.service[rows],
            self.supported[rows],
            self.is_rising[rows],
        )


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


def replacement_of(curve: QuantileCurve, early_cost: float, late_cost: float) -> Replacement:
    r"""Return the age that minimises the cost per time in service of every row.

    A cycle ends by replacement at age a or by an earlier failure, and an equal unit starts the
    next one, so that by the renewal theorem the cost per time is

    .. math:: \{c_e S(a) + c_l F(a)\} / \int_0^a S(t) dt.

    Only ages within follow-up are searched, on a curve that is smoothed over its levels.
    """
    parts = [
        _cheapest(curve.take(slice(start, start + _BLOCK_ROWS)), early_cost, late_cost)
        for start in range(0, len(curve), _BLOCK_ROWS)
    ]
    return Replacement(
        np.concatenate([part.age for part in parts]),
        np.concatenate([part.level for part in parts]),
        np.concatenate([part.service for part in parts]),
        np.concatenate([part.supported for part in parts]),
        np.concatenate([part.is_rising for part in parts]),
    )


def _cheapest(curve: QuantileCurve, early_cost: float, late_cost: float) -> Replacement:
    rows = np.arange(len(curve))
    times, shape = _smoothed(curve)
    service = _service(times)
    cost = early_cost * (1.0 - _SEARCHED) + late_cost * _SEARCHED
    with np.errstate(divide="ignore"):
        rate = np.where(service > 0, cost / service, np.inf)
    last = np.searchsorted(_SEARCHED, np.minimum(curve.reach, _SEARCHED[-1]), side="right") - 1
    last = np.maximum(last, 0)
    rate[np.arange(len(_SEARCHED)) > last[:, None]] = np.inf
    best = rate.argmin(axis=1)
    # Run to failure for comparison; the smoothed curve ends where one in a hundred is left.
    saving = 1.0 - rate[rows, best] * service[:, -1] / late_cost
    pays = (best < last) & (saving >= _SMALLEST_SAVING)
    mean_life = curve.restricted_mean(np.inf)
    return Replacement(
        np.where(pays, times[rows, best], np.inf),
        np.where(pays, _SEARCHED[best], 1.0),
        np.where(pays, service[rows, best], mean_life),
        times[rows, last],
        shape > _RISING_SHAPE,
    )


def _service(times: Floats) -> Floats:
    """Return the mean time in service up to each of the searched levels: the area below S."""
    survival = 1.0 - _SEARCHED
    first = times[:, :1] * (1.0 - 0.5 * _SEARCHED[0])
    steps = np.diff(times, axis=1) * 0.5 * (survival[1:] + survival[:-1])
    return np.cumsum(np.concatenate([first, steps], axis=1), axis=1)


def _smoothed(curve: QuantileCurve) -> tuple[Floats, Floats]:
    """Return the times of the searched levels, and the Weibull shape where follow-up ends.

    The curves of an ensemble have steps, and a minimum over steps is noise: log t is fitted per row
    by a parabola in log(-log S), a line of which is a Weibull law, over the levels within
    follow-up. Rows with too few such levels keep their own curve.
    """
    scale = np.log(-np.log1p(-LEVELS))
    wanted = np.log(-np.log1p(-_SEARCHED))
    own, raw = curve.at(LEVELS), curve.at(_SEARCHED)
    reach = np.minimum(curve.reach, LEVELS[-1])
    used = (reach[:, None] >= LEVELS) & (own > 0) & (LEVELS >= _LOWEST_FITTED)
    weight = np.where(used, LEVELS * (1.0 - LEVELS), 0.0)
    fitted = used.sum(axis=1) >= _FEWEST_FITTED
    basis = np.stack([np.ones_like(scale), scale, scale**2], axis=1)
    shape = np.full(len(own), np.nan)
    if not fitted.any():
        return raw, shape
    log_time = np.log(np.where(used, own, 1.0))[fitted]
    normal = np.einsum("nl,lp,lq->npq", weight[fitted], basis, basis)
    right = np.einsum("nl,lp,nl->np", weight[fitted], basis, log_time)
    parabola = np.linalg.solve(normal, right[..., None])[..., 0]
    searched = np.stack([np.ones_like(wanted), wanted, wanted**2], axis=1)
    times = raw.copy()
    times[fitted] = np.maximum.accumulate(np.exp(parabola @ searched.T), axis=1)
    end = np.log(-np.log1p(-reach[fitted]))
    slope = parabola[:, 1] + 2.0 * parabola[:, 2] * end
    shape[fitted] = np.where(slope > 0, 1.0 / np.where(slope > 0, slope, 1.0), np.inf)
    return times, shape


def replacement_for(study: Study, settings: Settings) -> Replacement | None:
    """Return the cheapest ages of all rows; None without costs."""
    if settings.early_cost is None or settings.late_cost is None:
        return None
    return replacement_of(study.curve, settings.early_cost, settings.late_cost)


def cost_rows(
    study: Study, settings: Settings, replacement: Replacement | None
) -> tuple[CostRow, ...]:
    """Return the rules, all of them for the same units and from new."""
    curve = study.curve
    times = np.concatenate(
        [
            _smoothed(curve.take(slice(start, start + _BLOCK_ROWS)))[0]
            for start in range(0, len(curve), _BLOCK_ROWS)
        ]
    )
    service = _service(times)
    found = []
    for risk in sorted({*RISKS, settings.risk}):
        level = np.full(len(curve), risk)
        age, cycle = _between(times, risk), _between(service, risk)
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


def _between(columns: Floats, risk: float) -> Floats:
    """Return what rows have at a risk, which may lie between two of the searched levels."""
    after = int(np.clip(np.searchsorted(_SEARCHED, risk), 1, len(_SEARCHED) - 1))
    low, high = _SEARCHED[after - 1], _SEARCHED[after]
    part = (risk - low) / (high - low)
    return np.asarray((1.0 - part) * columns[:, after - 1] + part * columns[:, after])


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

DUE, NEVER, LATER = "due now", "at failure", "not before"
"""What is said in place of a time of replacement."""


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
