"""A cell of a table: one method on one data set, fitted and scored under several seeds."""

import contextlib
import inspect
import math
import platform
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine.training._loop import Run
from censquant._engine.training._parallel import side_by_side
from censquant._version import __version__
from censquant.estimators import NeuralRegressor
from censquant_bench._conventions import RunConventions
from censquant_bench._datasets import BenchmarkDataset, TrainTestData
from censquant_bench._methods import BenchmarkMethod
from censquant_bench._score import Answer, judged_levels, scores
from censquant_bench.metrics import true_quantile_mse


class QuantileTrace:
    """Callback that records the error against the true quantiles after every epoch.

    For fits in the unit of the data: ``standardize=False, time_transform=None``.

    Parameters
    ----------
    data : TrainTestData
        With true quantiles.
    taus : ndarray of shape (k,)
        Levels that are fitted.
    """

    def __init__(self, data: TrainTestData, taus: NDArray[np.float64]) -> None:
        if data.true_quantiles is None or data.X_known is None:
            raise ValueError("A trace needs a data set with known quantiles, a synthetic one.")
        self._judged = judged_levels(taus)
        self._taus = taus
        self._X: NDArray[Any] = data.X_known
        self._true = data.true_quantiles(taus[self._judged])
        self.errors: list[float] = []

    def on_start(self, run: Run) -> None:
        """There is nothing to record yet."""

    def on_epoch(self, run: Run) -> None:
        """Predict and compare."""
        values = run.objective.quantiles(run.network.predict(self._X), self._taus)
        self.errors.append(true_quantile_mse(values[:, self._judged], self._true))

    def on_end(self, run: Run) -> None:
        """Everything is recorded."""


@contextmanager
def noticed_interrupts() -> Iterator[threading.Event]:
    """Set an event when Ctrl-C comes, and raise it again at the end of the block.

    Estimators keep what they learned when they are interrupted, which is right for a user and
    wrong for a table.
    """
    came = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield came  # signals reach the main thread alone
        return
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        yield came  # started with nohup or in the background of a script: it stays ignored
        return

    def notice(number: int, frame: FrameType | None) -> None:
        came.set()
        (before if callable(before) else signal.default_int_handler)(number, frame)

    signal.signal(signal.SIGINT, notice)
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)
    if came.is_set():
        raise KeyboardInterrupt


Row = dict[str, Any]
Key = tuple[str, ...]

KEY_COLUMNS = ("suite", "dataset", "method", "split", "variant", "seed")
"""Columns that name a row: no two rows of a results file have all of them in common."""

FIRST_SEED = 111
"""Seed of the first run, as in the paper."""

_WARM_UP_ROWS = 256

# Held while code runs that uses what belongs to the whole process, such as a global generator.
_WHOLE_PROCESS = threading.Lock()


class DataUnavailableError(Exception):
    """A data set of the table is not available; the reason says why."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(frozen=True, eq=False)
class BenchmarkCell:
    """One method on one data set.

    Parameters
    ----------
    suite : str
        Name of the experiment.
    dataset : BenchmarkDataset
        Where the rows come from.
    method : BenchmarkMethod
        What is fitted.
    split : {"random", "grouped"}
        How rows are divided.
    variant : str, default ""
        What is special about the method's parameters here.
    options : mapping
        Those parameters.
    n_train : int, optional
        Number of training rows, where it is not the usual one.
    seeds : tuple of int
        Runs that the cell should have.
    traced : bool, default False
        Whether the error on rows with known quantiles is recorded after every epoch.
    conventions : RunConventions, optional
        What the experiment does around each fit.

    Examples
    --------
    >>> from censquant_bench import BenchmarkCell, get_dataset, get_method
    >>> BenchmarkCell("main", get_dataset("gbsg"), get_method("cqrnn")).key(111)
    ('main', 'gbsg', 'cqrnn', 'random', '', '111')
    """

    suite: str
    dataset: BenchmarkDataset
    method: BenchmarkMethod
    split: str = "random"
    variant: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    n_train: int | None = None
    seeds: tuple[int, ...] = (FIRST_SEED,)
    traced: bool = False
    conventions: RunConventions = field(default_factory=RunConventions)

    def key(self, seed: int) -> Key:
        """Return the values of `KEY_COLUMNS` as text."""
        names = (self.suite, self.dataset.name, self.method.name, self.split, self.variant)
        return (*names, str(seed))

    @property
    def fingerprint(self) -> str:
        """What a user's own data and estimator are, beyond their names."""
        parts = self.dataset.fingerprint, self.method.fingerprint
        return "/".join(parts) if any(parts) else ""

    @property
    def threadsafe(self) -> bool:
        """Whether fits may share a process; torch's generator, for one, exists only once."""
        return self.method.threadsafe and not self.dataset.heavy

    def train_test(self, seed: int) -> TrainTestData:
        """Return what a run sees."""
        try:
            return self.dataset.train_test(seed, self.split, self.n_train)
        except (OSError, ValueError, ImportError) as error:
            if self.dataset.kind == "own":
                raise
            raise DataUnavailableError(error) from error


