"""Candidates of an ensemble: they are cross-fitted, and the worst are dropped early."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from censquant._engine.training._parallel import stop_if_asked
from censquant._progress import Bar
from censquant._rows._cross_fit import FitResult, FitTask, Folds, cross_fit
from censquant._rows._fit_data import FitData
from censquant._typing import Floats
from censquant.estimators._tabular import TabularRegressor
from censquant.estimators.ensemble._imputation import StandIns
from censquant.estimators.ensemble._mixture import LEVELS, Prediction, predict_mean
from censquant.estimators.ensemble._weights import HeldOutScore
from censquant.estimators.neural._neural import NeuralRegressor
from censquant.exceptions import TrainingDivergedError
from censquant.survival._target import GeneralTarget

MOST_COMPARED = 50_000
"""Rows on which candidates are compared at most; those that are used learn from all rows.

More rows would hardly change the weights, and every candidate is fitted once per fold.
"""

FEW_ROWS, N_REPEATS = 500, 3
"""With fewer rows than this, cross-fitting is repeated so often where it is cheap.

Weights would depend on which rows happen to be held out together.
"""

# A candidate is dropped after the first fold if it is worse than the best by so many standard
# errors of the paired difference, and by what matters, in both scores: with many rows, small
# differences are certain too, and a candidate that is a little worse still improves a pool. What
# matters is a share of the best one's Brier score, and a difference of log scores per event.
_CLEARLY_WORSE, _MATTERS, _MATTERS_PER_EVENT = 4.0, 0.1, 0.1
# With fewer events in the first fold nobody is dropped.
_FEWEST_EVENTS_OF_A_RACE = 100
_MOST_ROWS_OF_MODELS = 10_000
_LEAST_LIKELIHOOD = -50.0  # of one row, in logarithms
_BLOCK_ROWS = 4_096
_FAILURES = (TrainingDivergedError, FloatingPointError, np.linalg.LinAlgError)


def repeats_of(estimator: Any) -> int:
    """Return how often a candidate is cross-fitted where rows are few: networks take too long."""
    return N_REPEATS if isinstance(estimator, TabularRegressor) else 1


def is_refitted(estimator: Any) -> bool:
    """Whether a candidate is fitted again to all rows, or the models of the folds are kept.

    The mean of networks of the folds is as good as one network of all rows and costs nothing, and
    trees of the folds are parts of one model; others are smaller and better when they are fitted
    again.
    """
    return not (isinstance(estimator, NeuralRegressor) or estimator._cross_fits_itself)


@dataclass(eq=False)
class Candidate:
    """One candidate of an ensemble, its fitted models, and their predictions for held-out rows."""

    name: str
    estimator: Any  # unfitted
    seed: np.random.SeedSequence
    unit: float  # in multiples of which held-out quantiles are kept: a time of the data
    n_repeats: int = 1  # of the cross-fitting, each with folds of its own
    models: list[Any] = field(default_factory=list)
    # Of each repeat what the models say that have not seen a row, whose mean is the prediction.
    values: NDArray[np.float32] | None = None
    ends: Floats | None = None  # times and levels past which models have no data
    log_likelihoods: Floats | None = None
    seconds: float = 0.0
    dropped: str | None = None  # why, if it was
    # Of a candidate that is fitted to stand-ins for rows: the row of each.
    source: NDArray[np.intp] | None = None
    _lock: Any = field(default_factory=threading.Lock)  # of arrays that two folds may begin

    def seed_of(self, place: int) -> int:
        """Return the seed of one of the models, whatever the order in which they are fitted."""
        child = np.random.SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, place))
        return int(child.generate_state(1)[0])

    @property
    def is_whole(self) -> bool:
        """Whether the candidate extrapolates by itself, past all data."""
        return not self.estimator._ends_with_its_data

    def held_out(self, rows: Any) -> Prediction:
        """Return predictions for some of the rows, by models that had not seen them."""
        assert self.values is not None
        values = self.values[:, rows].mean(axis=0, dtype=np.float64)
        values *= self.unit
        end = None
        if self.ends is not None:
            times, levels = self.ends[:, :, rows].mean(axis=0)
            end = times, levels
        return Prediction(values, end)

    def log_likelihood(self, rows: Any) -> Floats | None:
        """Return the log-likelihoods of some of the rows; None of a model that has none."""
        if self.log_likelihoods is None:
            return None
        return np.asarray(self.log_likelihoods[:, rows].mean(axis=0))

    def keep(self, result: FitResult) -> None:
        """Keep a model; its predictions for rows that were held out are there already."""
        if result.model is not None:
            self.models.append(result.model)
        self.seconds += result.seconds

    def keep_only(self, rows: NDArray[np.intp]) -> None:
        """Forget the predictions for all other rows; of these, quantiles are left."""
        self.ends = self.log_likelihoods = None
        if self.values is not None:
            self.values = self.values[:, rows]

    def drop(self, reason: str) -> None:
        """Leave the candidate out and forget its predictions, which take memory."""
        self.dropped = reason
        self.values = self.ends = self.log_likelihoods = None

    def fit_folds(self, repeat: int, rows: FitData, folds: Folds, model: Any) -> None:
        """Fit a model that cross-fits itself, and keep its predictions for held-out rows."""
        n_rows = len(folds) if self.source is None else int(self.source.max()) + 1
        for own, values, end in model._fit_folds(rows, folds, LEVELS):
            places = own if self.source is None else self.source[own]
            self._keep_prediction(n_rows, (repeat, places), Prediction(values, end))

    def predict(
        self,
        n_rows: int,
        repeat: int,
        places: NDArray[np.intp],
        model: Any,
        rows: FitData,
        stopping: threading.Event,
    ) -> None:
        """Keep a model's predictions for held-out rows, and their log-likelihoods if it has any.

        They are written where they stay: those of all models at once would be there twice.
        """
        if self.source is not None:  # a row is predicted once, whatever stands for it
            places, first = np.unique(self.source[places], return_index=True)
            rows = rows.take(first)
        for start in range(0, len(rows), _BLOCK_ROWS):
            stop_if_asked(stopping)
            block = slice(start, start + _BLOCK_ROWS)
            prediction = predict_mean([model], rows.x[block])
            self._keep_prediction(n_rows, (repeat, places[block]), prediction)
        if hasattr(model, "log_likelihood") and not _is_general(rows):
            event = rows.target.event
            log_likelihood = model.log_likelihood(rows.x, (rows.target.time, event))
            with self._lock:
                if self.log_likelihoods is None:
                    self.log_likelihoods = np.full((self.n_repeats, n_rows), np.nan)
            self.log_likelihoods[repeat, places] = log_likelihood + event * np.log(self.unit)

    def _keep_prediction(
        self, n_rows: int, place: tuple[int, NDArray[np.intp]], prediction: Prediction
    ) -> None:
        """Write predictions to a repeat and its rows, from the thread that computed them.

        Quantiles are single-precision multiples of ``unit``, so that another unit of time rounds
        them the same way. They are rounded down: a jump at the tied time of events must not come
        after it, where both scores would miss it.
        """
        with self._lock:
            if self.values is None:
                shape = (self.n_repeats, n_rows, len(LEVELS))
                self.values = np.full(shape, np.nan, dtype=np.float32)
            if self.ends is None and prediction.end is not None:
                self.ends = np.full((self.n_repeats, 2, n_rows), np.nan)
        rounded = (prediction.values / self.unit).astype(np.float32)
        self.values[place] = np.nextafter(rounded, np.float32(-np.inf))
        if self.ends is not None:
            repeat, rows = place
            self.ends[repeat][:, rows] = prediction.end


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Fits candidates to parts of the rows, and drops those that are clearly worse early."""

    rows: FitData
    folds: Sequence[Folds]  # of each repeat
    score: HeldOutScore  # of all rows, by which candidates race
    lower: float  # smallest possible time of the score's target
    n_jobs: int | None
    bar: Bar | None
    stopping: threading.Event | None = None  # of an ensemble around this one
    stand_ins: StandIns | None = None  # for candidates that cannot take the rows as they are
    # Seconds per row of the last fit of an estimator, known by its identity.
    pace: dict[int, float] = field(default_factory=dict)

    @property
    def n_folds(self) -> int:
        """Number of folds of each repeat."""
        return int(self.folds[0].max()) + 1

    def run(self, candidates: list[Candidate]) -> list[Candidate]:
        """Fit candidates to all folds and return those that were not dropped on the way."""
        # All are expected to be used in the end, until it is known which are.
        later = [each.estimator for each in candidates for _ in self._rounds(each)[1:]]
        later += [each.estimator for each in candidates if is_refitted(each.estimator)]
        self._fit([(each, 0) for each in candidates], later)
        kept = self._race([each for each in candidates if each.dropped is None])
        if self.bar is not None:
            out = [each for each in candidates if each not in kept]
            self.bar.advance(sum(len(self._rounds(each)) - 1 for each in out))
        again = [each.estimator for each in kept if is_refitted(each.estimator)]
        # Round after round, so that candidates that take long do not all come last.
        rounds = range(1, self.n_folds * len(self.folds))
        left = [(each, place) for place in rounds for each in kept if place in self._rounds(each)]
        self._fit(left, again)
        return [each for each in kept if each.dropped is None]

    def n_fits(self, candidates: list[Candidate]) -> int:
        """Return how many fits candidates take, with those to all rows, if none is dropped."""
        return sum(len(self._rounds(each)) + 1 for each in candidates)

    def _rounds(self, candidate: Candidate) -> range:
        """Return the rounds in which a candidate is fitted: a fold of a repeat each.

        One round of a repeat is enough for those that cross-fit themselves.
        """
        step = self.n_folds if candidate.estimator._cross_fits_itself else 1
        return range(0, self.n_folds * candidate.n_repeats, max(step, 1))

    def refit(self, candidates: list[Candidate]) -> None:
        """Replace the models of the folds by one of all rows.

        Many rows are fitted by one candidate after the other, each with all threads, so that
        what they need beside the rows is there only once.
        """
        tasks = [self._task(each, None) for each in candidates]
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

    def _fit(self, pairs: list[tuple[Candidate, int]], later: list[Any]) -> None:
        """Fit candidates in the rounds that are named with them."""
        tasks = [self._task(*pair) for pair in pairs]
        results = self._run(tasks, self.n_jobs, later)
        for (candidate, _), result in zip(pairs, results, strict=True):
            candidate.keep(result)
        for (candidate, _), result in zip(pairs, results, strict=True):
            if result.failure is not None:
                candidate.drop(result.failure)

    def _task(self, candidate: Candidate, place: int | None) -> FitTask:
        """Return the fit of a round, without the rows that it holds out; None is of all rows."""
        rows = self.rows
        if candidate.source is not None and self.stand_ins is not None:
            rows = self.stand_ins.rows
        if place is None:
            everything = np.empty(0, np.intp)
            seed = candidate.seed_of(self.n_folds * len(self.folds))
            ignored = partial(candidate.predict, 0, 0, everything)
            return FitTask(
                candidate.estimator, seed, rows, everything, ignored, tolerated=_FAILURES
            )
        repeat, fold = divmod(place, self.n_folds)
        folds = self.folds[repeat]
        n_rows = len(folds)
        if candidate.source is not None:
            folds = folds[candidate.source]
        held_out = np.flatnonzero(folds == fold)
        task = FitTask(
            candidate.estimator,
            candidate.seed_of(place),
            rows,
            held_out,
            partial(candidate.predict, n_rows, repeat, held_out),
            tolerated=_FAILURES,
            keep_model=self._keeps_model(candidate, place),
        )
        if candidate.estimator._cross_fits_itself:
            task.fit_folds = partial(candidate.fit_folds, repeat, rows, folds)
        return task

    def _keeps_model(self, candidate: Candidate, place: int) -> bool:
        """Whether the model of a round may be needed, if only because the fit to all rows fails.

        Of many rows a single one is kept for that, since those of a forest take much memory.
        """
        is_small = len(self.rows) <= _MOST_ROWS_OF_MODELS
        return is_small or place == 0 or not is_refitted(candidate.estimator)

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
        results = cross_fit(tasks, n_jobs, self.stopping)
        for task in tasks:
            task.on_done = None  # which knows all tasks: a ring that would keep them in memory
        return results

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
        """Return the candidates without those that both scores of the first fold find worse."""
        rows = np.flatnonzero(self.folds[0] == 0)
        score = self.score.take(rows)
        if self.n_folds == 1 or score.target.n_events < _FEWEST_EVENTS_OF_A_RACE:
            return candidates
        logs, briers = np.empty((2, len(candidates), len(rows)))
        for place, each in enumerate(candidates):
            values = each.held_out(rows).values
            logs[place] = score.log.rows(values, LEVELS, self.lower)
            if score.brier is not None:
                briers[place] = score.brier.rows(values, LEVELS, self.lower)
        is_worse = _clearly_worse(logs, score.weight, _MATTERS_PER_EVENT)
        if score.brier is not None:
            smallest = float((briers @ score.weight).min())
            is_worse &= _clearly_worse(briers, score.weight, _MATTERS * smallest)
        is_worse[self._extrapolating(candidates, logs @ score.weight, rows)] = False
        for each, worse in zip(candidates, is_worse, strict=True):
            if worse:
                each.drop("clearly worse than the best on the first fold")
        return [each for each in candidates if each.dropped is None]

    def _extrapolating(
        self, candidates: list[Candidate], means: Floats, rows: NDArray[np.intp]
    ) -> list[int]:
        """Return the places of candidates that carry the tails of others: no score sees those.

        They are the best of those that extrapolate and the one of the highest likelihood.
        """
        whole = [place for place, each in enumerate(candidates) if each.is_whole]
        likelihoods = {
            place: float(np.clip(stated, _LEAST_LIKELIHOOD, None).sum())
            for place in whole
            if (stated := candidates[place].log_likelihood(rows)) is not None
        }
        best = sorted(whole, key=lambda place: means[place])[:1]
        return [*best, *sorted(likelihoods, key=lambda place: -likelihoods[place])[:1]]


def _is_general(rows: FitData) -> bool:
    """Whether rows have intervals or entries: all candidates have one likelihood of these."""
    return isinstance(rows.target, GeneralTarget)


def _clearly_worse(losses: Floats, weight: Floats, matters: float) -> NDArray[np.bool_]:
    """Return which candidates lose to the best one by more than noise and more than matters."""
    difference = losses - losses[np.argmin(losses @ weight)]
    mean = difference @ weight
    error = np.sqrt((difference - mean[:, None]) ** 2 @ weight**2)
    return np.asarray(mean > np.maximum(_CLEARLY_WORSE * error, matters))
