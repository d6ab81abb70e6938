"""A cell of a table: one method on one data set, fitted and scored under several seeds."""

import contextlib
import math
import platform
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._version import __version__
from censquant.benchmark._datasets import BenchmarkDataset
from censquant.benchmark._fitted import (
    follow_up_seconds,
    n_parameters,
    n_steps,
    unordered_quantiles,
)
from censquant.benchmark._interrupts import noticed_interrupts
from censquant.benchmark._methods import BenchmarkMethod
from censquant.benchmark._plain_loop import plain_step_seconds
from censquant.benchmark._problem import Problem
from censquant.benchmark._score import Answer, scores
from censquant.benchmark._trace import QuantileTrace
from censquant.training import side_by_side

Row = dict[str, Any]
Key = tuple[str, ...]

KEY_COLUMNS = ("suite", "dataset", "method", "split", "variant", "seed")
"""Columns that name a row: no two rows of a results file have all of them in common."""

FIRST_SEED = 111
"""Seed of the first run, as in the paper."""

_WARM_UP_ROWS = 256
_PAST_LATEST = 1e-6

# Held while code runs that uses what belongs to the whole process, such as a global generator.
_WHOLE_PROCESS = threading.Lock()


class DataUnavailableError(Exception):
    """A data set of the table cannot be had; the reason says why."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(frozen=True, eq=False)
class Cell:
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
        Whether the error on rows with known quantiles is noted after every epoch.

    Examples
    --------
    >>> from censquant.benchmark import Cell, get_dataset, get_method
    >>> Cell("main", get_dataset("gbsg"), get_method("cqrnn")).key(111)
    ('main', 'gbsg', 'cqrnn', 'random', '', '111')
    """

    suite: str
    dataset: BenchmarkDataset
    method: BenchmarkMethod
    split: str = "random"
    variant: str = ""
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    n_train: int | None = None
    seeds: tuple[int, ...] = (FIRST_SEED,)
    traced: bool = False

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
        """Whether fits may share a process; torch's generator, for one, is there only once."""
        return self.method.threadsafe and not self.dataset.heavy

    def problem(self, seed: int) -> Problem:
        """Return what a run sees."""
        try:
            return self.dataset.problem(seed, self.split, self.n_train)
        except (OSError, ValueError, ImportError) as error:
            if self.dataset.kind == "own":
                raise
            raise DataUnavailableError(error) from error