def run_cell(
    cell: BenchmarkCell, seeds: Sequence[int], *, n_threads: int = 1, n_workers: int = 1
) -> list[Row]:
    """Fit the method under each seed, side by side in threads, and return one row per seed.

    Parameters
    ----------
    cell : BenchmarkCell
        What to fit.
    seeds : sequence of int
        Runs that are still missing.
    n_threads : int, default 1
        Simultaneous fits, if the cell is threadsafe: compiled kernels release the interpreter.
    n_workers : int, default 1
        Processes that run cells meanwhile, this one included.

    Raises
    ------
    DataUnavailableError
        If files of the data set are missing or damaged; no row is made up for that.
    KeyboardInterrupt
        If it came while fits were running: none of them is kept.
    """
    data = {seed: cell.train_test(seed) for seed in seeds}
    _warm_up(cell, data[seeds[0]])
    with warnings.catch_warnings(), noticed_interrupts() as interrupted:
        # What censoring hides is part of the experiment; ten runs need not warn ten times.
        warnings.simplefilter("ignore")
        tasks = [_fit_task(cell, seed, data[seed], interrupted) for seed in seeds]
        start = time.perf_counter()
        fits = side_by_side(tasks, n_threads if cell.threadsafe else 1)
        together = time.perf_counter() - start
    # So many fits ran at a time, by the clock: three of them on two threads are not two.
    n_slots = n_workers * float(np.nansum([fit.seconds for fit in fits])) / together
    plain = cell.conventions.plain_step_seconds(fits[0].model, data[seeds[0]])
    return [
        {
            **dict(zip(KEY_COLUMNS, (*cell.key(seed)[:-1], seed), strict=True)),
            "fingerprint": cell.fingerprint,
            **_described(data[seed], fit),
            **_scored(cell, data[seed], fit),
            "plain_step_seconds": plain,
            "n_slots": n_slots,
            "censquant": __version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        }
        for seed, fit in zip(seeds, fits, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _Fit:
    model: Any
    taus: NDArray[np.float64]
    n_rows: int
    seconds: float
    trace: QuantileTrace | None
    error: str = ""


def training_rows(
    method: BenchmarkMethod, data: TrainTestData, X: Any = None
) -> tuple[Any, NDArray[np.void]]:
    """Return the rows that a method is fitted on, with features in another form if given."""
    X, y = data.X if X is None else X, data.y
    if method.positive_times and (y["time"] <= 0).any():
        kept = y["time"] > 0
        return X[kept], y[kept]
    return X, y


def _warm_up(cell: BenchmarkCell, data: TrainTestData) -> None:
    """Load what is compiled before anything is timed."""
    if cell.dataset.heavy or not cell.conventions.warm_up:
        return
    model = cell.method.build(cell.dataset, {**cell.options, "max_epochs": 1}, FIRST_SEED)
    X, y = training_rows(cell.method, data, _as_given(cell, model, data)[0])
    chosen = np.zeros(len(y), dtype=bool)
    chosen[np.argsort(~y["event"], kind="stable")[:_WARM_UP_ROWS]] = True
    X = X[chosen]
    with warnings.catch_warnings(), contextlib.suppress(Exception), _alone_if_needed(cell):
        # An error here will be raised again by the fit itself, whose row records it.
        warnings.simplefilter("ignore")
        model.fit(X, y[chosen])
        model.predict_quantiles(X, _levels(cell))


def _fit_task(
    cell: BenchmarkCell, seed: int, data: TrainTestData, interrupted: threading.Event
) -> Callable[[threading.Event], _Fit]:
    """Return a fit that is ready to start: nothing but it is timed."""
    model = cell.method.build(cell.dataset, cell.options, seed)
    X, y = training_rows(cell.method, data, _as_given(cell, model, data)[0])
    cell.conventions.prepare(model, cell, y)
    taus = _levels(cell)
    trace = QuantileTrace(data, taus) if cell.traced else None
    extra: dict[str, Any] = {} if trace is None else {"callbacks": [trace]}
    if data.groups is not None and "groups" in inspect.signature(model.fit).parameters:
        extra["groups"] = data.groups
    if cell.method.knows_censoring:
        extra["censoring_time"] = data.censoring_time

    def task(stopping: threading.Event) -> _Fit:
        if interrupted.is_set():
            raise KeyboardInterrupt
        with _alone_if_needed(cell):
            start = time.perf_counter()
            try:
                model.fit(X, y, **extra)
            except Exception as error:
                # One method that fails on one set must not end hours of runs: its row says why.
                return _Fit(model, taus, len(y), math.nan, trace, _reason(error))
            return _Fit(model, taus, len(y), time.perf_counter() - start, trace)

    return task


def _as_given(cell: BenchmarkCell, model: Any, data: TrainTestData) -> tuple[Any, Any]:
    """Return training and test features: a frame where the model asks for names or categories."""
    if data.frames is not None and _takes_categories(model):
        return data.frames
    if cell.method.own:  # may ask for the names of the columns
        return data.named(data.X), data.named(data.X_test)
    return data.X, data.X_test


def _takes_categories(model: Any) -> bool:
    tags = getattr(model, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.categorical)


def _levels(cell: BenchmarkCell) -> NDArray[np.float64]:
    return np.asarray(cell.options.get("quantiles", cell.dataset.taus), dtype=np.float64)


def _alone_if_needed(cell: BenchmarkCell) -> contextlib.AbstractContextManager[Any]:
    return contextlib.nullcontext() if cell.threadsafe else _WHOLE_PROCESS


def _described(data: TrainTestData, fit: _Fit) -> Row:
    return {
        "n_train": fit.n_rows,
        "n_test": len(data.y_test),
        "n_features": int(np.prod(data.X.shape[1:])),
        "n_levels": len(fit.taus),
        "censored_share": data.censored_share,
        "fit_seconds": fit.seconds,
        "n_parameters": math.nan if fit.error else _n_parameters(fit.model),
        "n_steps": math.nan if fit.error else _n_steps(fit.model, fit.n_rows),
        "error": fit.error,
    }


def _n_parameters(model: Any) -> float:
    """Return the number of trained weights; not a number for models that are no networks."""
    if not isinstance(model, NeuralRegressor):
        return math.nan
    return float(sum(member.n_parameters for member in model.models_))


def _n_steps(model: Any, n_rows: int) -> float:
    """Return the number of optimiser steps of all members and levels."""
    if not isinstance(model, NeuralRegressor):
        return math.nan
    return float(len(model.history_) * math.ceil(n_rows / model.batch_size))


def _scored(cell: BenchmarkCell, data: TrainTestData, fit: _Fit) -> Row:
    if fit.error:
        return {}
    try:
        with warnings.catch_warnings(), _alone_if_needed(cell):
            # Predictions past the last follow-up are scored too.
            warnings.simplefilter("ignore")
            X_test = _as_given(cell, fit.model, data)[1]
            usual = cell.conventions.usual_scores
            row, answers = _answers(data, fit, X_test) if usual else ({}, None)
            row |= cell.conventions.more_scores(fit.model, X_test, data)
        if answers is not None:
            row |= scores(data, fit.taus, *answers)
    except Exception as error:  # as for a fit that fails
        return {"error": _reason(error)}
    if fit.trace is not None:
        row |= {"trace_loss": [record["loss"] for record in fit.model.history_]}
        row |= {"trace_tqmse": fit.trace.errors}
    return row


def _answers(
    data: TrainTestData, fit: _Fit, X_test: Any
) -> tuple[Row, tuple[Answer, Answer | None]]:
    """Return how long the predictions of the test rows took, and all that the scores need."""
    start = time.perf_counter()
    test = _ordered(fit, X_test)
    row: Row = {"predict_seconds": time.perf_counter() - start}
    of_test = _sorted_and_raw(fit, X_test, test)
    of_known, X_known = None, data.X_known
    if X_known is data.X_test:
        of_known = of_test
    elif X_known is not None:
        of_known = _sorted_and_raw(fit, X_known, _ordered(fit, X_known))
    return row, (of_test, of_known)


def _ordered(fit: _Fit, X: NDArray[Any]) -> NDArray[np.float64]:
    found = np.asarray(fit.model.predict_quantiles(X, fit.taus), dtype=np.float64)
    if found.shape != (len(X), len(fit.taus)):
        raise ValueError(
            f"predict_quantiles must return shape {(len(X), len(fit.taus))}, got {found.shape}."
        )
    return np.sort(found, axis=1)


def _sorted_and_raw(fit: _Fit, X: NDArray[Any], ordered: NDArray[np.float64]) -> Answer:
    """Return predictions in order, and as the networks gave them where they are of these levels."""
    model = fit.model
    if isinstance(model, NeuralRegressor) and np.array_equal(model.quantiles_, fit.taus):
        return Answer(ordered, model.raw_quantiles(X))
    return Answer(ordered, ordered)


def _reason(error: Exception) -> str:
    """Return why a run failed, in one line."""
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}"
