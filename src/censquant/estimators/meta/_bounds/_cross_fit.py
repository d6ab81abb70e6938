"""Curves of rows that their model has not seen, for any estimator."""

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from censquant._engine.training._parallel import stop_if_asked
from censquant._rows._cross_fit import (
    NEVER,
    FitTask,
    Folds,
    cross_fit,
    fixes_splits,
    given_folds,
    make_folds,
)
from censquant._rows._fit_data import FitData, arrangement
from censquant._typing import Floats
from censquant.estimators._adapted import AdaptedModel, adapt
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators.ensemble._pool import Pool
from censquant.estimators.meta._bounds._shift import numbers_of
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import CURVE_QUANTILES
from censquant.survival import Target

LEVELS: Floats = np.array(CURVE_QUANTILES)
_BLOCK_ROWS = 4_096


@dataclass(frozen=True, eq=False)
class FitRows:
    """Rows as a user passed them.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of n rows
    target : Target of n rows
    weight : ndarray of shape (n,)
    groups : ndarray of shape (n,) or None
    """

    X: Any
    target: Target
    weight: Floats
    groups: NDArray[Any] | None

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: NDArray[np.intp]) -> "FitRows":
        """Return some of the rows, in a given order."""
        return FitRows(
            _safe_indexing(self.X, rows),
            self.target.take(rows),
            self.weight[rows],
            None if self.groups is None else self.groups[rows],
        )

    @property
    def equal_weights(self) -> bool:
        """Whether all weights are the same, so that nobody need be told."""
        return bool((self.weight == self.weight[0]).all())


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """A model of all rows, and what models that had not seen them said of rows.

    Parameters
    ----------
    model : BaseQuantileRegressor
    values : ndarray of shape (m, len(LEVELS))
        Quantiles of right-censored times.
    lower : float
        Smallest possible one.
    rows : ndarray of int, shape (m,)
        Which rows they are of; may be none.
    weight : ndarray of shape (m,)
    """

    model: Any
    values: Floats
    lower: float
    rows: NDArray[np.intp]
    weight: Floats

    @property
    def curve(self) -> QuantileCurve:
        """The quantiles as curves."""
        return QuantileCurve.from_predictions(self.values, LEVELS, self.lower)


def base_model(estimator: Any) -> Any:
    """Return an estimator to fit as a quantile regressor; refuse what is none."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(
            f"estimator must be an unfitted estimator, got {estimator!r}: pass an instance, or a "
            "fitted model with cv='prefit'."
        )
    if isinstance(estimator, BaseQuantileRegressor):
        return estimator
    return AdaptedModel(estimator)


def prefitted(estimator: Any) -> BaseQuantileRegressor:
    """Return a fitted model of any library as a quantile regressor."""
    if estimator is None:
        raise ValueError("estimator must be a fitted model for cv='prefit', got None.")
    return adapt(estimator)


def curve_table(model: Any, X: Any, *, mirror: bool) -> tuple[QuantileCurve, Floats]:
    """Return a model's curves of right-censored times on the common levels, and their reach."""
    curve = model.predict_curve(X)
    if not curve.is_whole:
        raise ValueError(
            f"estimator must predict at least two quantiles, got {type(model).__name__} with the "
            f"level {curve.taus[0]:g} alone."
        )
    values = -curve.at(1.0 - LEVELS[::-1])[:, ::-1] if mirror else curve.at(LEVELS)
    bad = int((~np.isfinite(values)).any(axis=1).sum())
    if bad:
        raise ValueError(
            f"estimator must predict finite times, got NaN or infinity from "
            f"{type(model).__name__} in {bad} of {len(values)} rows."
        )
    lower = -np.inf if mirror else curve.lower
    reach = 1.0 - curve.reach if mirror else curve.reach
    return QuantileCurve.from_predictions(values, LEVELS, lower), reach