def run_cell(
    cell: Cell, seeds: Sequence[int], *, n_threads: int = 1, n_workers: int = 1
) -> list[Row]:
    """Fit the method under each seed, side by side in threads, and return a row of scores each.

    Parameters
    ----------
    cell : Cell
        What to fit.
    seeds : sequence of int
        Runs that are still missing.
    n_threads : int, default 1
        Fits at a time, if the cell is threadsafe: compiled kernels release the interpreter.
    n_workers : int, default 1
        Processes that run cells meanwhile, this one included.

    Raises
    ------
    DataUnavailableError
        If files of the data set cannot be had or are damaged; no row is made up for that.
    KeyboardInterrupt
        If it came while fits were running: none of them counts.
    """
    latest = _latest_of_first_run(cell)
    problems = {seed: cell.problem(seed) for seed in seeds}
    _warm_up(cell, problems[seeds[0]])
    with warnings.catch_warnings(), noticed_interrupts() as interrupted:
        # What censoring hides is part of the experiment; ten runs need not say it ten times.
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        fits = side_by_side(
            [_fit_task(cell, seed, problems[seed], latest, interrupted) for seed in seeds],
            n_threads if cell.threadsafe else 1,
        )
        together = time.perf_counter() - start
    # So many fits ran at a time, by the clock: three of them on two threads are not two.
    n_slots = n_workers * float(np.nansum([fit.seconds for fit in fits])) / together
    plain = plain_step_seconds(fits[0].model, problems[seeds[0]])
    return [
        {
            **dict(zip(KEY_COLUMNS, (*cell.key(seed)[:-1], seed), strict=True)),
            "fingerprint": cell.fingerprint,
            **_described(problems[seed], fit),
            **_scored(cell, problems[seed], fit),
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


def _latest_of_first_run(cell: Cell) -> float:
    """Return the latest time of the first run: its multiple was the far time of all, as published.

    A user's own data have no such history; not a number leaves each run its own.
    """
    if cell.dataset.kind == "own":
        return math.nan
    return float(cell.problem(FIRST_SEED).y["time"].max())


def _built(cell: Cell, seed: int, y: NDArray[np.void], latest: float) -> Any:
    """Return the estimator of a run; a far time that is a factor becomes a time."""
    model = cell.method.build(cell.dataset, cell.options, seed)
    factor = getattr(model, "y_star", None)
    if isinstance(factor, str) and not math.isnan(latest):
        far = float(factor.removesuffix("max")) * latest
        # No row of this run may lie past it.
        model.set_params(y_star=max(far, (1.0 + _PAST_LATEST) * float(y["time"].max())))
    return model


def training_rows(
    method: BenchmarkMethod, problem: Problem
) -> tuple[NDArray[Any], NDArray[np.void]]:
    """Return the rows that a method is fitted on."""
    X, y = problem.X, problem.y
    if method.positive_times and (y["time"] <= 0).any():
        kept = y["time"] > 0
        return X[kept], y[kept]
    return X, y


def _warm_up(cell: Cell, problem: Problem) -> None:
    """Load what is compiled before anything is timed."""
    if cell.dataset.heavy:
        return
    X, y = training_rows(cell.method, problem)
    chosen = np.sort(np.argsort(~y["event"], kind="stable")[:_WARM_UP_ROWS])
    X = _as_given(cell, problem, X[chosen])
    model = cell.method.build(cell.dataset, {**cell.options, "max_epochs": 1}, FIRST_SEED)
    with warnings.catch_warnings(), contextlib.suppress(Exception), _alone_if_needed(cell):
        # Whatever is wrong will come again in the fit itself, whose row says so.
        warnings.simplefilter("ignore")
        model.fit(X, y[chosen])
        model.predict_quantiles(X, _levels(cell))


def _fit_task(
    cell: Cell, seed: int, problem: Problem, latest: float, interrupted: threading.Event
) -> Callable[[threading.Event], _Fit]:
    def task(stopping: threading.Event) -> _Fit:
        if interrupted.is_set():
            raise KeyboardInterrupt
        X, y = training_rows(cell.method, problem)
        X = _as_given(cell, problem, X)
        model = _built(cell, seed, y, latest)
        taus = _levels(cell)
        trace = QuantileTrace(problem, taus) if cell.traced else None
        extra = {} if trace is None else {"callbacks": [trace]}
        with _alone_if_needed(cell):
            start = time.perf_counter()
            try:
                model.fit(X, y, **extra)
            except Exception as error:
                # One method that fails on one set must not end a run of hours: its row says why.
                return _Fit(model, taus, len(y), math.nan, trace, _reason(error))
            return _Fit(model, taus, len(y), time.perf_counter() - start, trace)

    return task


def _as_given(cell: Cell, problem: Problem, X: NDArray[Any]) -> Any:
    """Return features for the method: a user's own one may ask for the names of the columns."""
    return problem.named(X) if cell.method.own else X


def _levels(cell: Cell) -> NDArray[np.float64]:
    return np.asarray(cell.options.get("quantiles", cell.dataset.taus), dtype=np.float64)


def _alone_if_needed(cell: Cell) -> contextlib.AbstractContextManager[Any]:
    return contextlib.nullcontext() if cell.threadsafe else _WHOLE_PROCESS


def _described(problem: Problem, fit: _Fit) -> Row:
    return {
        "n_train": fit.n_rows,
        "n_test": len(problem.y_test),
        "n_features": int(np.prod(problem.X.shape[1:])),
        "n_levels": len(fit.taus),
        "censored_share": problem.censored_share,
        "fit_seconds": fit.seconds,
        "follow_up_seconds": math.nan if fit.error else follow_up_seconds(fit.model),
        "n_parameters": math.nan if fit.error else n_parameters(fit.model),
        "n_steps": math.nan if fit.error else n_steps(fit.model, fit.n_rows),
        "error": fit.error,
    }


def _scored(cell: Cell, problem: Problem, fit: _Fit) -> Row:
    if fit.error:
        return {}
    try:
        with warnings.catch_warnings(), _alone_if_needed(cell):
            # Scores are taken of what a method says past the last follow-up too.
            warnings.simplefilter("ignore")
            X_test = _as_given(cell, problem, problem.X_test)
            start = time.perf_counter()
            test = _ordered(fit, X_test)
            row: Row = {"predict_seconds": time.perf_counter() - start}
            of_test = _answer(fit, X_test, test)
            of_known, X_known = None, problem.X_known
            if X_known is problem.X_test:
                of_known = of_test
            elif X_known is not None:
                of_known = _answer(fit, X_known, _ordered(fit, X_known))
        row |= scores(problem, fit.taus, of_test, of_known)
    except Exception as error:  # as for a fit that fails
        return {"error": _reason(error)}
    if fit.trace is not None:
        row |= {"trace_loss": [record["loss"] for record in fit.model.history_]}
        row |= {"trace_tqmse": fit.trace.errors}
    return row


def _ordered(fit: _Fit, X: NDArray[Any]) -> NDArray[np.float64]:
    found = np.asarray(fit.model.predict_quantiles(X, fit.taus), dtype=np.float64)
    if found.shape != (len(X), len(fit.taus)):
        raise ValueError(
            f"predict_quantiles must return shape {(len(X), len(fit.taus))}, got {found.shape}."
        )
    return np.sort(found, axis=1)


def _answer(fit: _Fit, X: NDArray[Any], ordered: NDArray[np.float64]) -> Answer:
    raw = unordered_quantiles(fit.model, X, fit.taus)
    return Answer(ordered, ordered if raw is None else raw)


def _reason(error: Exception) -> str:
    """Return why a run failed, in one line."""
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}"
