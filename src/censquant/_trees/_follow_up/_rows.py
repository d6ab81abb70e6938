"""Training rows as the trees of follow-up read them: few enough, in order of time, binned."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from censquant._trees._bins import assign_bins, edges_of, stride
from censquant._trees._follow_up_kernels import (
    MOST_ROWS_PER_TREE,
    N_BINS,
    DrawWork,
    GrowWork,
    Moments,
    Rows,
    Sample,
    SplitRule,
    draw_rows,
    find_leaves,
    grow_tree,
    martingale_residuals,
)
from censquant._typing import Floats

EVENT, CENSORING = 0, 1
_MOST_ROWS = 50_000
_MOST_FEATURES = 64
_ROWS_FOR_BINS = 1_024
_ROWS_FOR_SCORES = 500
_CELLS_FOR_SCREENING = 2_000_000
_FEATURES_AT_A_TIME = 1_024


@dataclass(frozen=True)
class Growth:
    """How trees are grown: by which jumps, how many, how deep, from how many rows.

    ``chance`` is roughly the probability that features without any effect split a node.
    """

    jump: int
    n_trees: int
    depth: int
    min_leaf: int
    min_split: int
    chance: float
    fewest_rows: int

    def n_rows(self, n: int) -> int:
        """Return how many of ``n`` rows choose the splits of one tree."""
        return max(1, min(7 * n // 10, self.fewest_rows + n // 8, MOST_ROWS_PER_TREE))

    def critical_value(self, n_features: int) -> float:
        """Return the log-rank statistic from which on a split is significant."""
        # Two halves of the jumps make it chi-squared with two degrees of freedom.
        return float(2.0 * np.log(max(n_features, 1) / self.chance))


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees on bins of features and on one linear score per tree; all nodes are in one array."""

    slope: Floats
    constant: Floats
    root: NDArray[np.int64]
    nodes: NDArray[np.int64]
    depth: int

    @property
    def leaves(self) -> NDArray[np.intp]:
        """Places of the nodes without children, which are their own left child."""
        return np.flatnonzero(self.nodes >> 32 == np.arange(len(self.nodes)))

    def arrays(self) -> tuple[Floats, Floats, NDArray[np.int64], NDArray[np.int64]]:
        """Return the arrays in the order of the constructor."""
        return self.slope, self.constant, self.root, self.nodes

    def leaves_of(self, codes: NDArray[np.uint8]) -> NDArray[np.uint32]:
        """Return the leaf of every row in each tree, of shape (n_trees, n)."""
        leaf_of = np.empty((len(self.root), len(codes)), np.uint32)
        find_leaves(codes, *self.arrays(), self.depth, leaf_of)
        return leaf_of

    def describe(self) -> dict[str, int]:
        """Return sizes as plain data."""
        return {
            "n_trees": len(self.root),
            "n_nodes": len(self.nodes),
            "n_leaves": len(self.leaves),
            "depth": self.depth,
        }


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """Rows in order of time, events before censorings of the same time, with binned features."""

    columns: NDArray[np.int64]
    edges: Floats
    rows: Rows
    moments: Moments

    @classmethod
    def from_rows(
        cls,
        x: NDArray[Any],
        time: NDArray[Any],
        event: NDArray[np.bool_],
        weight: NDArray[Any],
        rng: np.random.Generator,
    ) -> Self:
        """Take the rows, or of very many a sample drawn by weight, and the features that matter."""
        if len(x) > _MOST_ROWS:
            drawn = _drawn(weight, rng)
            x, time, event, weight = x[drawn], time[drawn], event[drawn], np.ones(_MOST_ROWS)
        order = _order(time, event)
        time = time[order].astype(np.float64)
        keys = 2 * np.concatenate(([0], np.cumsum(time[1:] > time[:-1]))) + ~event[order]
        columns = _columns(x, order, keys)
        x = take_columns(x[order], columns)
        edges = edges_of(x[:: stride(len(x), _ROWS_FOR_BINS)], N_BINS)
        codes, weight = assign_bins(x, edges, 1), weight[order].astype(np.float64)
        return cls(columns, edges, Rows(time, keys, weight, codes), _moments(codes))

    def grow(self, growth: Growth, rng: np.random.Generator) -> Trees:
        """Return trees that are each grown on random rows."""
        n, p = len(self.rows.keys), len(self.columns)
        m = growth.n_rows(n)
        cumulative, uniform = np.cumsum(self.rows.weight), rng.random((growth.n_trees, m))
        critical = growth.critical_value(p)
        rule = SplitRule(growth.jump, growth.depth, growth.min_leaf, growth.min_split, critical)
        drawing = DrawWork(np.empty(m, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(p))
        sample = Sample(np.empty((m, p + 1), np.uint8), np.empty(m, np.int64))
        growing = GrowWork.make(m, p + 1, growth.depth)
        slope, constant = np.empty((growth.n_trees, p)), np.empty(growth.n_trees)
        root = np.empty(growth.n_trees, np.int64)
        nodes = np.empty(growth.n_trees * len(growing.tree), np.int64)
        n_nodes = 0
        for k in range(growth.n_trees):
            constant[k] = draw_rows(
                self.rows,
                self.moments,
                cumulative,
                uniform[k],
                growth.jump,
                _ROWS_FOR_SCORES,
                drawing,
                slope[k],
                sample,
            )
            root[k] = n_nodes
            seed = int(uniform[k, 0] * 2.0**31)
            n_nodes = grow_tree(sample, rule, seed, growing, n_nodes, nodes)
        return Trees(slope, constant, root, nodes[:n_nodes].copy(), growth.depth)


def take_columns(x: NDArray[Any], columns: NDArray[np.int64]) -> Floats:
    """Return some columns as the kernels read them."""
    taken = x if len(columns) == x.shape[1] else x[:, columns]
    return np.ascontiguousarray(taken, dtype=np.float64)


def _drawn(weight: NDArray[Any], rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw rows by weight, one from each of equally heavy strata."""
    cumulative = np.cumsum(weight, dtype=np.float64)
    place = (np.arange(_MOST_ROWS) + rng.random(_MOST_ROWS)) * (cumulative[-1] / _MOST_ROWS)
    drawn: NDArray[np.intp] = np.searchsorted(cumulative[:-1], place, side="right")
    return drawn


def _moments(codes: NDArray[np.uint8]) -> Moments:
    """Return the mean of the bins and the inverse of their covariance."""
    some = codes[:: stride(len(codes), _ROWS_FOR_BINS), :-1].astype(np.float64)
    mean: Floats = some.mean(axis=0)
    some -= mean
    covariance = some.T @ some / len(some)
    # Features may be constant or copies of each other.
    covariance += np.diag(1e-3 * np.diag(covariance) + 1e-6)
    return Moments(mean, np.asarray(np.linalg.inv(covariance), np.float64))


def _order(time: NDArray[Any], event: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the order of time, events before censorings of the same time."""
    order = np.argsort(time)
    sorted_time = time[order]
    if (sorted_time[1:] == sorted_time[:-1]).any():
        return np.lexsort((~event, time))
    return order


def _columns(
    x: NDArray[Any], order: NDArray[np.intp], keys: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the features to use: all, or of very many those that best explain either residual."""
    n, p = x.shape
    if p <= _MOST_FEATURES:
        return np.arange(p)
    some = np.arange(0, n, stride(n, max(200, _CELLS_FOR_SCREENING // p)))
    residuals = np.empty((2, len(some)))
    for jump in (EVENT, CENSORING):
        martingale_residuals(keys, some, len(some), jump, residuals[jump])
    strength = np.empty((2, p))
    for start in range(0, p, _FEATURES_AT_A_TIME):
        block = slice(start, start + _FEATURES_AT_A_TIME)
        values = np.ascontiguousarray(x[order[some], block], dtype=np.float64)
        bins = assign_bins(values, edges_of(values, N_BINS)).astype(np.float64)
        spread = np.maximum(bins.std(axis=0), 1e-9)
        strength[:, block] = np.abs(residuals @ (bins - bins.mean(axis=0))) / spread
    strongest = np.argsort(-strength, axis=1, kind="stable")[:, : _MOST_FEATURES // 2]
    return np.unique(strongest).astype(np.int64)
