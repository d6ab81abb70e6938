"""Candidates of an ensemble: their held-out predictions, and the weights that these earn."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.optimize import minimize

from censquant._engine.training._parallel import stop_if_asked
from censquant._progress import Bar
from censquant._rows._cross_fit import FitResult, FitTask, Folds, cross_fit
from censquant._rows._fit_data import FitData
from censquant._typing import Floats
from censquant._validation import check_number
from censquant.estimators.ensemble._mixture import (
    LEVELS,
    Prediction,
    predict_mean,
    survival_on_grid,
)
from censquant.estimators.neural._neural import NeuralRegressor
from censquant.exceptions import TrainingDivergedError
from censquant.survival import Target, censoring_kaplan_meier
from censquant.survival._kaplan_meier import SMALLEST_CENSORING_CHANCE

Prior = Callable[[Sequence[str], Mapping[str, Floats | None]], Floats]
"""Gives shares of named candidates before their scores, by the likelihoods of held-out rows."""

_N_TIMES = 60
# Quantiles of the observed times between which the score is integrated: later ones are followed by
# few, and their inverse weights are large.
_FIRST, _LAST = 0.01, 0.9
_SCORED_ROWS = 512
_SHRINKAGE = 3.0  # over the number of events
_LEAST_WEIGHT = 0.01
_STEEPNESS = 100.0  # of the objective, for the tolerances of the optimiser
_LARGEST_LOGIT = 12.0
# Of priors: one row that a model takes for impossible must not decide.
_MOST_PER_ROW = 3.0
_LEAST_SHARE = 0.02


@dataclass(frozen=True, eq=False)
class BrierScore:
    """The integrated Brier score of held-out rows as a function of survival curves.

    A row counts at a time t while it is known whether its event has happened by then, divided by
    the probability of not being censored before; see :func:`censquant.metrics.brier_score`. The
    score of a weighted mean of survival curves is a quadratic form of the weights.
    """

    grid: Floats
    target: Target
    weight: Floats
    width: Floats
    chance_at_time: Floats
    chance_at_grid: Floats

    @classmethod
    def of(cls, target: Target, weight: Floats) -> "BrierScore":
        """Return the score of the given rows, on times of their own."""
        ends = np.quantile(target.time, np.linspace(_FIRST, _LAST, _N_TIMES))
        grid = np.unique(ends)
        width = np.gradient(grid) if len(grid) > 1 else np.ones(1)
        curve = censoring_kaplan_meier(target.time, target.event, weight)
        return cls(
            grid,
            target,
            weight / weight.sum(),
            width / width.sum(),
            np.maximum(curve(target.time, side="left"), SMALLEST_CENSORING_CHANCE),
            np.maximum(curve(grid), SMALLEST_CENSORING_CHANCE),
        )

    def take(self, rows: NDArray[np.intp]) -> "BrierScore":
        """Return the score of some of the rows, with the weights and times of all."""
        return replace(
            self,
            target=self.target.take(rows),
            weight=self.weight[rows] / self.weight[rows].sum(),
            chance_at_time=self.chance_at_time[rows],
        )

    def _known(self, rows: slice) -> tuple[Floats, Floats]:
        """Return the inverse-probability weights of some rows, and whether they are alive."""
        time, event = self.target.time[rows, None], self.target.event[rows, None]
        alive = time > self.grid
        inverse = np.where(alive, 1.0 / self.chance_at_grid, 0.0)
        inverse = np.where(~alive & event, 1.0 / self.chance_at_time[rows, None], inverse)
        return inverse * self.width, alive.astype(np.float64)

    def rows(self, values: Floats, levels: Floats, lower: float) -> Floats:
        """Return the score of each row under its quantiles."""
        out = np.empty(len(values))
        for start in range(0, len(values), _SCORED_ROWS):
            rows = slice(start, start + _SCORED_ROWS)
            known, alive = self._known(rows)
            survival = np.empty(known.shape)
            survival_on_grid(values[rows], levels, lower, self.grid, survival)
            out[rows] = (known * (survival - alive) ** 2).sum(axis=1)
        return out

    def quadratic(
        self, values_of: Callable[[slice], Floats], levels: Floats, lower: float
    ) -> "Quadratic":
        """Return the score of a weighted mean of candidates' survival curves.

        ``values_of`` gives the quantiles of some rows, of shape (candidates, rows, levels).
        """
        square, linear, constant = np.zeros((0, 0)), np.zeros(0), 0.0
        for start in range(0, len(self.weight), _SCORED_ROWS):
            rows = slice(start, start + _SCORED_ROWS)
            known, alive = self._known(rows)
            known *= self.weight[rows, None]
            values = values_of(rows)
            survival = np.empty((len(values), *known.shape))
            for place, own in enumerate(values):
                survival_on_grid(own, levels, lower, self.grid, survival[place])
            flat, by = survival.reshape(len(values), -1), known.ravel()
            terms = (flat * by) @ flat.T, flat @ (by * alive.ravel())
            square, linear = terms if start == 0 else (square + terms[0], linear + terms[1])
            constant += float(by @ alive.ravel())
        return Quadratic(square, linear, constant)


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The function w'Aw - 2 b'w + c."""

    square: Floats
    linear: Floats
    constant: float

    def __call__(self, w: Floats) -> float:
        return float(w @ self.square @ w - 2.0 * self.linear @ w + self.constant)

    def gradient(self, w: Floats) -> Floats:
        slope: Floats = 2.0 * (self.square @ w - self.linear)
        return slope


