"""Boosters of location and scale, one per fold, that stop together."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine.training import side_by_side, stop_if_asked
from censquant._trees._bins import bin_values, edges_of, stride
from censquant._trees._censored_normal import total_loss
from censquant._trees._histogram_tree import N_BINS
from censquant._trees._rounds import add_rounds, run_rounds
from censquant._typing import Floats

_ROWS_FOR_BINS = 50_000
_ROUNDS_PER_CHECK = 10
_PATIENCE = 6  # checks without a better loss
_LEAST_GAIN = 1e-5  # per row
_SCALE_RATE = 0.5  # of the learning rate: a scale that is fitted too fast follows single rows


@dataclass(frozen=True)
class BoostingRule:
    """How boosters are trained.

    Parameters
    ----------
    depth, min_leaf : int
        Of each tree.
    fit_scale : bool
        Whether each round has a tree for the logarithm of the scale.
    rate : float
        What Newton's steps are multiplied by.
    max_rounds : int
    share : float
        Of the rows, drawn for each round.
    penalty : float
        Added to the sum of curvatures in a leaf.
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

    Parameters
    ----------
    edges : ndarray of shape (n_features, n_bins - 1)
    feature : int32 array of shape (n_boosters, n_rounds, n_parts, n_inner_nodes)
    cut : uint8 array of the same shape
        Last bin of the first child.
    value : ndarray of shape (n_boosters, n_rounds, n_parts, n_leaves)
    """

    edges: Floats
    feature: NDArray[np.int32]
    cut: NDArray[np.uint8]
    value: Floats

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by their names in the constructor."""
        return {
            "edges": self.edges,
            "feature": self.feature,
            "cut": self.cut,
            "value": self.value,
        }

    def predict(self, x: Floats) -> Floats:
        """Return location and logarithm of the scale of each row, of shape (2, n)."""
        codes = codes_of(x, self.edges)
        mean = np.zeros((2, len(x)))
        for trees in zip(self.feature, self.cut, self.value, strict=True):
            state = np.zeros((2, len(x)))
            add_rounds(codes, *trees, state)
            mean += state
        return mean / len(self.feature)


def codes_of(x: Floats, edges: Floats) -> NDArray[np.uint8]:
    """Return the bins of all values."""
    codes = np.empty(x.shape, np.uint8)
    bin_values(np.ascontiguousarray(x), edges, codes)
    return codes


class _FoldRun:
    """The training of one booster on the rows outside a fold."""

    def __init__(
        self,
        rule: BoostingRule,
        rows: tuple[NDArray[np.uint8], Floats, NDArray[np.bool_], Floats],
        held_out: NDArray[np.bool_],
        seed: int,
    ) -> None:
        n, n_features = rows[0].shape
        self._rule, self._rows = rule, rows
        self._train = np.flatnonzero(~held_out).astype(np.int32)
        self.held_out = np.flatnonzero(held_out).astype(np.int32)
        self._seed = np.array([seed], np.uint64)
        self.state = np.zeros((2, n))
        rows_and_one = len(self._train) + 1
        self._work = (
            # Single precision: a row's two derivatives share a line of the cache with others'.
            np.empty((n, 2), np.float32),
            np.empty(rows_and_one, np.int32),
            np.empty(rows_and_one, np.int32),
            np.empty(rows_and_one, np.int32),
            np.empty((rule.depth + 1, 6), np.int64),
            np.empty((rule.depth, 2, n_features, N_BINS, 3)),
        )
        self._blocks: list[tuple[NDArray[Any], ...]] = []

    def loss(self) -> float:
        """Return the sum of the losses of the rows held out."""
        return float(total_loss(*self._rows[1:], self.state, self.held_out))

    def advance(self, n_rounds: int, stopping: Event) -> float:
        """Train some rounds more and return the loss; a round of many rows takes long."""
        rule = self._rule
        rates, n_leaves = rule.rates, 2**rule.depth
        shape = (n_rounds, len(rates))
        trees = (
            np.empty((*shape, n_leaves - 1), np.int32),
            np.empty((*shape, n_leaves - 1), np.uint8),
            np.empty((*shape, n_leaves)),
        )
        for k in range(n_rounds):
            stop_if_asked(stopping)
            run_rounds(
                *self._rows,
                self._train,
                rule.share,
                rule.penalty,
                rule.min_leaf,
                rates,
                self._seed,
                self.state,
                *self._work,
                *(part[k : k + 1] for part in trees),
            )
        self._blocks.append(trees)
        return self.loss()

    def trees(self, n_rounds: int) -> tuple[NDArray[Any], ...]:
        """Return features, cuts and values of the first rounds."""
        return tuple(np.concatenate(parts)[:n_rounds] for parts in zip(*self._blocks, strict=True))


def cross_fitted(
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
    """Return one booster per fold, and what it says of the fold's own rows, of shape (2, n).

    All have the same number of rounds, at which the sum of their losses on the rows that they have
    not seen is lowest. It may be 0.
    """
    edges = edges_of(x[:: stride(len(x), _ROWS_FOR_BINS)], N_BINS)
    rows = (codes_of(x, edges), z, event, weight)
    runs = [_FoldRun(rule, rows, fold_of == fold, seed) for fold, seed in enumerate(seeds)]
    best, best_rounds, n_rounds = sum(run.loss() for run in runs), 0, 0
    held_out = np.zeros((2, len(x)))
    n_vain, least_gain = 0, _LEAST_GAIN * weight.sum()
    while n_rounds < rule.max_rounds and n_vain < _PATIENCE:
        n_new = min(_ROUNDS_PER_CHECK, rule.max_rounds - n_rounds)
        tasks = [_advance(run, n_new) for run in runs]
        loss = sum(side_by_side(tasks, n_jobs, on_interrupt="raise", stopping=stopping))
        n_rounds += n_new
        n_vain += 1
        if loss < best - least_gain:
            best, best_rounds, n_vain = loss, n_rounds, 0
            for run in runs:
                held_out[:, run.held_out] = run.state[:, run.held_out]
    trees = zip(*(run.trees(best_rounds) for run in runs), strict=True)
    feature, cut, value = (np.stack(part) for part in trees)
    return Boosters(edges, feature, cut, value), held_out


def _advance(run: _FoldRun, n_rounds: int) -> Any:
    def task(stopping: Event) -> float:
        return run.advance(n_rounds, stopping)

    return task
