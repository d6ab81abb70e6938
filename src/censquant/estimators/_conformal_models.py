"""Models behind conformal bounds: events and censoring, each predicted for rows held out."""

import threading
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from censquant._calibration._censoring import (
    CensoringCurves,
    CommonCensoring,
    ModelledCensoring,
)
from censquant._calibration._dependence import DEPENDENT
from censquant._calibration._family import LEVELS
from censquant._calibration._rules import FEWEST_EVENTS
from censquant._engine.training._parallel import stop_if_asked
from censquant._rows._censoring import censoring_p_value
from censquant._rows._cross_fit import NEVER, FitTask, Folds, cross_fit, fixes_splits, fold_rows
from censquant._rows._features import dense
from censquant._rows._fit_data import FitData
from censquant._typing import Floats
from censquant.estimators._adapted import AdaptedModel
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators._boosted import BoostedQuantileRegressor
from censquant.estimators._cox import CoxQuantileRegressor
from censquant.estimators.ensemble._pool import Pool
from censquant.estimators.ensemble._recommended import CensoredQuantileRegressor
from censquant.exceptions import CalibrationWarning, FeatureWarning, FewEventsWarning
from censquant.quantiles import QuantileCurve
from censquant.survival import KaplanMeier, Target, censoring_kaplan_meier
from censquant.survival._kaplan_meier import SMALLEST_CENSORING_CHANCE

_BLOCK_ROWS = 4_096
KAPLAN_MEIER = "kaplan-meier"
_ROUNDS = 150
_FOLDS = 5


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """A model fitted to all rows, with out-of-fold predictions."""

    model: Any
    values: Floats  # quantiles of right-censored times, one column for each of LEVELS
    lower: float  # smallest possible one
    rows: NDArray[np.intp]  # which rows they are of; may be none
    weight: Floats

    @property
    def curve(self) -> QuantileCurve:
        """The quantiles as curves."""
        return QuantileCurve.from_predictions(self.values, LEVELS, self.lower)


