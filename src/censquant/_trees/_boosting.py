"""Boosters of location and scale, one per fold, and the quantiles of their residuals."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from threading import Event

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from censquant._engine.training._parallel import side_by_side, stop_if_asked
from censquant._storage._codec import require
from censquant._trees._bins import assign_bins, edges_of, stride
from censquant._trees._boosting_kernels import (
    N_BINS,
    Newton,
    Rows,
    Trees,
    Work,
    add_rounds,
    run_round,
    total_loss,
)
from censquant._typing import Floats
from censquant.survival import kaplan_meier
from censquant.survival._transform import TimeTransform

_ROWS_FOR_BINS = 50_000
_ROUNDS_PER_CHECK = 10
_PATIENCE = 6  # checks without a better loss
_LEAST_GAIN = 1e-5  # per row
_FURTHEST_RESIDUAL = 6.0
_HIGHEST_KNOWN = 0.995  # above it a Kaplan-Meier curve consists of a few rows
_SCALE_RATE = 0.5  # of the learning rate: a scale that is fitted too fast follows single rows


@dataclass(frozen=True)
class BoostingRule:
    """How boosters are trained.

    ``share`` of the rows is drawn for each round, Newton's steps are multiplied by ``rate``, and
    ``penalty`` is added to the sum of curvatures in a leaf. With ``fit_scale`` each round has a
    second tree, for the logarithm of the scale.
    """

    depth: int
    min_leaf: int
    fit_scale: bool
    rate: float
    max_rounds: int
    share: float
    penalty: float

    @property
    def rates(self) -> Floats:
        """Rates of the trees of a round."""
        rates = np.array([self.rate, _SCALE_RATE * self.rate])
        return rates[: 1 + int(self.fit_scale)]


@dataclass(frozen=True, eq=False)
class Boosters:
    """Trees of several boosters on the same bins; a prediction is their mean.

    ``edges`` has shape (n_features, n_bins - 1), ``feature`` and ``cut``, the last bin of the first
    child, have shape (n_boosters, n_rounds, n_parts, n_inner_nodes), and ``value`` has as many
    leaves in place of inner nodes.
    """

    edges: Floats
    feature: NDArray[np.int32]
    cut: NDArray[np.uint8]
    value: Floats

    def validate(self) -> None:
        """Refuse arrays of a file that would be walked out of."""
        require(len(self.feature) > 0, "does not hold at least one booster")
        rises = self.edges[:, 1:] >= self.edges[:, :-1]
        require(rises, "does not hold edges of bins that do not decrease")
        known = (self.feature >= 0) & (self.feature < len(self.edges))
        require(known, "does not hold splits by known features")

    def predict(self, x: Floats) -> Floats:
        """Return location and logarithm of the scale of each row, of shape (2, n)."""
        codes = assign_bins(x, self.edges)
        mean = np.zeros((2, len(x)))
        for trees in zip(self.feature, self.cut, self.value, strict=True):
            state = np.zeros((2, len(x)))
            add_rounds(codes, Trees(*trees), state)
            mean += state
        return mean / len(self.feature)


class _FoldRun:
    """The training of one booster on the rows outside a fold."""

    def __init__(
        self, rule: BoostingRule, rows: Rows, held_out: NDArray[np.bool_], seed: int
    ) -> None:
        n, n_features = rows.codes.shape
        self._rule, self._rows = rule, rows
        self._newton = Newton(rule.share, rule.penalty, rule.min_leaf, rule.rates)
        self._train = np.flatnonzero(~held_out).astype(np.int32)
        self.held_out = np.flatnonzero(held_out).astype(np.int32)
        self._seed = np.array([seed], np.uint64)
        self.state = np.zeros((2, n))
        self._work = Work.make(n, len(self._train), n_features, rule.depth)
        self._blocks: list[Trees] = []

    def loss(self) -> float:
        """Return the sum of the losses of the rows held out."""
        return float(total_loss(self._rows, self.state, self.held_out))

    def advance(self, n_rounds: int, stopping: Event) -> float:
        """Train some rounds more and return the loss; a round of many rows takes long."""
        n_inner = 2**self._rule.depth - 1
        shape = (n_rounds, len(self._newton.rates))
        trees = Trees(
            np.empty((*shape, n_inner), np.int32),
            np.empty((*shape, n_inner), np.uint8),
            np.empty((*shape, n_inner + 1)),
        )
        for own in zip(*trees, strict=True):
            stop_if_asked(stopping)
            run_round(
                self._rows,
                self._train,
                self._newton,
                self._seed,
                self.state,
                self._work,
                Trees(*own),
            )
        self._blocks.append(trees)
        return self.loss()

    def trees(self, n_rounds: int) -> Trees:
        """Return the trees of the first rounds."""
        parts = zip(*self._blocks, strict=True)
        return Trees(*(np.concatenate(part)[:n_rounds] for part in parts))


def cross_fit_boosters(
    rule: BoostingRule,
    x: Floats,
    z: Floats,
    event: NDArray[np.bool_],
    weight: Floats,
    fold_of: NDArray[np.intp],
    seeds: Sequence[int],
    n_jobs: int | None,
    stopping: Event | None = None,
) -> tuple[Boosters, Floats]:
    """Return one booster per fold, and its predictions for the fold's own rows, of shape (2, n).

    All have the same number of rounds, at which the sum of their losses on the rows that they have
    not seen is lowest. It may be 0.
    """
    edges = edges_of(x[:: stride(len(x), _ROWS_FOR_BINS)], N_BINS)
    rows = Rows(assign_bins(x, edges), z, event, weight)
    runs = [_FoldRun(rule, rows, fold_of == fold, seed) for fold, seed in enumerate(seeds)]
    best, best_rounds, n_rounds = sum(run.loss() for run in runs), 0, 0
    held_out = np.zeros((2, len(x)))
    n_vain, least_gain = 0, _LEAST_GAIN * weight.sum()
    while n_rounds < rule.max_rounds and n_vain < _PATIENCE:
        n_new = min(_ROUNDS_PER_CHECK, rule.max_rounds - n_rounds)
        tasks = [partial(run.advance, n_new) for run in runs]
        loss = sum(side_by_side(tasks, n_jobs, on_interrupt="raise", stopping=stopping))
        n_rounds += n_new
        n_vain += 1
        if loss < best - least_gain:
            best, best_rounds, n_vain = loss, n_rounds, 0
            for run in runs:
                held_out[:, run.held_out] = run.state[:, run.held_out]
    trees = zip(*(run.trees(best_rounds) for run in runs), strict=True)
    return Boosters(edges, *(np.stack(part) for part in trees)), held_out


def residual_quantiles(
    residual: Floats, event: NDArray[np.bool_], weight: Floats, levels: Floats
) -> Floats:
    """Return quantiles of right-censored residuals, not decreasing in the level.

    They are those of the Kaplan-Meier curve, linear between events, and above its end those of a
    normal distribution that joins it there, with the standard deviation that the censored normal
    likelihood gives to all residuals.
    """
    curve = kaplan_meier(residual, event, weight)
    seen = curve.n_events > 0
    reached, values = 1.0 - curve.survival[seen], curve.time[seen]
    end = min(float(reached[-1]), _HIGHEST_KNOWN)
    quantiles: Floats = np.interp(levels, reached, values)
    above = levels > end
    if above.any():
        near = np.clip(residual, -_FURTHEST_RESIDUAL, _FURTHEST_RESIDUAL)
        spread = TimeTransform.fit(near, event, "tobit", sample_weight=weight).scale
        distance = ndtri(levels[above]) - ndtri(end)
        quantiles[above] = np.interp(end, reached, values) + spread * distance
    return quantiles
