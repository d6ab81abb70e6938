"""How good the predictions are: calibration, coverage, risks at horizons, the verdict."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.estimators import ConformalSurvivalRegressor
from censquant.exceptions import FewEventsWarning, IdentifiabilityWarning, TruncationWarning
from censquant.inspection._fleet import lower_bound as bound_of
from censquant.metrics import (
    CalibrationAt,
    Evaluation,
    calibration_at,
    coverage,
    pit_band,
    pit_curve,
)
from censquant.metrics._verdict import SMALL_GAP
from censquant.report._numbers import NO_BREAK, p_text, percent, time_text
from censquant.report._study import LEVELS, Settings, Study
from censquant.survival import KaplanMeier, kaplan_meier

SHOWN: Floats = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
"""Levels that are shown one by one."""

_FINE: Floats = np.round(np.arange(1, 199) * 0.005, 3)

FEWEST = 10
"""Rows of a group; smaller ones would tell of individuals."""


@dataclass(frozen=True)
class LevelRow:
    """One predicted level beside what happened."""

    level: float  # predicted share of events by the quantile
    # Share by Kaplan-Meier of the levels of all times, and its 95 % limits; NaN where follow-up
    # does not reach
    observed: float
    low: float
    high: float
    identified: float  # share of individuals whose quantile of this level the data can speak for


def level_rows(study: Study) -> tuple[LevelRow, ...]:
    """Return the shown levels with their observed and identified shares."""
    values = study.curve.at(LEVELS)
    _, observed = pit_curve(study.y, values, LEVELS, levels=SHOWN)
    low, high = pit_band(study.y, values, LEVELS, levels=SHOWN)
    identified = study.curve.is_identified(SHOWN).mean(axis=0)
    columns = (SHOWN, observed, low, high, identified)
    return tuple(LevelRow(*map(float, row)) for row in zip(*columns, strict=True))


def level_limits(study: Study, level: float) -> tuple[float, float]:
    """Return the nominal levels between which the true quantile of a level may lie.

    A level is kept if the 95 % limits of the share of events by its quantile hold the level that
    is asked for. This takes the model to be wrong in the same way for all individuals. 0 and 1
    stand for no limit.
    """
    values = study.curve.at(LEVELS)
    low, high = pit_band(study.y, values, LEVELS, levels=_FINE)
    kept = (low <= level) & (level <= high)
    if not kept.any():  # the observed share jumps across the level between two of the grid
        place = int(np.nansum(low < level).clip(1, len(_FINE) - 1))
        return float(_FINE[place - 1]), float(_FINE[place])
    first, last = np.flatnonzero(kept)[[0, -1]]
    # The end of what is known, or of the grid, is no limit.
    ends = last + 1 == len(_FINE) or np.isnan(low[last + 1])
    return 0.0 if first == 0 else float(_FINE[first]), 1.0 if ends else float(_FINE[last])


CONFIDENCES = (0.8, 0.9, 0.95)
"""Promises that are looked at."""

_INTERVALS = (0.5, 0.8)


@dataclass(frozen=True)
class CoverageFact:
    """What happened to one promise."""

    kind: str  # {"lower bound", "interval"}
    promised: float
    # Share of events that keep the promise, estimated under censoring, and its 95 % limits
    estimate: float
    low: float
    high: float
    # Shares whatever the censored rows hide
    sure: float
    possible: float
    # Observed events, and those that kept the promise; events that censoring hid are missing
    n_past: int
    n_kept: int
    finite: float  # share of individuals with an upper end; 1 for lower bounds, which need none
    note: str  # why the estimate is not to be trusted, if so


def coverage_facts(study: Study, settings: Settings) -> tuple[CoverageFact, ...]:
    """Return what happened to lower bounds, also those of the settings, and to intervals."""
    n_rows = len(study)
    facts = [
        _judged(study, "lower bound", share, lower_bound(study, share)[0], np.full(n_rows, np.inf))
        for share in sorted({*CONFIDENCES, settings.confidence})
    ]
    for share in _INTERVALS:
        low, high = interval(study, share)
        facts.append(_judged(study, "interval", share, low, high))
    return tuple(facts)


def lower_bound(
    study: Study, confidence: float, elapsed: Floats | None = None
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the times that a share outlives, and whether follow-up ends them."""
    return bound_of(study.model, study.table.X, study.curve, confidence, elapsed)


