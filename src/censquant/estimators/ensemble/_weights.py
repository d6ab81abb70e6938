"""What held-out rows say of candidates: scores of their mean, priors, and the weights of both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from censquant._typing import Floats
from censquant._validation import check_number
from censquant.estimators.ensemble._mixture import levels_at, survival_on_grid
from censquant.survival import Target, censoring_kaplan_meier
from censquant.survival._cells import SMALLEST_CELL_CHANCE, ObservedSets, cells_of_events
from censquant.survival._kaplan_meier import SMALLEST_CENSORING_CHANCE
from censquant.survival._target import GeneralTarget

Prior = Callable[[Sequence[str], Mapping[str, Floats | None]], Floats]
"""Gives shares of named candidates before their scores, by the likelihoods of held-out rows."""

SCORES = ("log", "brier", "both")
"""What weights can minimise."""

_N_TIMES = 60
# Quantiles of the observed times between which the score is integrated: later ones are followed by
# few, and their inverse weights are large.
_FIRST, _LAST = 0.01, 0.9
_SCORED_ROWS = 512
_SHRINKAGE = 6.0  # over the number of events
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

    def relative_to(self, w: Floats) -> "Quadratic":
        """Return the function divided by its value at some weights."""
        unit = max(self(w), np.finfo(np.float64).tiny)
        return Quadratic(self.square / unit, self.linear / unit, self.constant / unit)


@dataclass(frozen=True, eq=False)
class LogScore:
    """The log score of held-out rows in cells as a function of distributions.

    It needs no model of the censoring; see :func:`censquant.metrics.log_score`.
    """

    sets: ObservedSets
    weight: Floats
    event_share: float

    @classmethod
    def of(cls, target: Target, weight: Floats) -> "LogScore":
        """Return the score of the given rows, in cells of their own events."""
        sets = ObservedSets.of(target, cells_of_events(target, weight))
        return cls(sets, weight / weight.sum(), float(weight[target.event].sum() / weight.sum()))

    def take(self, rows: NDArray[np.intp]) -> "LogScore":
        """Return the score of some of the rows, in the cells of all."""
        weight = self.weight[rows] / self.weight[rows].sum()
        return LogScore(self.sets.take(rows), weight, self.event_share)

    def chances(
        self, values: Floats, levels: Floats, lower: float, rows: slice = slice(None)
    ) -> Floats:
        """Return the chance that the quantiles of some rows give to what was observed."""

        def cdf(times: Floats) -> Floats:
            out = np.empty(times.shape)
            levels_at(values, levels, lower, times, out)
            return out

        return self.sets.take(rows).chances(cdf)

    def rows(self, values: Floats, levels: Floats, lower: float) -> Floats:
        """Return the score of each row under its quantiles, per event."""
        chances = np.maximum(self.chances(values, levels, lower), SMALLEST_CELL_CHANCE)
        return np.asarray(-np.log(chances) / self.event_share)

    def of_mean(
        self, values_of: Callable[[slice], Floats], levels: Floats, lower: float
    ) -> "LogOfMean":
        """Return the score of a weighted mean of candidates' distributions, per event.

        ``values_of`` gives the quantiles of some rows, of shape (candidates, rows, levels).
        """
        parts = []
        for start in range(0, len(self.weight), _SCORED_ROWS):
            rows = slice(start, start + _SCORED_ROWS)
            values = values_of(rows)
            parts.append(np.stack([self.chances(own, levels, lower, rows) for own in values]))
        return LogOfMean(np.concatenate(parts, axis=1), self.weight / self.event_share)


@dataclass(frozen=True, eq=False)
class LogOfMean:
    """Minus the weighted sum of the logarithms of w'p over rows, a convex function of w."""

    chances: Floats  # of shape (candidates, rows)
    weight: Floats

    def __call__(self, w: Floats) -> float:
        return -float(self.weight @ np.log(np.maximum(w @ self.chances, SMALLEST_CELL_CHANCE)))

    def gradient(self, w: Floats) -> Floats:
        mean = w @ self.chances
        counts = mean > SMALLEST_CELL_CHANCE
        share = np.divide(self.weight, mean, out=np.zeros(len(mean)), where=counts)
        return np.asarray(-(self.chances @ share))


class Criterion(Protocol):
    """A function of weights that is to be small, per event."""

    def __call__(self, w: Floats) -> float: ...
    def gradient(self, w: Floats) -> Floats: ...


@dataclass(frozen=True, eq=False)
class _Sum:
    parts: Sequence[Criterion]

    def __call__(self, w: Floats) -> float:
        return sum(part(w) for part in self.parts)

    def gradient(self, w: Floats) -> Floats:
        return np.asarray(np.sum([part.gradient(w) for part in self.parts], axis=0))


@dataclass(frozen=True, eq=False)
class HeldOutScore:
    """Both scores of held-out rows, and which of them the weights minimise.

    Of rows with intervals there is no Brier score: no weight makes up for not knowing when their
    events happened. Of rows with entries there is none of all rows from the start.
    """

    kind: str  # one of SCORES
    target: Target
    log: LogScore
    brier: BrierScore | None

    @classmethod
    def of(cls, kind: str, target: Target, weight: Floats) -> "HeldOutScore":
        """Return the scores of the given rows."""
        brier = None
        if not isinstance(target, GeneralTarget):
            brier = BrierScore.of(target, weight)
        elif kind != "log":
            raise ValueError(
                f"scoring must be 'log' where rows have intervals or entries, got {kind!r}: these "
                "rows have no Brier score."
            )
        return cls(kind, target, LogScore.of(target, weight), brier)

    @property
    def weight(self) -> Floats:
        """Weights of the rows, of sum 1."""
        return self.log.weight

    def take(self, rows: NDArray[np.intp]) -> "HeldOutScore":
        """Return the scores of some of the rows."""
        brier = None if self.brier is None else self.brier.take(rows)
        return HeldOutScore(self.kind, self.target.take(rows), self.log.take(rows), brier)

    def weights(
        self, values_of: Callable[[slice], Floats], levels: Floats, lower: float, prior: Floats
    ) -> Floats:
        """Return the weights of candidates whose mean has the best score, shrunk to a prior.

        ``values_of`` gives the quantiles of some rows, of shape (candidates, rows, levels).
        """
        parts: list[Criterion] = []
        if self.kind != "brier":
            parts.append(self.log.of_mean(values_of, levels, lower))
        if self.kind != "log" and self.brier is not None:
            parts.append(self.brier.quadratic(values_of, levels, lower).relative_to(prior))
        return shrunk_weights(_Sum(parts), prior, self.target.n_events)


def shrunk_weights(score: Criterion, prior: Floats, n_events: int) -> Floats:
    """Return the weights on the simplex with the best score, shrunk towards the prior.

    They minimise the score plus a multiple of the Kullback-Leibler divergence from the prior that
    falls with the number of events. Weights below one in a hundred become 0.
    """
    k = len(prior)
    if k == 1:
        return np.ones(1)
    shrinkage = _SHRINKAGE / max(n_events, 1)

    def objective(logits: Floats) -> tuple[float, Floats]:
        w = np.exp(logits - logits.max())
        w /= w.sum()
        ratio = np.log(np.maximum(w, 1e-12) / prior)
        value = score(w) + shrinkage * float(w @ ratio)
        slope = score.gradient(w) + shrinkage * ratio
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

    A score of a few hundred rows barely tells families of distributions apart, and it knows
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
