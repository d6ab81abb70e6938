"""The model of the censoring time: one curve for all rows, or one that depends on the features."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from censquant._calibration._censoring import (
    CensoringCurves,
    CommonCensoring,
    ModelledCensoring,
    censoring_dependence,
)
from censquant._calibration._rules import FEWEST_EVENTS
from censquant._typing import Floats
from censquant.estimators._boosted import BoostedQuantileRegressor
from censquant.estimators._cox import CoxQuantileRegressor
from censquant.estimators.ensemble._recommended import CensoredQuantileRegressor
from censquant.estimators.meta._bounds._cross_fit import (
    LEVELS,
    FitRows,
    base_model,
    cross_fitted,
    curve_table,
)
from censquant.exceptions import CalibrationWarning, FeatureWarning, FewEventsWarning
from censquant.quantiles import QuantileCurve
from censquant.survival import KaplanMeier, Target, censoring_kaplan_meier
from censquant.survival._kaplan_meier import SMALLEST_CENSORING_CHANCE

KAPLAN_MEIER = "kaplan-meier"
# Censoring counts as dependent on the features below this p-value.
_DEPENDENT = 0.05
_ROUNDS = 150
_FOLDS = 5
# A first look at whether there is anything to model, on so many rows.
_MOST_SCREENED = 3_000
_SCREENING_ROUNDS, _SCREENING_FOLDS = 40, 2


@dataclass(frozen=True, eq=False)
class CensoringModel:
    """How the censoring time is distributed: by a Kaplan-Meier curve, or by a fitted model.

    Parameters
    ----------
    reason : str
        Why this one, in words.
    p_value : float or None
        Of the test that censoring does not depend on the features.
    curve : KaplanMeier or None
        Of all rows, where there is no model.
    model : BaseQuantileRegressor or None
        Of the censoring times given the features.
    """

    reason: str
    p_value: float | None = None
    curve: KaplanMeier | None = None
    model: Any = None

    def curves(self, X: Any, n_rows: int, *, mirror: bool) -> CensoringCurves:
        """Return the distributions of the censoring times of new rows."""
        if self.curve is not None:
            return CommonCensoring(self.curve, n_rows)
        return ModelledCensoring(curve_table(self.model, X, mirror=mirror)[0])


def censoring_model(
    estimator: Any,
    rows: FitRows,
    seed: np.random.SeedSequence,
    n_jobs: int | None,
    *,
    mirror: bool,
) -> tuple[CensoringModel, CensoringCurves]:
    """Return a model of the censoring time, and its answers about rows it had not seen."""
    timeline = Target(-rows.target.time if mirror else rows.target.time, rows.target.event)
    common = censoring_kaplan_meier(timeline.time, timeline.event, rows.weight)
    n_censored = int(np.count_nonzero(~timeline.event[rows.weight > 0]))
    simple = _why_common(estimator, rows, n_censored)
    if simple is not None:
        return CensoringModel(simple, curve=common), CommonCensoring(common, len(rows))
    flipped = FitRows(
        rows.X, Target(rows.target.time, ~rows.target.event), rows.weight, rows.groups
    )
    with warnings.catch_warnings():
        # What is odd about the features has been said of the event model.
        for category in (CalibrationWarning, FeatureWarning, FewEventsWarning):
            warnings.simplefilter("ignore", category)
        p_value, reason = None, "censoring model as given"
        if estimator is None:
            p_value = _screened(flipped, seed, n_jobs, mirror=mirror)
            if p_value >= _DEPENDENT:
                reason = (
                    "Kaplan-Meier censoring curve, since censoring does not follow its "
                    f"predictions from the features (p = {p_value:.2g})"
                )
                model = CensoringModel(reason, p_value, curve=common)
                return model, CommonCensoring(common, len(rows))
            reason = f"modelled censoring, since it depends on the features (p = {p_value:.2g})"
        chosen = _default(mirror) if estimator is None else base_model(estimator)
        fitted = cross_fitted(chosen, flipped, _FOLDS, seed, n_jobs, mirror=mirror)
    values = np.empty((len(rows), len(LEVELS)))
    values[fitted.rows] = fitted.values
    left_out = np.setdiff1d(np.arange(len(rows)), fitted.rows)
    if len(left_out):  # more rows than a pool compares its candidates on
        rest = rows.take(left_out).X
        values[left_out] = curve_table(fitted.model, rest, mirror=mirror)[0].values
    curve = QuantileCurve.from_predictions(values, LEVELS, fitted.lower)
    return CensoringModel(reason, p_value, model=fitted.model), ModelledCensoring(curve)


def _screened(
    flipped: FitRows, seed: np.random.SeedSequence, n_jobs: int | None, *, mirror: bool
) -> float:
    """Return the p-value of the test that censoring does not follow its predictions."""
    some = np.flatnonzero(flipped.weight > 0)
    rows = flipped.take(some[:: -(-len(some) // _MOST_SCREENED)])
    quick = _default(mirror, _SCREENING_ROUNDS, _SCREENING_FOLDS)
    fitted = cross_fitted(quick, rows, _SCREENING_FOLDS, seed, n_jobs, mirror=mirror)
    if not len(fitted.rows):
        return 1.0
    asked = rows.take(fitted.rows).target
    timeline = Target(-asked.time if mirror else asked.time, ~asked.event)
    return censoring_dependence(timeline, fitted.curve.median(), rows.weight[fitted.rows])


def _why_common(estimator: Any, rows: FitRows, n_censored: int) -> str | None:
    """Return why one curve is used for all rows, or None if that is to be found out."""
    if isinstance(estimator, str):
        if estimator != KAPLAN_MEIER:
            raise ValueError(
                f"censoring_estimator must be None, {KAPLAN_MEIER!r} or an estimator, got "
                f"{estimator!r}."
            )
        return "Kaplan-Meier censoring curve as given"
    if n_censored < FEWEST_EVENTS:
        return f"Kaplan-Meier censoring curve, since only {n_censored} rows are censored"
    if estimator is None and getattr(rows.X, "ndim", 2) > 2:
        return "Kaplan-Meier censoring curve, since the features are not a table"
    return None


def _default(mirror: bool, rounds: int = _ROUNDS, folds: int = _FOLDS) -> CensoredQuantileRegressor:
    """Return the recommended estimator with the two candidates that are cheapest.

    They find dependence that is linear in the hazard, and dependence of any form.
    """
    side = "left" if mirror else "right"
    candidates = [
        ("cox", CoxQuantileRegressor(censoring=side)),
        ("boosted", BoostedQuantileRegressor(max_iter=rounds, censoring=side)),
    ]
    return CensoredQuantileRegressor(
        candidates=candidates, cv=folds, censoring=side, allow_negative=True
    )


def clipped_share(censoring: CensoringCurves, target: Target, weight: Floats) -> float:
    """Return the share of rows whose inverse weight is the largest that is allowed."""
    chance = censoring.before(target.time)
    total = float(weight.sum())
    clipped = chance <= SMALLEST_CENSORING_CHANCE * (1 + 1e-9)
    return float(weight @ clipped) / total if total else 0.0
