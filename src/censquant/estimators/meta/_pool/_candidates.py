"""Candidates of a pool: fitted to some rows, asked about others."""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from censquant._engine.training import stop_if_asked
from censquant._typing import Floats
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators.meta._adapted import AdaptedModel
from censquant.exceptions import TrainingDivergedError
from censquant.quantiles._grid import CURVE_QUANTILES
from censquant.survival import Target

LEVELS: Floats = np.array(CURVE_QUANTILES)
"""Levels at which candidates are read and pooled."""

_BLOCK_ROWS = 4_096
_FAILURES = (TrainingDivergedError, FloatingPointError, np.linalg.LinAlgError)


@dataclass(frozen=True, eq=False)
class Answer:
    """What a fitted candidate says of some rows, in the units of a right-censored time.

    Parameters
    ----------
    values : ndarray of shape (n, len(LEVELS))
        Quantiles.
    end : tuple of ndarray of shape (n,), or None
        Time and level past which the candidate has no data of its own; None if it never ends.
    """

    values: NDArray[Any]
    end: tuple[Floats, Floats] | None


def ask(models: list[Any], x: NDArray[Any], *, mirror: bool) -> Answer:
    """Return the mean of the models' quantiles; ``mirror`` turns left-censored times around."""
    parts = [_ask_one(model, x, mirror=mirror) for model in models]
    if len(parts) == 1:
        return parts[0]
    ends = [part.end for part in parts if part.end is not None]
    end = None
    if ends:
        times, levels = zip(*ends, strict=True)
        end = (np.mean(times, axis=0), np.mean(levels, axis=0))
    return Answer(np.mean([part.values for part in parts], axis=0), end)


def _ask_one(model: Any, x: NDArray[Any], *, mirror: bool) -> Answer:
    if hasattr(model, "_quantiles_and_end"):
        return Answer(*model._quantiles_and_end(np.asarray(x, dtype=np.float64), LEVELS))
    curve = model.predict_curve(x)
    if mirror:
        return Answer(-curve.at(1.0 - LEVELS[::-1])[:, ::-1], None)
    end = None
    if isinstance(model, AdaptedModel):  # whose curves end where its survival functions do
        level = np.clip(curve.reach, LEVELS[0], 1.0 - 1e-9)
        end = (curve.at_each(level[:, None])[:, 0], level)
    return Answer(curve.at(LEVELS), end)


def ends_with_its_data(model: Any) -> bool:
    """Whether a candidate says where its data end, so that others must continue it."""
    return hasattr(model, "_quantiles_and_end") or isinstance(model, AdaptedModel)


def is_refitted(estimator: Any) -> bool:
    """Whether a candidate is fitted again to all rows, or the models of the folds are kept.

    The mean of networks of the folds is as good as one network of all rows and costs nothing;
    other models are smaller and better when they are fitted again.
    """
    return not hasattr(estimator, "max_steps") and not hasattr(estimator, "max_epochs")


def ask_in_blocks(models: list[Any], x: NDArray[Any], *, mirror: bool, unit: float) -> Answer:
    """Return what :func:`ask` does with bounded memory, in single precision.

    Quantiles are multiples of ``unit``, so that another unit of time rounds them the same way.
    """
    values, ends = np.empty((len(x), len(LEVELS)), np.float32), []
    for start in range(0, len(x), _BLOCK_ROWS):
        stop_if_asked(getattr(models[0], "_stopping", None))
        part = ask(models, x[start : start + _BLOCK_ROWS], mirror=mirror)
        values[start : start + _BLOCK_ROWS] = part.values / unit
        ends += [] if part.end is None else [part.end]
    joined = tuple(np.concatenate(column) for column in zip(*ends, strict=True)) if ends else None
    return Answer(values, joined)  # type: ignore[arg-type]