def base_model(estimator: Any) -> Any:
    """Return an unfitted estimator as a quantile regressor, or raise."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(
            f"estimator must be an unfitted estimator, got {estimator!r}: pass an instance, or a "
            "fitted model with cv='prefit'."
        )
    if isinstance(estimator, BaseQuantileRegressor):
        return estimator
    return AdaptedModel(estimator)


def curve_table(model: Any, X: Any, *, mirror: bool) -> tuple[QuantileCurve, Floats]:
    """Return curves of right-censored times on the common levels, and their identified levels."""
    curve = model.predict_curve(X)
    if not curve.is_whole:
        raise ValueError(
            f"estimator must predict at least two quantiles, got {type(model).__name__} with the "
            f"level {curve.taus[0]:g} alone."
        )
    values = _values_at_levels(curve, mirror)
    bad = int((~np.isfinite(values)).any(axis=1).sum())
    if bad:
        raise ValueError(
            f"estimator must predict finite times, got NaN or infinity from "
            f"{type(model).__name__} in {bad} of {len(values)} rows."
        )
    lower = -np.inf if mirror else curve.lower
    reach = 1.0 - curve.reach if mirror else curve.reach
    return QuantileCurve.from_predictions(values, LEVELS, lower), reach


def _values_at_levels(curve: QuantileCurve, mirror: bool) -> Floats:
    """Return quantiles of right-censored times, which are negative ones where mirrored."""
    return -curve.at(1.0 - LEVELS[::-1])[:, ::-1] if mirror else curve.at(LEVELS)


def fit_held_out(
    estimator: Any, data: FitData, cv: Any, seed: np.random.SeedSequence, n_jobs: int | None
) -> CrossFitted:
    """Fit an estimator to all rows, and to all folds but one to predict the one left out.

    An ensemble does that itself when it is fitted: its out-of-fold predictions are used, at the
    cost of one fit.
    """
    if isinstance(estimator, Pool):
        return _fit_pool(estimator, data, cv, seed, n_jobs)
    numbers = numbers_of(data.x)
    # The order of rows, and so the fit, does not depend on known censoring times.
    rows = replace(data, censoring_time=None).arranged(numbers)
    fold_seed, model_seed = seed.spawn(2)
    fold = fold_rows(
        cv,
        replace(data, x=numbers),
        replace(rows, x=numbers[rows.source]),
        np.random.default_rng(fold_seed),
    )
    if fixes_splits(cv) and rows.groups is not None:
        _refuse_split_groups(fold, rows.groups)
    n_folds = int(fold.max()) + 1
    tasks = [
        FitTask(
            estimator,
            int(state),
            rows,
            np.flatnonzero(fold == place),
            _predict_blocks,
            stands_alone=place == n_folds,  # the fit to all rows
        )
        for place, state in enumerate(model_seed.generate_state(n_folds + 1))
    ]
    *results, final = cross_fit(tasks, n_jobs)
    held = np.flatnonzero(fold != NEVER)
    values = np.empty((len(rows), len(LEVELS)))
    lower = 0.0
    for place, result in enumerate(results):
        values[fold == place], low = result.predicted
        lower = min(lower, low)
    return CrossFitted(final.model, values[held], lower, rows.source[held], rows.weight[held])


def _predict_blocks(model: Any, rows: FitData, stopping: threading.Event) -> tuple[Floats, float]:
    """Return quantiles of held-out rows, and the smallest possible one."""
    stop_if_asked(stopping)
    parts = [
        curve_table(model, _safe_indexing(rows.x, part), mirror=rows.left)[0]
        for part in np.array_split(np.arange(len(rows)), -(-len(rows) // _BLOCK_ROWS))
    ]
    return np.concatenate([part.values for part in parts]), parts[0].lower


def _refuse_split_groups(fold: Folds, labels: NDArray[Any]) -> None:
    """Raise if a splitter holds out only some of the rows of a group."""
    for label in np.unique(labels):
        if len(np.unique(fold[labels == label])) > 1:
            raise ValueError(
                "cv must hold out all rows of a group together, got a split through the group "
                f"{label!r}: use scikit-learn's GroupKFold, or a number of folds."
            )


def _fit_pool(
    pool: Pool, data: FitData, cv: Any, seed: np.random.SeedSequence, n_jobs: int | None
) -> CrossFitted:
    """Fit an ensemble, which predicts held-out rows itself."""
    model = clone(pool)
    if model.random_state is None:
        model.set_params(random_state=int(seed.generate_state(1)[0]))
    if model.n_jobs is None:
        model.set_params(n_jobs=n_jobs)
    if fixes_splits(cv):
        model.set_params(cv=cv)
    weight = None if data.equal_weights else data.weight
    model.fit(data.x, (data.target.time, data.target.event), weight, groups=data.groups)
    curve, held = model.oof_curve_, model.oof_rows_
    if curve is None or held is None:
        nothing = np.empty(0, dtype=np.intp)
        return CrossFitted(model, np.empty((0, len(LEVELS))), 0.0, nothing, np.empty(0))
    lower = -np.inf if data.left else curve.lower
    return CrossFitted(model, _values_at_levels(curve, data.left), lower, held, data.weight[held])


@dataclass(frozen=True, eq=False)
class CensoringModel:
    """The distribution of the censoring time: a Kaplan-Meier curve, or a fitted model."""

    reason: str  # why this one, in words
    p_value: float | None = None  # of the test that censoring does not depend on the features
    curve: KaplanMeier | None = None  # of all rows, where there is no model
    model: Any = None  # of the censoring times given the features

    def curves(self, X: Any, n_rows: int, *, mirror: bool) -> CensoringCurves:
        """Return the distributions of the censoring times of new rows."""
        if self.curve is not None:
            return CommonCensoring(self.curve, n_rows)
        return ModelledCensoring(curve_table(self.model, X, mirror=mirror)[0])


def fit_censoring(
    estimator: Any, data: FitData, seed: np.random.SeedSequence, n_jobs: int | None
) -> tuple[CensoringModel, CensoringCurves]:
    """Return a model of the censoring time, and its predictions for rows it has not seen."""
    timeline = data.timeline
    common = censoring_kaplan_meier(timeline.time, timeline.event, data.weight)
    n_censored = int(np.count_nonzero(~timeline.event[data.weight > 0]))
    simple = _why_common(estimator, data, n_censored)
    if simple is not None:
        return CensoringModel(simple, curve=common), CommonCensoring(common, len(data))
    flipped = replace(data, target=Target(data.target.time, ~data.target.event))
    with warnings.catch_warnings():
        # The event model has warned of the features already.
        for category in (CalibrationWarning, FeatureWarning, FewEventsWarning):
            warnings.simplefilter("ignore", category)
        p_value, reason = None, "censoring model as given"
        if estimator is None:
            tested = censoring_p_value(data.x, data.timeline, data.weight)
            p_value = 1.0 if tested is None else tested
            if p_value >= DEPENDENT:
                reason = (
                    "Kaplan-Meier censoring curve, since nothing shows that censoring depends on "
                    f"the features (p = {p_value:.2g})"
                )
                model = CensoringModel(reason, p_value, curve=common)
                return model, CommonCensoring(common, len(data))
            reason = f"modelled censoring, since it depends on the features (p = {p_value:.2g})"
        chosen = _default_model(data.left) if estimator is None else base_model(estimator)
        fitted = fit_held_out(chosen, flipped, _FOLDS, seed, n_jobs)
    values = np.empty((len(data), len(LEVELS)))
    values[fitted.rows] = fitted.values
    left_out = np.setdiff1d(np.arange(len(data)), fitted.rows)
    if len(left_out):  # more rows than an ensemble compares its candidates on
        rest = data.take(left_out).x
        values[left_out] = curve_table(fitted.model, rest, mirror=data.left)[0].values
    curve = QuantileCurve.from_predictions(values, LEVELS, fitted.lower)
    return CensoringModel(reason, p_value, model=fitted.model), ModelledCensoring(curve)


def _why_common(estimator: Any, data: FitData, n_censored: int) -> str | None:
    """Return why one curve is used for all rows, or None if a test decides."""
    if isinstance(estimator, str):
        if estimator != KAPLAN_MEIER:
            raise ValueError(
                f"censoring_estimator must be None, {KAPLAN_MEIER!r} or an estimator, got "
                f"{estimator!r}."
            )
        return "Kaplan-Meier censoring curve as given"
    if n_censored < FEWEST_EVENTS:
        return f"Kaplan-Meier censoring curve, since only {n_censored} rows are censored"
    if estimator is None and getattr(data.x, "ndim", 2) > 2:
        return "Kaplan-Meier censoring curve, since the features are not a table"
    return None


def _default_model(mirror: bool) -> CensoredQuantileRegressor:
    """Return the recommended estimator with the two candidates that are cheapest.

    They find dependence that is linear in the hazard, and dependence of any form.
    """
    side = "left" if mirror else "right"
    candidates = [
        ("cox", CoxQuantileRegressor(censoring=side)),
        ("boosted", BoostedQuantileRegressor(max_iter=_ROUNDS, censoring=side)),
    ]
    return CensoredQuantileRegressor(
        candidates=candidates, cv=_FOLDS, censoring=side, allow_negative=True
    )


def clipped_share(censoring: CensoringCurves, target: Target, weight: Floats) -> float:
    """Return the share of rows whose inverse weight is the largest that is allowed."""
    chance = censoring.before(target.time)
    total = float(weight.sum())
    clipped = chance <= SMALLEST_CENSORING_CHANCE * (1 + 1e-9)
    return float(weight @ clipped) / total if total else 0.0


@dataclass(frozen=True)
class ShiftTest:
    """Comparison of the features of calibration rows with those of training rows."""

    p_value: float  # of the feature that differs most, times the number of features
    feature: str  # its name


def numbers_of(X: Any) -> NDArray[np.float64]:
    """Return rows as numbers: text and categories as codes."""
    if not hasattr(X, "columns"):
        array = dense(X) if hasattr(X, "toarray") else np.asarray(X)
        if array.dtype.kind in "biuf":
            return np.asarray(array, dtype=np.float64)
        table = np.asarray(array, dtype=object)
        columns = list(table.reshape(len(table), -1).T)
    else:
        columns = [np.asarray(X[name], dtype=object) for name in X.columns]
    return np.column_stack([_codes(column) for column in columns])


def _codes(column: NDArray[Any]) -> Floats:
    """Return numbers as they are, and anything else by the order of its text."""
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        text = np.array([str(value) for value in column])
        return np.unique(text, return_inverse=True)[1].astype(np.float64)


def shift_between(train: Floats, calibration: Floats, names: list[str]) -> ShiftTest | None:
    """Compare two samples, feature by feature; None if they cannot be compared.

    Every feature has a two-sample Kolmogorov-Smirnov test, corrected for their number.
    """
    from scipy.stats import ks_2samp

    if train.ndim != 2 or train.shape[1:] != calibration.shape[1:] or not len(calibration):
        return None
    p_values = []
    for old, new in zip(train.T, calibration.T, strict=True):
        old, new = old[np.isfinite(old)], new[np.isfinite(new)]
        enough = old.size and new.size
        p_values.append(float(ks_2samp(old, new, method="asymp").pvalue) if enough else 1.0)
    least = int(np.argmin(p_values))
    return ShiftTest(min(1.0, p_values[least] * len(p_values)), names[least])
