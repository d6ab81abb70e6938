"""All numbers of a report, computed before anything is drawn or written."""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._calibration._coverage import CoverageRow
from censquant._version import __version__
from censquant.estimators import CQRNN, ConformalSurvivalRegressor
from censquant.estimators.ensemble._table import CandidateRow
from censquant.exceptions import ExtrapolationWarning, TruncationWarning
from censquant.inspection import (
    CohortTable,
    Contrast,
    PermutationImportance,
    permutation_importance,
)
from censquant.inspection._cohort import describe_cohort
from censquant.metrics import CalibrationAt, Evaluation, evaluate
from censquant.quantiles._competing_curve import CompetingCurve
from censquant.report._accuracy import (
    FEWEST,
    SHOWN,
    CoverageFact,
    LevelRow,
    RiskCheck,
    RiskRow,
    calibration_at_horizons,
    coverage_facts,
    level_rows,
    lower_bound,
    page_verdict,
    risk_check,
    risk_rows,
)
from censquant.report._fleet import CostRow, Fleet, cost_rows, fleet_of, replacement_for
from censquant.report._numbers import round_times
from censquant.report._study import RELIABILITY, Settings, Study, any_event, read_settings
from censquant.survival import kaplan_meier, read_target
from censquant.survival._aalen_johansen import aalen_johansen_of

_N_TIMES = 6
MOST_DESCRIBED = 100
"""Features in the table of the cohort."""


@dataclass(frozen=True)
class SurvivalRow:
    """One line of the Kaplan-Meier table."""

    time: float
    at_risk: int  # individuals under observation just before the time
    events: int  # observed up to the time
    # Kaplan-Meier estimate and its 95 % limits
    survival: float
    low: float
    high: float


@dataclass(frozen=True)
class Cohort:
    """Counts and follow-up."""

    n_rows: int
    n_events: int
    # Time up to which at least ten individuals were under observation, rounded down to two
    # digits: the longest times themselves would tell of individuals
    end: float
    median_follow_up: float  # by Kaplan-Meier of the censoring times; infinite if it is not reached
    median_survival: float  # by Kaplan-Meier; infinite if it is not reached
    characteristics: CohortTable  # of the features, without levels of fewer than ten rows
    table: tuple[SurvivalRow, ...]


@dataclass(frozen=True)
class KindRow:
    """Incidence of one kind of event by one time."""

    kind: str
    horizon: float
    n_events: int  # of the kind, observed up to the time
    # Mean predicted probability, and what one in ten individuals lie below and above
    predicted: float
    lowest: float
    highest: float
    # Aalen-Johansen estimate and its 95 % limits
    observed: float
    low: float
    high: float


def kind_rows(study: Study, settings: Settings) -> tuple[KindRow, ...]:
    """Return predicted and observed incidences of the kinds of events, where there are several."""
    causes, curve = study.causes, study.curve
    if causes is None or not isinstance(curve, CompetingCurve):
        return ()
    asked = np.array(settings.horizons)
    predicted, shares = curve.incidence(asked), aalen_johansen_of(causes)
    observed, (low, high) = shares(asked), shares.limits(asked)
    rows = []
    for j, horizon in enumerate(settings.horizons):
        for k, kind in enumerate(causes.kinds.tolist()):
            seen = (causes.code == k + 1) & (causes.target.time <= horizon)
            own = predicted[:, k, j]
            ends = np.quantile(own, [0.1, 0.9]).tolist()
            limits = (float(each[k, j]) for each in (observed, low, high))
            rows.append(
                KindRow(str(kind), horizon, int(seen.sum()), float(own.mean()), *ends, *limits)
            )
    return tuple(rows)


def private_end(time: NDArray[np.float64]) -> float:
    """Return the time up to which ten or more rows were observed, rounded down to two digits."""
    last = float(np.sort(time)[-min(FEWEST, len(time))])
    if not last > 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(last)) - 1)
    return float(f"{math.floor(last / step + 1e-9) * step:.12g}")