@dataclass(eq=False)
class FitTask:
    """The fit of one candidate to some rows and its answers about others, to be run in a thread.

    Parameters
    ----------
    estimator : BaseQuantileRegressor
        Fitted as a copy.
    seed : int
    x, target, weight
        Of all rows; ``weight`` is None where all weights are equal.
    train : ndarray of bool, shape (n,), or slice
        Rows to fit.
    test : ndarray of int
        Rows to ask about; may be empty.
    mirror : bool
        Whether times are left-censored.
    unit : float
        Of the quantiles in the answers, and of densities in likelihoods.
    keep_model : bool
        Whether the fitted model is wanted, or its answers alone.
    n_jobs : int or None
        Threads of the fit itself.
    """

    estimator: Any
    seed: int
    x: NDArray[Any]
    target: Target
    weight: Floats | None
    train: Any
    test: NDArray[np.intp]
    mirror: bool
    unit: float
    keep_model: bool = True
    n_jobs: int | None = 1
    on_done: Any = None
    began: float | None = None
    ended: float | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows that are fitted."""
        whole = isinstance(self.train, slice)
        return len(self.x) if whole else int(np.count_nonzero(self.train))

    def __call__(self, stopping: threading.Event) -> "FitResult":
        self.began = began = time.perf_counter()
        model = prepared_copy(self.estimator, self.seed, stopping, self.n_jobs)
        result = FitResult(model)
        options = {}
        if self.weight is not None:
            options = {weight_argument(model): self.weight[self.train]}
        rows = self.target.take(self.train)
        try:
            model.fit(self.x[self.train], (rows.time, rows.event), **options)
            if len(self.test):
                asked = self.x[self.test]
                result.answer = ask_in_blocks([model], asked, mirror=self.mirror, unit=self.unit)
                if hasattr(model, "log_likelihood"):
                    held_out = self.target.take(self.test)
                    stated = model.log_likelihood(asked, (held_out.time, held_out.event))
                    result.log_likelihood = stated + held_out.event * np.log(self.unit)
        except _FAILURES as error:
            result.failure = str(error)
        release(model)
        if not self.keep_model:
            result.model = None
        self.ended = time.perf_counter()
        result.seconds = self.ended - began
        if self.on_done is not None:
            self.on_done()
        return result


@dataclass(eq=False)
class FitResult:
    """A fitted candidate, if it is wanted, and what it said of the rows that it had not seen."""

    model: Any
    answer: Answer | None = None
    log_likelihood: Floats | None = None
    failure: str | None = None
    seconds: float = field(default=0.0)


def prepared_copy(
    estimator: Any, seed: int, stopping: threading.Event, n_jobs: int | None = 1
) -> Any:
    """Return an unfitted copy that leaves follow-up, threads, warnings and Ctrl-C to the pool."""
    model = clone(estimator)
    for name, value in model.get_params().items():
        parameter = name.rpartition("__")[2]
        if parameter == "random_state" and value is None:
            model.set_params(**{name: seed})
        elif parameter == "n_jobs":
            model.set_params(**{name: n_jobs})
    depends_on_pool(model)
    for part in _regressors_in(model):
        part._stopping = stopping
    return model


def depends_on_pool(model: Any) -> None:
    """Leave follow-up, tails and warnings of a candidate to the pool."""
    for part in _regressors_in(model):
        part._stands_alone = False


def release(model: Any) -> None:
    """Take back what :func:`prepared_copy` lent: an event can be neither copied nor stored."""
    for part in _regressors_in(model):
        del part._stopping


def _regressors_in(model: Any) -> list[Any]:
    """Return the model and what is fitted inside it, as in a pipeline."""
    return [
        model,
        *(p for p in model.get_params().values() if isinstance(p, BaseQuantileRegressor)),
    ]


def weight_argument(model: Any) -> str:
    """Return the name under which a model's ``fit`` takes weights."""
    inner = getattr(model, "model", None) if isinstance(model, AdaptedModel) else model
    steps = getattr(inner, "steps", None)
    return f"{steps[-1][0]}__sample_weight" if steps else "sample_weight"
