"""Candidates of an ensemble: cross-fitted, raced against each other, and fitted to all rows."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from censquant._engine.training._parallel import stop_if_asked
from censquant._progress import Bar
from censquant._rows._cross_fit import FitResult, FitTask, Folds, cross_fit
from censquant._rows._fit_data import FitData
from censquant._typing import Floats
from censquant.estimators.ensemble._mixture import LEVELS, Prediction, predict_mean
from censquant.estimators.ensemble._weights import BrierScore
from censquant.estimators.neural._neural import NeuralRegressor
from censquant.exceptions import TrainingDivergedError

MOST_COMPARED = 50_000
"""Rows on which candidates are compared at most; those that are used learn from all rows.

More rows would hardly change the weights, and every candidate is fitted once per fold.
"""

# A candidate is dropped after the first fold if it is worse than the best by so many standard
# errors of the paired difference, and by a share of the best one's score: with many rows, small
# differences are certain too, and a candidate that is a little worse still improves a pool.
_CLEARLY_WORSE, _MATTERS = 4.0, 0.1
_MOST_ROWS_OF_MODELS = 10_000
_LEAST_LIKELIHOOD = -50.0  # of one row, in logarithms
_BLOCK_ROWS = 4_096
_FAILURES = (TrainingDivergedError, FloatingPointError, np.linalg.LinAlgError)


def is_refitted(estimator: Any) -> bool:
    """Whether a candidate is fitted again to all rows, or the models of the folds are kept.

    The mean of networks of the folds is as good as one network of all rows and costs nothing;
    other models are smaller and better when they are fitted again.
    """
    return not isinstance(estimator, NeuralRegressor)


@dataclass(eq=False)
class Candidate:
    """One candidate of an ensemble, its fitted models, and their predictions for held-out rows."""

    name: str
    estimator: Any  # unfitted
    seed: np.random.SeedSequence
    unit: float  # in multiples of which held-out quantiles are kept: a time of the data
    models: list[Any] = field(default_factory=list)
    values: NDArray[np.float32] | None = None
    end: Floats | None = None  # times and levels past which models have no data, shape (2, n)
    log_likelihood: Floats | None = None
    seconds: float = 0.0
    dropped: str | None = None  # why, if it was

    def seed_of(self, fold: int) -> int:
        """Return the seed of the model of a fold, whatever the order in which folds are fitted."""
        child = np.random.SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, fold))
        return int(child.generate_state(1)[0])

    @property
    def is_whole(self) -> bool:
        """Whether the candidate extrapolates by itself, past all data."""
        return not self.estimator._ends_with_its_data

    def held_out(self, rows: Any) -> Prediction:
        """Return predictions for some of the rows, by models that had not seen them."""
        assert self.values is not None
        end = None if self.end is None else (self.end[0, rows], self.end[1, rows])
        return Prediction(self.values[rows].astype(np.float64) * self.unit, end)

    def keep(self, rows: NDArray[np.intp], n_rows: int, result: FitResult) -> None:
        """Keep a fold's model and its predictions for the rows that were held out."""
        if result.model is not None:
            self.models.append(result.model)
        self.seconds += result.seconds
        if result.predicted is None:
            return
        prediction, log_likelihood = result.predicted
        if self.values is None:
            self.values = np.full((n_rows, len(LEVELS)), np.nan, dtype=np.float32)
        self.values[rows] = prediction.values
        if prediction.end is not None:
            if self.end is None:
                self.end = np.full((2, n_rows), np.nan)
            self.end[:, rows] = prediction.end
        if log_likelihood is not None:
            if self.log_likelihood is None:
                self.log_likelihood = np.full(n_rows, np.nan)
            self.log_likelihood[rows] = log_likelihood

    def predict(
        self, model: Any, rows: FitData, stopping: threading.Event
    ) -> tuple[Prediction, Floats | None]:
        """Return a model's predictions for held-out rows, and their log-likelihoods if it has any.

        Quantiles are single-precision multiples of ``unit``, so that another unit of time rounds
        them the same way.
        """
        values, ends = np.empty((len(rows), len(LEVELS)), np.float32), []
        for start in range(0, len(rows), _BLOCK_ROWS):
            stop_if_asked(stopping)
            part = predict_mean([model], rows.x[start : start + _BLOCK_ROWS])
            values[start : start + _BLOCK_ROWS] = part.values / self.unit
            ends += [] if part.end is None else [part.end]
        end = None
        if ends:
            times, levels = zip(*ends, strict=True)
            end = (np.concatenate(times), np.concatenate(levels))
        log_likelihood = None
        if hasattr(model, "log_likelihood"):
            event = rows.target.event
            log_likelihood = model.log_likelihood(rows.x, (rows.target.time, event))
            log_likelihood = log_likelihood + event * np.log(self.unit)
        return Prediction(values, end), log_likelihood


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Fits candidates to parts of the rows, and drops those that are clearly worse early."""

    rows: FitData
    folds: Folds
    score: BrierScore  # of all rows, by which candidates race
    lower: float  # smallest possible time of the score's target
    n_jobs: int | None
    bar: Bar | None
    stopping: threading.Event | None = None  # of an ensemble around this one
    # Seconds per row of the last fit of an estimator, known by its identity.
    pace: dict[int, float] = field(default_factory=dict)

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.folds.max()) + 1

    def run(self, candidates: list[Candidate]) -> list[Candidate]:
        """Fit candidates to all folds and return those that were not dropped on the way."""
        # All are expected to be used in the end, until it is known which are.
        later = [each.estimator for each in candidates] * self.n_folds
        self._fit(candidates, range(1), later)
        kept = self._race([each for each in candidates if each.dropped is None])
        if self.bar is not None and len(kept) < len(candidates):
            self.bar.advance((len(candidates) - len(kept)) * (self.n_folds - 1))
        self._fit(kept, range(1, self.n_folds), [each.estimator for each in kept])
        return [each for each in kept if each.dropped is None]

    def refit(self, candidates: list[Candidate]) -> None:
        """Replace the models of the folds by one of all rows.

        Many rows are fitted by one candidate after the other, each with all threads, so that
        what they need beside the rows is there only once.
        """
        tasks = [self._task(each, self.n_folds) for each in candidates]
        if self.bar is not None:
            self.bar.expect(self._seconds_left(tasks, ()))
        if len(self.rows) > MOST_COMPARED:
            tasks = [replace(task, n_jobs=self.n_jobs) for task in tasks]
            results = [
                result
                for place, task in enumerate(tasks)
                for result in self._run([task], 1, [each.estimator for each in tasks[place + 1 :]])
            ]
        else:
            results = self._run(tasks, self.n_jobs)
        for candidate, result in zip(candidates, results, strict=True):
            candidate.seconds += result.seconds
            if result.failure is None:
                candidate.models = [result.model]

    def _fit(self, candidates: list[Candidate], folds: range, later: list[Any]) -> None:
        # Fold after fold, so that candidates that take long do not all come last.
        pairs = [(candidate, fold) for fold in folds for candidate in candidates]
        tasks = [self._task(*pair) for pair in pairs]
        for (candidate, _), task, result in zip(
            pairs, tasks, self._run(tasks, self.n_jobs, later), strict=True
        ):
            if result.failure is not None:
                candidate.dropped = result.failure
            candidate.keep(task.held_out, len(self.folds), result)

    def _task(self, candidate: Candidate, fold: int) -> FitTask:
        """Return the fit without a fold; no row is of the fold after the last."""
        return FitTask(
            candidate.estimator,
            candidate.seed_of(fold),
            self.rows,
            np.flatnonzero(self.folds == fold),
            candidate.predict,
            tolerated=_FAILURES,
            keep_model=self._keeps_model(candidate, fold),
        )

    def _keeps_model(self, candidate: Candidate, fold: int) -> bool:
        """Whether the model of a fold may be needed, if only because the fit to all rows fails.

        Of many rows a single one is kept for that, since those of a forest take much memory.
        """
        is_small = len(self.rows) <= _MOST_ROWS_OF_MODELS
        return is_small or fold in (0, self.n_folds) or not is_refitted(candidate.estimator)

    def _run(
        self, tasks: list[FitTask], n_jobs: int | None, later: Sequence[Any] = ()
    ) -> list[FitResult]:
        """Fit tasks side by side; ``later`` are estimators that are to be fitted after them."""
        lock = threading.Lock()

        def on_done() -> None:
            with lock:
                if self.bar is not None:
                    self.bar.advance(1)
                    self.bar.expect(self._seconds_left(tasks, later))

        for task in tasks:
            task.on_done = on_done
        return cross_fit(tasks, n_jobs, self.stopping)

    def _seconds_left(self, tasks: list[FitTask], later: Sequence[Any]) -> float | None:
        """Return how long the fits that are left take, by those so far.

        None while a candidate has not been fitted yet: they differ a hundredfold.
        """
        now, left = time.perf_counter(), 0.0
        for task in tasks:
            if task.began is not None and task.ended is not None:
                self.pace[id(task.estimator)] = (task.ended - task.began) / task.n_rows
        for task in tasks:
            if task.ended is None:
                per_row = self.pace.get(id(task.estimator))
                if per_row is None:
                    return None
                spent = 0.0 if task.began is None else now - task.began
                left += max(per_row * task.n_rows - spent, 0.0)
        for estimator in later:
            left += self.pace.get(id(estimator), 0.0) * len(self.rows)
        return left / float(effective_n_jobs(self.n_jobs))

    def _race(self, candidates: list[Candidate]) -> list[Candidate]:
        """Return the candidates without those that are clearly worse on the first fold."""
        rows = np.flatnonzero(self.folds == 0)
        if self.n_folds == 1 or len(candidates) < 2 or len(rows) < 2:
            return candidates
        score, weight = self.score.take(rows), self.score.weight[rows]
        weight = weight / weight.sum()
        losses = [score.rows(each.held_out(rows).values, LEVELS, self.lower) for each in candidates]
        means = np.array([weight @ loss for loss in losses])
        best = int(np.argmin(means))
        kept = {best, *self._extrapolating(candidates, means, rows)}
        for place, loss in enumerate(losses):
            difference = loss - losses[best]
            error = np.sqrt(weight**2 @ (difference - weight @ difference) ** 2)
            least = max(_CLEARLY_WORSE * error, _MATTERS * means[best])
            if weight @ difference <= least:
                kept.add(place)
            elif place not in kept:
                candidates[place].dropped = "clearly worse than the best on the first fold"
        return [each for place, each in enumerate(candidates) if place in kept]

    def _extrapolating(
        self, candidates: list[Candidate], means: Floats, rows: NDArray[np.intp]
    ) -> list[int]:
        """Return the places of candidates that carry the tails of others: no score sees those.

        They are the best of those that extrapolate and the one of the highest likelihood.
        """
        whole = [place for place, each in enumerate(candidates) if each.is_whole]
        likelihoods = {
            place: float(np.clip(stated[rows], _LEAST_LIKELIHOOD, None).sum())
            for place in whole
            if (stated := candidates[place].log_likelihood) is not None
        }
        best = sorted(whole, key=lambda place: means[place])[:1]
        return [*best, *sorted(likelihoods, key=lambda place: -likelihoods[place])[:1]]
