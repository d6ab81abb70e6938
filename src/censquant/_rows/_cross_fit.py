"""Cross-fitting: rows that are held out together, and models that predict them unseen."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from censquant._engine.training._parallel import side_by_side
from censquant._rows._fit_data import FitData, canonical_order
from censquant._validation import check_integer
from censquant.survival import Target

NEVER = -1  # the fold of rows that no split holds out
Folds = NDArray[np.int64]
Predict = Callable[[Any, FitData, threading.Event], Any]
"""What gives the predictions of a model for held-out rows, and stops if an event is set."""


def make_folds(
    cv: Any, x: NDArray[Any], target: Target, groups: Any, rng: np.random.Generator
) -> Folds:
    """Return the fold of every row, counted from 0.

    Rows of one group, and rows that are equal in everything, are held out together: a model that
    has seen one of them has seen the others. Folds have about the same number of units with an
    event and of units without. A fit does not depend on the order of rows, nor on whether a row is
    repeated or weighted. Where fewer units than folds have events there are fewer folds; with
    fewer than two such units there is nothing to compare, and all rows are of fold ``NEVER``.
    """
    if isinstance(cv, list | tuple):
        return folds_of_splits(cv, len(target))
    if fixes_splits(cv):
        return _folds_of_tests(cv.split(x, target.event, groups), len(target), cv)
    n_folds = check_integer("cv", cv, minimum=2)
    unit = _equal_rows(x, target) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_units = int(unit.max()) + 1
    has_event = np.zeros(n_units, dtype=bool)
    has_event[unit[target.event]] = True
    n_folds = min(n_folds, int(has_event.sum()))
    if n_folds < 2:
        return np.full(len(unit), NEVER)
    fold_of_unit = np.empty(n_units, dtype=np.int64)
    place = 0
    for kind in (has_event, ~has_event):
        members = rng.permutation(np.flatnonzero(kind))
        fold_of_unit[members] = (place + np.arange(len(members))) % n_folds
        place += len(members)
    return fold_of_unit[unit]


def fold_rows(cv: Any, data: FitData, rows: FitData, rng: np.random.Generator) -> Folds:
    """Return the fold of each of some ``rows`` of the ``data`` of a user.

    A splitter is given all data in the user's order, since it may go by their places.
    """
    if fixes_splits(cv):
        return given_folds(cv, data.x, data.target, data.groups, rows.source)
    return make_folds(cv, rows.x, rows.target, rows.groups, rng)


def _equal_rows(x: NDArray[Any], target: Target) -> NDArray[np.intp]:
    """Return a number for each row that equal rows share, independent of their order."""
    order = canonical_order(x, *target.columns)
    flat = x.reshape(len(x), -1)[order]
    # Equal rows have equal hashes, so they are neighbours.
    is_new = (flat[1:] != flat[:-1]).any(axis=1)
    for column in (each[order] for each in target.columns):
        is_new |= column[1:] != column[:-1]
    unit = np.empty(len(order), dtype=np.intp)
    unit[order] = np.concatenate(([0], np.cumsum(is_new)))
    return unit


def folds_of_splits(splits: Sequence[Any], n_rows: int) -> Folds:
    """Return the fold of every row by pairs of rows to train on and rows to hold out."""
    return _folds_of_tests(splits, n_rows, "splits")


def fixes_splits(cv: Any) -> bool:
    """Whether ``cv`` fixes the splits, not only their number."""
    return isinstance(cv, list | tuple) or (hasattr(cv, "split") and not isinstance(cv, str))


def given_folds(
    cv: Any, x: NDArray[Any], target: Target, groups: Any, used: NDArray[np.intp]
) -> Folds:
    """Return the folds that a splitter or pairs give the rows in use; tests must not overlap.

    They are of all rows in the user's order, since a splitter may go by their places.
    """
    fold = make_folds(cv, x, target, groups, np.random.default_rng(0))[used]
    held = fold != NEVER
    fold[held] = np.unique(fold[held], return_inverse=True)[1]  # some may have no row in use
    return fold


def _folds_of_tests(splits: Iterable[Any], n_rows: int, cv: Any) -> Folds:
    fold = np.full(n_rows, NEVER)
    for place, (_, test) in enumerate(splits):
        held_out = np.asarray(test, dtype=np.intp)
        if (fold[held_out] != NEVER).any():
            raise ValueError(
                f"cv must hold out each row at most once, got {cv!r}, whose test rows overlap."
            )
        fold[held_out] = place
    return fold


@dataclass(eq=False)
class FitTask:
    """Fits a copy of an estimator to all rows but some and predicts these, in a worker thread."""

    estimator: Any  # unfitted
    seed: int  # for parameters ``random_state`` that are None
    rows: FitData
    held_out: NDArray[np.intp]  # places of the rows to predict; may be empty
    predict: Predict
    tolerated: tuple[type[Exception], ...] = ()  # kept as a failure, not raised
    n_jobs: int | None = 1  # threads of the fit itself
    keep_model: bool = True  # or its predictions only
    stands_alone: bool = False  # whether the model has its own follow-up, tails and warnings
    # Of an estimator that cross-fits itself: fits the copy and predicts the rows held out by folds.
    fit_folds: Callable[[Any], Any] | None = None
    on_done: Callable[[], None] | None = None
    began: float | None = None
    ended: float | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows of the fit."""
        return len(self.rows) - len(self.held_out)

    def __call__(self, stopping: threading.Event) -> "FitResult":
        self.began = time.perf_counter()
        model = _copy_with_seed(self.estimator, self.seed, self.n_jobs)
        if not self.stands_alone:
            depend_on_ensemble(model)
            for part in _regressors_in(model):
                part._stopping = stopping
        result = FitResult(model)
        try:
            if self.fit_folds is not None:
                result.predicted = self.fit_folds(model)
            else:
                self._fit(model)
                if len(self.held_out):
                    result.predicted = self.predict(model, self.rows.take(self.held_out), stopping)
        except self.tolerated as error:
            result.failure = str(error)
        if not self.stands_alone:
            # An event can be neither copied nor stored.
            for part in _regressors_in(model):
                del part._stopping
        if not self.keep_model:
            result.model = None
        self.ended = time.perf_counter()
        result.seconds = self.ended - self.began
        if self.on_done is not None:
            self.on_done()
        return result

    def _fit(self, model: Any) -> None:
        """Fit a model to the rows that are not held out."""
        is_train = np.ones(len(self.rows), dtype=bool)
        is_train[self.held_out] = False
        train = self.rows.take(np.flatnonzero(is_train))
        options = {}
        if not self.rows.equal_weights:
            options = {getattr(model, "_weight_argument", "sample_weight"): train.weight}
        model.fit(train.x, train.target.for_fit, **options)