def shrunk_weights(score: Quadratic, prior: Floats, n_events: int) -> Floats:
    """Return the weights on the simplex with the best score, shrunk towards the prior.

    They minimise the score, relative to that of the prior, plus a multiple of the Kullback-Leibler
    divergence from the prior that falls with the number of events. Weights below one in a hundred
    become 0.
    """
    k = len(prior)
    if k == 1:
        return np.ones(1)
    unit = max(score(prior), np.finfo(np.float64).tiny)
    shrinkage = _SHRINKAGE / max(n_events, 1)

    def objective(logits: Floats) -> tuple[float, Floats]:
        w = np.exp(logits - logits.max())
        w /= w.sum()
        ratio = np.log(np.maximum(w, 1e-12) / prior)
        value = score(w) / unit + shrinkage * float(w @ ratio)
        slope = score.gradient(w) / unit + shrinkage * ratio
        return _STEEPNESS * value, _STEEPNESS * w * (slope - w @ slope)

    start = np.log(prior)
    found = minimize(
        objective,
        start - start.max(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-_LARGEST_LOGIT, _LARGEST_LOGIT)] * k,
        options={"maxiter": 200},
    )
    w = np.exp(found.x - found.x.max())
    w /= w.sum()
    w[w < _LEAST_WEIGHT] = 0.0
    weights: Floats = w / w.sum()
    return weights


def read_prior(weights: Mapping[str, float], names: Sequence[str]) -> Prior:
    """Return weights that a user expects as a prior; each candidate must have a positive one."""
    if set(weights) != set(names):
        raise ValueError(
            f"prior must have a weight for each of {list(names)}, got {list(weights)}."
        )
    for name, weight in weights.items():
        check_number(f"prior[{name!r}]", weight, minimum=0.0, exclude_minimum=True)

    def prior(names: Sequence[str], likelihood: Mapping[str, Floats | None]) -> Floats:
        total = sum(weights[name] for name in names)
        return np.array([weights[name] / total for name in names])

    return prior