def cohort_of(study: Study, settings: Settings) -> Cohort:
    """Return what is known of the rows without a model."""
    time, event = study.y
    end = private_end(time)
    curve = kaplan_meier(time, event)
    # Follow-up is what censoring leaves: the roles of event and censoring are swapped.
    followed = kaplan_meier(time, ~event).quantile(0.5) if not event.all() else np.max(time)
    asked = sorted({*round_times(end, _N_TIMES), *(one for one in settings.horizons if one <= end)})
    survival, (low, high) = curve(asked), curve.limits(asked)
    table = tuple(
        SurvivalRow(
            at,
            int((time >= at).sum()),
            int((event & (time <= at)).sum()),
            float(survival[k]),
            float(low[k]),
            float(high[k]),
        )
        for k, at in enumerate(asked)
    )
    return Cohort(
        len(study),
        int(event.sum()),
        end,
        float(followed),
        float(curve.quantile(0.5)),
        describe_cohort(
            study.table.first_columns(MOST_DESCRIBED),
            study.target,
            unit=settings.unit,
            fewest=FEWEST,
        ),
        table,
    )


@dataclass(frozen=True)
class DescribedModel:
    """What a model says of itself."""

    name: str  # its class, with the one inside if it is around another
    sentences: tuple[str, ...]  # its summary and its choices
    candidates: tuple[CandidateRow, ...]  # of a pool; empty for others
    # Coverage on rows held out of the fit, of a calibrated model; empty for others
    promises: tuple[CoverageRow, ...]
    is_calibrated: bool
    n_features: int
    uses_cqrnn: bool  # whether it is a CQRNN, or a pool with one


def described_model(study: Study) -> DescribedModel:
    """Return what the model of a study says of itself."""
    model: Any = study.model
    inner = getattr(model, "estimator_", model)
    name = type(model).__name__
    sentences: list[str] = []
    promises: tuple[CoverageRow, ...] = ()
    if isinstance(model, ConformalSurvivalRegressor):
        name += f" around {type(inner).__name__}"
        sentences.append(f"Bounds are calibrated by {model.method_}.")
        promises = tuple(row for row in model.coverage_ if row.estimate == row.estimate)
    candidates: tuple[CandidateRow, ...] = ()
    if hasattr(inner, "candidates_"):
        summary = inner.summary()
        sentences = [*filter(_is_private, summary.sentences), *sentences]
        candidates = tuple(summary.table)
    else:
        changed = ", ".join(f"{key}={value!r}" for key, value in _own_settings(inner).items())
        sentences.insert(0, f"{type(inner).__name__} with {changed or 'its default settings'}.")
    members = [inner, *(one for models in _pooled(inner).values() for one in models)]
    return DescribedModel(
        name,
        tuple(sentences),
        candidates,
        promises,
        study.is_calibrated,
        study.table.n_columns,
        any(isinstance(one, CQRNN) for one in members),
    )


def _is_private(sentence: str) -> bool:
    """Whether a sentence tells of no single row: the first and last times of the fit do."""
    return not sentence.startswith("Times from ")


def _pooled(model: Any) -> dict[str, list[Any]]:
    """Return the fitted candidates of a pool by name; none of any other model."""
    return model.estimators_ if hasattr(model, "candidates_") else {}


def _own_settings(model: Any) -> dict[str, Any]:
    """Return parameters of an estimator that are short and differ from their defaults."""
    try:
        defaults = type(model)().get_params(deep=False)
    except TypeError:  # a pipeline, or a model of another library
        return {}
    given = model.get_params(deep=False)
    plain = (str, int, float, bool, tuple)
    return {
        key: value
        for key, value in given.items()
        if isinstance(value, plain) and value != defaults[key]
    }


@dataclass(frozen=True)
class Individual:
    """One individual."""

    row: int
    label: str
    features: dict[str, str]
    # Times at the levels 0.1, 0.25, 0.5, 0.75 and 0.9; NaN where the data cannot speak
    quantiles: tuple[float, ...]
    lower_bound: float  # with the confidence of the settings
    bound_is_limited: bool  # whether follow-up ends the bound
    identified: float  # highest level that the data can speak for
    risks: tuple[float, ...]  # by each horizon
    time: float
    event: bool  # what was observed


def individuals_of(study: Study, settings: Settings) -> tuple[Individual, ...]:
    """Return the individuals that were asked for."""
    rows = settings.individuals
    if not rows:
        return ()
    part = study.take(rows)
    quantiles = part.known_quantiles(SHOWN)
    bound, limited = lower_bound(part, settings.confidence)
    risks = np.empty((len(rows), 0))
    if settings.horizons:
        risks = 1.0 - part.curve.survival(settings.horizons)
    texts = [part.table.texts(column) for column in range(part.table.n_columns)]
    return tuple(
        Individual(
            row,
            settings.labels[row],
            {name: texts[column][k] for column, name in enumerate(part.table.names)},
            tuple(quantiles[k].tolist()),
            float(bound[k]),
            bool(limited[k]),
            float(part.curve.reach[k]),
            tuple(risks[k].tolist()),
            float(part.target.time[k]),
            bool(part.target.event[k]),
        )
        for k, row in enumerate(rows)
    )