def cross_fitted(
    estimator: Any,
    rows: FitRows,
    cv: Any,
    seed: np.random.SeedSequence,
    n_jobs: int | None,
    *,
    mirror: bool,
) -> CrossFitted:
    """Fit an estimator to all rows, and to all folds but one to ask about the one left out.

    A pool has done that itself when it is fitted: its answers about held-out rows are used, at the
    cost of one fit.
    """
    if isinstance(estimator, Pool):
        return _pool_fitted(estimator, rows, cv, seed, n_jobs, mirror=mirror)
    numbers = numbers_of(rows.X)
    order, weight = arrangement(rows.weight, numbers, rows.target.time, rows.target.event)
    fold_seed, model_seed = seed.spawn(2)
    fold = _folds(rows, numbers, cv, order, np.random.default_rng(fold_seed))
    arranged = rows.take(order)
    data = FitData(arranged.X, arranged.target, weight, order, arranged.groups, left=mirror)
    n_folds = int(fold.max()) + 1
    tasks = [
        FitTask(
            estimator,
            int(state),
            data,
            np.flatnonzero(fold == place),
            _predict_blocks,
            stands_alone=place == n_folds,  # the fit to all rows
        )
        for place, state in enumerate(model_seed.generate_state(n_folds + 1))
    ]
    *results, final = cross_fit(tasks, n_jobs)
    held = np.flatnonzero(fold != NEVER)
    values = np.empty((len(order), len(LEVELS)))
    lower = 0.0
    for place, result in enumerate(results):
        values[fold == place], low = result.predicted
        lower = min(lower, low)
    return CrossFitted(final.model, values[held], lower, order[held], weight[held])


def _predict_blocks(model: Any, rows: FitData, stopping: threading.Event) -> tuple[Floats, float]:
    """Return quantiles of held-out rows, and the smallest possible one."""
    stop_if_asked(stopping)
    parts = [
        curve_table(model, _safe_indexing(rows.x, part), mirror=rows.left)[0]
        for part in np.array_split(np.arange(len(rows)), -(-len(rows) // _BLOCK_ROWS))
    ]
    return np.concatenate([part.values for part in parts]), parts[0].lower


def _folds(
    rows: FitRows,
    numbers: NDArray[Any],
    cv: Any,
    order: NDArray[np.intp],
    rng: np.random.Generator,
) -> Folds:
    """Return the fold of every row in an order; refuse splits of groups."""
    if not fixes_splits(cv):
        labels = None if rows.groups is None else rows.groups[order]
        return make_folds(cv, numbers[order], rows.target.take(order), labels, rng)
    fold = given_folds(cv, numbers, rows.target, rows.groups, order)
    if rows.groups is not None:
        labels = rows.groups[order]
        for label in np.unique(labels):
            if len(np.unique(fold[labels == label])) > 1:
                raise ValueError(
                    "cv must hold out all rows of a group together, got a split through the group "
                    f"{label!r}: use scikit-learn's GroupKFold, or a number of folds."
                )
    return fold


def _pool_fitted(
    pool: Pool,
    rows: FitRows,
    cv: Any,
    seed: np.random.SeedSequence,
    n_jobs: int | None,
    *,
    mirror: bool,
) -> CrossFitted:
    """Fit a pool, whose answers about held-out rows are ready."""
    model = clone(pool)
    if model.random_state is None:
        model.set_params(random_state=int(seed.generate_state(1)[0]))
    if model.n_jobs is None:
        model.set_params(n_jobs=n_jobs)
    if fixes_splits(cv):
        model.set_params(cv=cv)
    weight = None if rows.equal_weights else rows.weight
    model.fit(rows.X, (rows.target.time, rows.target.event), weight, groups=rows.groups)
    curve, held = model.oof_curve_, model.oof_rows_
    if curve is None or held is None:
        nothing = np.empty(0, dtype=np.intp)
        return CrossFitted(model, np.empty((0, len(LEVELS))), 0.0, nothing, np.empty(0))
    values = -curve.at(1.0 - LEVELS[::-1])[:, ::-1] if mirror else curve.at(LEVELS)
    lower = -np.inf if mirror else curve.lower
    return CrossFitted(model, values, lower, held, rows.weight[held])