@dataclass(eq=False)
class FitResult:
    """A fitted model, if it is needed, and its predictions for the rows that were held out."""

    model: Any
    predicted: Any = None
    failure: str | None = None
    seconds: float = 0.0


def cross_fit(
    tasks: Sequence[FitTask], n_jobs: int | None, stopping: threading.Event | None = None
) -> list[FitResult]:
    """Run fits in threads and return their results in order; Ctrl-C stops them all.

    ``stopping`` is the event of an ensemble around this one.
    """
    if not tasks:
        return []
    return side_by_side(tasks, n_jobs, on_interrupt="raise", stopping=stopping)


def _copy_with_seed(estimator: Any, seed: int, n_jobs: int | None) -> Any:
    """Return an unfitted copy with a seed wherever it has none, and so many threads."""
    model = copy_with_seed(estimator, seed)
    for name in model.get_params():
        if name.rpartition("__")[2] == "n_jobs":
            model.set_params(**{name: n_jobs})
    return model


def copy_with_seed(estimator: Any, seed: int) -> Any:
    """Return an unfitted copy with a seed wherever it has none."""
    model = clone(estimator)
    for name, value in model.get_params().items():
        if name.rpartition("__")[2] == "random_state" and value is None:
            model.set_params(**{name: seed})
    return model


def depend_on_ensemble(model: Any) -> None:
    """Leave follow-up, tails and warnings of a member to the ensemble."""
    for part in _regressors_in(model):
        part._stands_alone = False


def _regressors_in(model: Any) -> list[Any]:
    """Return the model and the quantile regressors inside it, as in a pipeline."""
    inner = [part for part in model.get_params().values() if hasattr(part, "predict_curve")]
    return [model, *inner]
