"""The follow-up of individuals in a graph: how long they were followed, and the reach of curves."""

import numpy as np
from numpy.typing import NDArray

from censquant._trees._follow_up._forest import FollowUp
from censquant._trees._follow_up._reach import TIME_ROUNDING
from censquant._trees._follow_up._rows import Trees
from censquant._trees._follow_up._trees import N_BINS
from censquant.export import TreeArrays, Value, count_in_table
from censquant.quantiles._graph_curves import GraphCurve, graph_reach
from censquant.survival._transform import TimeTransform


def followed_graph(
    follow_up: FollowUp | None,
    x: Value,
    transform: TimeTransform,
    observed: tuple[float, float],
) -> tuple[Value, Value]:
    """Return what ``followed`` does, each of shape (n, 1); ``x`` are features as it knows them."""
    graph, left = x.graph, transform.mirror
    (end,) = graph.row_limits(np.array(observed[:1] if left else observed[1:])).tolist()
    if follow_up is None or not len(follow_up.limits):
        ends = (end, 0.0) if left else (end, 1.0)
        limit, level = (graph.repeated(np.array([value]), x) for value in ends)
        return limit, level
    # Bins are counted by edges that a value exceeds.
    codes = count_in_table(follow_up.edges, x.columns(follow_up.columns), strictly=True).as_float()
    known = graph.row_limits(follow_up.limits)
    limits = graph.lookup(known, _leaves(follow_up.by_censoring, codes)).sort()[0]
    limit = limits.columns([1])
    level = _level_at(follow_up, _leaves(follow_up.by_events, codes), limit)
    time = transform.graph_inverse(limit)
    return (time.maximum(end), 1.0 - level) if left else (time.minimum(end), level)


def reach_graph(curve: GraphCurve, followed: tuple[Value, Value], *, lowest: bool) -> Value:
    """Return what ``ReachRule`` does, of shape (n, 1)."""
    limit, level = followed
    limit = limit + limit.abs() * (-TIME_ROUNDING if lowest else TIME_ROUNDING)
    reach = graph_reach(curve, limit, lowest=lowest)
    return reach.maximum(level) if lowest else reach.minimum(level)


def _leaves(trees: Trees, codes: Value) -> Value:
    """Return the leaf of each row in each tree; every tree has a linear score of its own."""
    n_columns = int(codes.shape[-1] or 0)
    scores = (codes.matmul(trees.slope.T) + trees.constant).clip(0.0, N_BINS - 1.0).floor()
    place = np.arange(len(trees.nodes))
    tree = np.searchsorted(trees.root, place, side="right") - 1
    left, feature, cut = _unpacked(trees.nodes)
    is_leaf = left == place
    feature = np.where((feature == n_columns) & ~is_leaf, n_columns + tree, feature)
    children = np.column_stack((left, np.where(is_leaf, left, left + 1)))
    arrays = TreeArrays(trees.root, feature, cut.astype(np.float64), children)
    return arrays.leaves_of(codes.graph.concat([codes, scores]))


def _unpacked(
    nodes: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return left child, feature and last bin on the left of nodes that are one number each."""
    return nodes >> 32, (nodes >> 16) & 0xFFFF, nodes & 0xFFFF


def _level_at(follow_up: FollowUp, leaf: Value, limit: Value) -> Value:
    """Return the mean of the leaves' curves at the limit of each row; see ``levels_at``."""
    graph = leaf.graph
    grid = graph.row_limits(follow_up.grid)
    time = limit.clip(grid[0], grid[-1])
    after = count_in_table(grid, time, strictly=True).minimum(len(grid) - 1)
    before = (after - 1).maximum(0)
    curve, n_trees = follow_up.curve.astype(np.float64).ravel(), float(leaf.shape[-1] or 1)
    low, high = (
        graph.lookup(curve, leaf * len(grid) + place).sum() / n_trees for place in (before, after)
    )
    start = graph.lookup(grid, before)
    gap = graph.lookup(grid, after) - start
    wide = gap > 0.0
    part = wide.where((time - start) / wide.where(gap, 1.0), 1.0)
    return low + part * (high - low)
