"""All numbers of a report, computed before anything is drawn or written."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._version import __version__
from censquant.exceptions import ExtrapolationWarning, TruncationWarning
from censquant.inspection import PermutationImportance, permutation_importance
from censquant.metrics import Evaluation, evaluate
from censquant.report._calibration import LevelRow, level_rows
from censquant.report._cohort import Cohort, cohort_of
from censquant.report._costs import CostRow, cost_rows, replacement_for
from censquant.report._coverage import CoverageFact, coverage_facts
from censquant.report._described_model import DescribedModel, described_model
from censquant.report._fleet import Fleet, fleet_of
from censquant.report._individuals import Individual, individuals_of
from censquant.report._risk import RiskCheck, RiskRow, risk_check, risk_rows
from censquant.report._settings import RELIABILITY, Settings, read_settings
from censquant.report._study import Study
from censquant.report._verdict import page_verdict
from censquant.survival import read_target

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
    verdict: str
    importance: PermutationImportance | None
    n_shuffled: int
    individuals: tuple[Individual, ...]
    fleet: Fleet | None
    costs: tuple[CostRow, ...]
    notes: tuple[str, ...]
    version: str = __version__


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
    n_resamples: int = 100,
    random_state: int = 0,
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
as_of, y_train, are_training_rows, n_resamples, random_state
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
        read_target(y),
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
    )
    study = Study.of(model, X, y, y_train)
    return facts_of(study, settings, are_training_rows=are_training_rows)


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
        evaluation = evaluate(
            study.model,
            study.y_train,
            scored.table.X,
            scored.y,
            taus=study.judged_levels,
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
            page_verdict(evaluation, check, settings),
            None if is_fleet else _importance(study, settings),
            0 if is_fleet else min(len(study), _MOST_SHUFFLED),
            individuals_of(study, settings),
            fleet_of(study, settings, replacement) if is_fleet else None,
            cost_rows(study, settings, replacement) if is_fleet else (),
            _notes(study, are_training_rows=are_training_rows),
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