_MOST_SHUFFLED = 1_000
_N_SHUFFLES = 3
# Resampling more rows takes minutes, and narrows no interval that matters.
_MOST_SCORED = 2_000

Step = Callable[[str], None]
"""Told what is done next."""


@dataclass(frozen=True, eq=False)
class ReportFacts:
    """All numbers of a report; made by `report_facts`.

    Parameters
    ----------
    settings : Settings
        What was asked for.
    cohort : Cohort
        Counts, follow-up and the Kaplan-Meier table.
    model : DescribedModel
        What the model says of itself.
    evaluation : Evaluation
        Scores with intervals, and the verdict; of rows drawn at random where there are very many.
    levels : tuple of LevelRow
        Predicted levels beside the observed shares of events, and how far they are identified.
    coverage : tuple of CoverageFact
        What happened to bounds and intervals.
    risks : tuple of RiskRow
        Risk by the horizons.
    risk_check : RiskCheck
        What these say of the calibration, corrected for their number.
    calibration : tuple of CalibrationAt
        Curves of observed against predicted risk by those of the horizons that have one.
    verdict : str
        On ranking, calibration and the table of risks together.
    importance : PermutationImportance or None
        Of a clinical report.
    n_shuffled : int
        Rows behind the importance: all, or some drawn at random where there are very many.
    individuals : tuple of Individual
        Those that were asked for.
    fleet : Fleet or None
        Of a reliability report.
    costs : tuple of CostRow
        Of a reliability report.
    notes : tuple of str
        What a reader must know before the numbers.
    version : str
        Of censquant.
    contrast : Contrast or None
        Effect that was asked for.
    kinds : tuple of KindRow
        Incidences by the horizons, where events are of several kinds.

    Examples
    --------
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.report import report_facts
    >>> X, y = load_gbsg2()
    >>> model = CoxQuantileRegressor().fit(X[:500], y[:500])
    >>> facts = report_facts(model, X[500:], y[500:], n_resamples=20, unit="days")
    >>> facts.cohort.n_rows, facts.individuals
    (186, ())
    """

    settings: Settings
    cohort: Cohort
    model: DescribedModel
    evaluation: Evaluation
    levels: tuple[LevelRow, ...]
    coverage: tuple[CoverageFact, ...]
    risks: tuple[RiskRow, ...]
    risk_check: RiskCheck
    calibration: tuple[CalibrationAt, ...]
    verdict: str
    importance: PermutationImportance | None
    n_shuffled: int
    individuals: tuple[Individual, ...]
    fleet: Fleet | None
    costs: tuple[CostRow, ...]
    notes: tuple[str, ...]
    version: str = __version__
    contrast: Contrast | None = None
    kinds: tuple[KindRow, ...] = ()


def report_facts(
    model: Any,
    X: Any,
    y: object,
    *,
    preset: str = "clinical",
    title: str | None = None,
    unit: str = "",
    horizons: ArrayLike | None = None,
    ahead: ArrayLike | None = None,
    individuals: Sequence[int] | str | None = None,
    labels: Sequence[object] | None = None,
    age: ArrayLike | None = None,
    risk: float = 0.1,
    early_cost: float | None = None,
    late_cost: float | None = None,
    as_of: str | date | None = None,
    y_train: object = None,
    are_training_rows: bool = False,
    by: Any = None,
    groups: ArrayLike | None = None,
    n_resamples: int = 100,
    random_state: int = 0,
    contrast: Contrast | None = None,
) -> ReportFacts:
    """Return all numbers of a report, without a page around them.

    Parameters
    ----------
    model : fitted model
        Any quantile regressor, or a model that `censquant.adapt` knows.
    X : array-like or DataFrame of shape (n, n_features)
        Rows that the model was not fitted to, as it takes them.
    y : target in any form, of n rows
        Their times and events.
    preset, title, unit, horizons, ahead, individuals, labels, age, risk, early_cost, late_cost, \
as_of, y_train, are_training_rows, by, groups, n_resamples, random_state, contrast
        As in `write_report`.

    Returns
    -------
    facts : ReportFacts

    Examples
    --------
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.report import report_facts
    >>> X, y = load_gbsg2()
    >>> model = CoxQuantileRegressor().fit(X[:500], y[:500])
    >>> facts = report_facts(model, X[500:], y[500:], horizons=[365, 1095], n_resamples=20)
    >>> [row.horizon for row in facts.risks if row.group == "all"]
    [365.0, 1095.0]
    """
    settings = read_settings(
        read_target(any_event(y, model)),
        preset=preset,
        title=title,
        unit=unit,
        horizons=horizons,
        ahead=ahead,
        individuals=individuals,
        labels=labels,
        age=age,
        risk=risk,
        early_cost=early_cost,
        late_cost=late_cost,
        as_of=as_of,
        n_resamples=n_resamples,
        random_state=random_state,
        by=by,
        groups=groups,
        X=X,
    )
    check_contrast(contrast)
    study = Study.of(model, X, y, y_train)
    facts = facts_of(study, settings, are_training_rows=are_training_rows)
    return replace(facts, contrast=contrast)