def interval(study: Study, share: float) -> tuple[Floats, Floats]:
    """Return the ends of the central interval; infinite where the data support no upper end."""
    model = study.model
    if isinstance(model, ConformalSurvivalRegressor):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewEventsWarning)
            warnings.simplefilter("ignore", IdentifiabilityWarning)
            ends = model.predict_interval(study.table.X, share, beyond="inf")
    else:
        low = round((1.0 - share) / 2.0, 12)
        known = study.known_quantiles(np.array([low, 1.0 - low]))
        ends = np.where(np.isnan(known), np.inf, known)
    return ends[:, 0], ends[:, 1]


def _judged(study: Study, kind: str, promised: float, low: Floats, high: Floats) -> CoverageFact:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TruncationWarning)
        # Bounds are kept by events at them, and metrics.coverage leaves its lower limit out.
        just_below = np.nextafter(low, -np.inf)
        found = coverage(study.y, just_below, high, y_train=study.y_train)
    time, event = study.y
    kept = event & (low <= time) & (time <= high)
    return CoverageFact(
        kind,
        promised,
        found.estimate,
        found.confidence_low,
        found.confidence_high,
        found.bound_low,
        found.bound_high,
        int(event.sum()),
        int(kept.sum()),
        1.0 if kind == "lower bound" else float(np.isfinite(high).mean()),
        "; ".join(str(one.message) for one in caught),
    )


_N_GROUPS, _N_BINS = 3, 5
_SIGNIFICANT = 0.05
_N_HALVINGS = 40


@dataclass(frozen=True)
class RiskRow:
    """Risk by one time, of everybody or of one of the groups by predicted risk."""

    horizon: float
    group: str  # "all", or which part of the individuals by their predicted risk
    n_rows: int
    predicted: float  # mean predicted risk
    # Predicted risk that one in ten individuals are below, and above
    lowest: float
    highest: float
    # By Kaplan-Meier, with its 95 % limits
    observed: float
    low: float
    high: float
    # Share of individuals who were followed so long that the data can speak for the risk
    identified: float
    # Smallest level at which the limits of the observed risk leave out the predicted one
    p_value: float

    @property
    def gap(self) -> float:
        """How far predicted and observed risk are apart."""
        return abs(self.observed - self.predicted)


@dataclass(frozen=True)
class RiskCheck:
    """What the table of risks says of the calibration."""

    # Predicted risks, and those outside of the 95 % limits of the observed one
    n_cells: int
    n_outside: int
    n_rejected: int  # those that remain after correction for the number of cells (Holm)
    # Of these the one with the largest gap, if that reaches 3 percentage points
    worst: RiskRow | None
    p_value: float  # smallest p-value, corrected for the number of cells; NaN without cells


def risk_check(rows: tuple[RiskRow, ...]) -> RiskCheck:
    """Return the verdict of a table of risks."""
    p_values = np.array([row.p_value for row in rows])
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(rows))
    steps = p_values[order] * (len(rows) - np.arange(len(rows)))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    rejected = [row for row, p in zip(rows, corrected, strict=True) if p < _SIGNIFICANT]
    wide = [row for row in rejected if row.gap >= SMALL_GAP]
    return RiskCheck(
        len(rows),
        int((p_values < _SIGNIFICANT).sum()),
        len(rejected),
        max(wide, key=lambda row: row.gap) if wide else None,
        float(corrected.min()) if rows else float("nan"),
    )


def risk_rows(study: Study, settings: Settings) -> tuple[RiskRow, ...]:
    """Return predicted and observed risks by each horizon."""
    if not settings.horizons:
        return ()
    risk = 1.0 - study.curve.survival(settings.horizons)
    known = study.curve.is_identified(risk)
    found = []
    for place, horizon in enumerate(settings.horizons):
        for name, rows in _groups(risk[:, place]).items():
            part = study.target.take(rows)
            curve = kaplan_meier(part.time, part.event)
            low, high = curve.limits(horizon)
            own = risk[rows, place]
            found.append(
                RiskRow(
                    horizon,
                    name,
                    len(rows),
                    float(own.mean()),
                    float(np.quantile(own, 0.1)),
                    float(np.quantile(own, 0.9)),
                    float(1.0 - curve(horizon)),
                    float(1.0 - high),
                    float(1.0 - low),
                    float(known[rows, place].mean()),
                    _p_value(curve, horizon, float(own.mean())),
                )
            )
    return tuple(found)