@dataclass(frozen=True)
class LikelihoodPrior:
    """Prior weights of candidates, by the likelihood of held-out rows where a model has one.

    A Brier score of a few hundred rows barely tells families of distributions apart, and it knows
    nothing past the follow-up, where the family decides. The likelihood does, so the candidates
    that state it share ``mass`` in proportion to it, tempered by ``temperature``; each other
    candidate has ``others``.
    """

    mass: float = 3.0  # of all candidates with a likelihood together
    temperature: float = 0.25  # exponent of the likelihood ratio
    others: float = 0.07  # of each candidate without a likelihood
    # Candidates that have the weight of another one and ``bonus``, instead of their own likelihood:
    # those that extrapolate as the other does but fit more closely.
    follows: Mapping[str, str] = field(default_factory=dict)
    bonus: float = 0.1

    def __call__(self, names: Sequence[str], likelihood: Mapping[str, Floats | None]) -> Floats:
        """Return the prior weights."""
        stated = {
            name: rows
            for name in names
            if name not in self.follows and (rows := likelihood.get(name)) is not None
        }
        mass = dict.fromkeys(names, self.others)
        if stated:
            table = np.stack([np.nan_to_num(rows, nan=-50.0) for rows in stated.values()])
            table = np.clip(table - np.median(table, axis=0), -_MOST_PER_ROW, _MOST_PER_ROW)
            tempered = self.temperature * table.sum(axis=1)
            share = np.exp(tempered - tempered.max())
            share = np.maximum(share / share.sum(), _LEAST_SHARE)
            mass |= dict(zip(stated, (self.mass * share / share.sum()).tolist(), strict=True))
        for name, leader in self.follows.items():
            if name in mass:
                mass[name] = self.bonus + (mass[leader] if leader in stated else 0.0)
        total = sum(mass[name] for name in names)
        return np.array([mass[name] / total for name in names])


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
    models: list[Any] = field(default_factory=list)
    values: NDArray[np.float32] | None = None
    end: Floats | None = None  # times and levels past which models have no data, shape (2, n)
    log_likelihood: Floats | None = None
    seconds: float = 0.0
    dropped: str | None = None  # why, if it was
    _lock: Any = field(default_factory=threading.Lock)  # of arrays that two folds may begin

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
        values = np.multiply(self.values[rows], self.unit, dtype=np.float64)
        return Prediction(values, end)

    def keep(self, result: FitResult) -> None:
        """Keep a model; its predictions for rows that were held out are there already."""
        if result.model is not None:
            self.models.append(result.model)
        self.seconds += result.seconds

    def keep_only(self, rows: NDArray[np.intp]) -> None:
        """Forget the predictions for all other rows; of these, quantiles are left."""
        self.end = self.log_likelihood = None
        if self.values is not None:
            self.values = self.values[rows]

    def drop(self, reason: str) -> None:
        """Leave the candidate out and forget its predictions, which take memory."""
        self.dropped = reason
        self.values = self.end = self.log_likelihood = None

    def fit_folds(self, rows: FitData, folds: Folds, model: Any) -> None:
        """Fit a model that cross-fits itself, and keep its predictions for held-out rows."""
        for own, values, end in model._fit_folds(rows, folds, LEVELS):
            self._keep_prediction(len(folds), own, Prediction(values, end))

    def predict(
        self,
        n_rows: int,
        places: NDArray[np.intp],
        model: Any,
        rows: FitData,
        stopping: threading.Event,
    ) -> None:
        """Keep a model's predictions for held-out rows, and their log-likelihoods if it has any.

        They are written where they stay: those of all models at once would be there twice.
        """
        for start in range(0, len(rows), _BLOCK_ROWS):
            stop_if_asked(stopping)
            block = slice(start, start + _BLOCK_ROWS)
            self._keep_prediction(n_rows, places[block], predict_mean([model], rows.x[block]))
        if hasattr(model, "log_likelihood"):
            event = rows.target.event
            log_likelihood = model.log_likelihood(rows.x, (rows.target.time, event))
            with self._lock:
                if self.log_likelihood is None:
                    self.log_likelihood = np.full(n_rows, np.nan)
            self.log_likelihood[places] = log_likelihood + event * np.log(self.unit)

    def _keep_prediction(
        self, n_rows: int, places: NDArray[np.intp], prediction: Prediction
    ) -> None:
        """Write predictions to the places of their rows, from the thread that computed them.

        Quantiles are single-precision multiples of ``unit``, so that another unit of time rounds
        them the same way.
        """
        with self._lock:
            if self.values is None:
                self.values = np.full((n_rows, len(LEVELS)), np.nan, dtype=np.float32)
            if self.end is None and prediction.end is not None:
                self.end = np.full((2, n_rows), np.nan)
        self.values[places] = prediction.values / self.unit
        if self.end is not None:
            self.end[:, places] = prediction.end


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
        folds = range(self.n_folds)
        later = [each.estimator for each in candidates for _ in self._rounds(each, folds[1:])]
        later += [each.estimator for each in candidates if is_refitted(each.estimator)]
        self._fit(candidates, folds[:1], later)
        kept = self._race([each for each in candidates if each.dropped is None])
        if self.bar is not None:
            out = [each for each in candidates if each not in kept]
            self.bar.advance(sum(len(self._rounds(each, folds[1:])) for each in out))
        again = [each.estimator for each in kept if is_refitted(each.estimator)]
        self._fit(kept, folds[1:], again)
        return [each for each in kept if each.dropped is None]

    def n_fits(self, candidates: list[Candidate]) -> int:
        """Return how many fits candidates take, with those to all rows, if none is dropped."""
        folds = range(self.n_folds)
        return sum(len(self._rounds(each, folds)) + 1 for each in candidates)

    @staticmethod
    def _rounds(candidate: Candidate, folds: range) -> range:
        """Return the folds in whose round a candidate is fitted: one is enough for some."""
        if candidate.estimator._cross_fits_itself:
            return range(int(0 in folds))
        return folds

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
        pairs = [
            (candidate, fold)
            for fold in folds
            for candidate in candidates
            if fold in self._rounds(candidate, folds)
        ]
        tasks = [self._task(*pair) for pair in pairs]
        results = self._run(tasks, self.n_jobs, later)
        for (candidate, _), result in zip(pairs, results, strict=True):
            candidate.keep(result)
        for (candidate, _), result in zip(pairs, results, strict=True):
            if result.failure is not None:
                candidate.drop(result.failure)

    def _task(self, candidate: Candidate, fold: int) -> FitTask:
        """Return the fit without a fold; no row is of the fold after the last."""
        held_out = np.flatnonzero(self.folds == fold)
        task = FitTask(
            candidate.estimator,
            candidate.seed_of(fold),
            self.rows,
            held_out,
            partial(candidate.predict, len(self.folds), held_out),
            tolerated=_FAILURES,
            keep_model=self._keeps_model(candidate, fold),
        )
        if candidate.estimator._cross_fits_itself and fold < self.n_folds:
            task.fit_folds = partial(candidate.fit_folds, self.rows, self.folds)
        return task

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
                candidates[place].drop("clearly worse than the best on the first fold")
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