def check_contrast(given: Any) -> None:
    """Refuse what is not the result of a contrast."""
    if given is not None and not isinstance(given, Contrast):
        raise TypeError(
            "contrast must be a result of censquant.inspection.contrast, got "
            f"{type(given).__name__}."
        )


def facts_of(
    study: Study, settings: Settings, *, are_training_rows: bool, step: Step = lambda name: None
) -> ReportFacts:
    """Return all numbers of a study."""
    is_fleet = settings.preset == RELIABILITY
    with warnings.catch_warnings():
        # The page says itself what the data cannot speak for.
        warnings.simplefilter("ignore", ExtrapolationWarning)
        step("cohort")
        cohort, described = cohort_of(study, settings), described_model(study)
        step("scores")
        scored = scored_study(study, settings)
        drawn = drawn_rows(len(study), _MOST_SCORED, settings.seed)
        evaluation = evaluate(
            study.model,
            study.y_train,
            scored.table.X,
            scored.y,
            taus=study.judged_levels,
            by=None if settings.by is None else settings.by[drawn],
            groups=None if settings.groups is None else settings.groups[drawn],
            n_resamples=settings.n_resamples,
            random_state=settings.seed,
        )
        step("calibration")
        levels, covered = level_rows(study), coverage_facts(study, settings)
        risks = risk_rows(study, settings)
        check = risk_check(risks)
        replacement = replacement_for(study, settings) if is_fleet else None
        step("units" if is_fleet else "importance")
        return ReportFacts(
            settings,
            cohort,
            described,
            evaluation,
            levels,
            covered,
            risks,
            check,
            calibration_at_horizons(study, settings),
            page_verdict(evaluation, check, settings),
            None if is_fleet else _importance(study, settings),
            0 if is_fleet else min(len(study), _MOST_SHUFFLED),
            individuals_of(study, settings),
            fleet_of(study, settings, replacement) if is_fleet else None,
            cost_rows(study, settings, replacement) if is_fleet else (),
            _notes(study, are_training_rows=are_training_rows),
            kinds=kind_rows(study, settings),
        )


def scored_study(study: Study, settings: Settings) -> Study:
    """Return the rows that scores are computed from: all, or some of very many."""
    return study.take(drawn_rows(len(study), _MOST_SCORED, settings.seed))


def drawn_rows(n_rows: int, most: int, seed: int) -> NDArray[np.intp]:
    """Return all rows, or so many of them drawn at random, in their order."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).permutation(n_rows)[:most])


def _importance(study: Study, settings: Settings) -> PermutationImportance:
    part = study.take(drawn_rows(len(study), _MOST_SHUFFLED, settings.seed))
    with warnings.catch_warnings():
        # Times past the follow-up count as censored before and after a shuffle.
        warnings.simplefilter("ignore", TruncationWarning)
        return permutation_importance(
            part.model, part.table.X, part.y, n_repeats=_N_SHUFFLES, random_state=settings.seed
        )


def _notes(study: Study, *, are_training_rows: bool) -> tuple[str, ...]:
    notes = []
    if are_training_rows:
        notes.append(
            "The model was fitted to these very rows: its scores, calibration and coverage look "
            "better here than they are. Make the report from rows that the model has not seen."
        )
    if not study.is_calibrated:
        notes.append(
            "Bounds and intervals are quantiles of the model and are not calibrated: nothing "
            "guarantees their coverage. ConformalSurvivalRegressor, or censquant fit --calibrate, "
            "makes bounds that keep what they promise."
        )
    return tuple(notes)