def _p_value(curve: KaplanMeier, horizon: float, risk: float) -> float:
    """Return the smallest level at which the limits of the observed risk leave out a risk."""
    smallest, largest = 0.0, 1.0
    for _ in range(_N_HALVINGS):
        level = 0.5 * (smallest + largest)
        low, high = curve.limits(horizon, 1.0 - level)
        if low <= 1.0 - risk <= high:
            smallest = level
        else:
            largest = level
    return largest


def calibration_at_horizons(study: Study, settings: Settings) -> tuple[CalibrationAt, ...]:
    """Return curves of observed against predicted risk by each horizon that has one."""
    found = []
    n_bins = max(1, min(_N_BINS, len(study) // FEWEST))
    for horizon in settings.horizons:
        risk = 1.0 - study.curve.survival([horizon])[:, 0]
        with warnings.catch_warnings():
            # The table of risks says how few were observed.
            warnings.simplefilter("ignore", FewEventsWarning)
            warnings.simplefilter("ignore", TruncationWarning)
            one = calibration_at(
                risk, None, study.y, horizon, n_bins=n_bins, groups=settings.groups
            )
        if not np.isnan(one.ici):
            found.append(one)
    return tuple(found)


def _groups(risk: np.ndarray) -> dict[str, np.ndarray]:
    """Return rows by the rank of their predicted risk."""
    groups = {"all": np.arange(len(risk))}
    if len(risk) >= _N_GROUPS * FEWEST:
        parts = np.array_split(np.argsort(risk, kind="stable"), _N_GROUPS)
        groups |= dict(zip(("lowest third", "middle third", "highest third"), parts, strict=True))
    return groups


def page_verdict(evaluation: Evaluation, check: RiskCheck, settings: Settings) -> str:
    """Return the verdict on all that the page shows: ranking, test and table of risks."""
    return " ".join(_sentences(evaluation, check, settings)).replace(NO_BREAK, " ")


def _sentences(evaluation: Evaluation, check: RiskCheck, settings: Settings) -> list[str]:
    reach = evaluation.verdict.removeprefix(f"{evaluation.ranking}, {evaluation.calibration}. ")
    if check.worst is None:
        first = f"{evaluation.ranking}, {evaluation.calibration}."
        return [first, *_cells(check), reach]
    row = check.worst
    group = f"all {settings.who}" if row.group == "all" else f"the {row.group} by predicted risk"
    said = (
        f"by {time_text(row.horizon, settings.unit)} {percent(row.predicted)} of {group} were "
        f"predicted to have had the event, and {percent(row.observed)} had "
        f"({p_text(check.p_value)} after correction for {check.n_cells} comparisons)"
    )
    if not evaluation.is_calibrated:
        first = f"{evaluation.ranking}, {evaluation.calibration}."
        return [first, f"The table of risks disagrees, too: {said}.", *_cells(check), reach]
    return [
        f"{evaluation.ranking}, but predicted risks are not calibrated: {said}.",
        "The test over all levels together does not detect it.",
        *_cells(check),
        reach,
    ]


def _cells(check: RiskCheck) -> list[str]:
    """Return how many predicted risks of the table lie outside of their limits."""
    if not check.n_cells:
        return []
    if not check.n_outside:
        return [
            f"All {check.n_cells} predicted risks of the table lie inside the 95{NO_BREAK}% limits "
            "of the observed ones."
        ]
    said = (
        f"{check.n_outside} of {check.n_cells} predicted risks of the table lie outside the "
        f"95{NO_BREAK}% limits of the observed ones"
    )
    if check.n_rejected:
        small = "" if check.worst else ", by less than 3 percentage points"
        return [
            f"{said}, {check.n_rejected} of them also after correction for their number{small}."
        ]
    return [f"{said}; after correction for their number none does."]
