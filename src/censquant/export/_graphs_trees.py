"""Trees in a graph: boosting, forests, and the follow-up of individuals."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._trees._boosting import HIGHEST_LOG_SCALE, LOWEST_LOG_SCALE, NO_CUT, Boosters
from censquant._trees._follow_up import TIME_ROUNDING, FollowUp, Trees
from censquant._trees._follow_up_kernels import N_BINS
from censquant._trees._forest import (
    PRIOR_HAZARD,
    ROUNDING,
    SMALLEST_RISK_SET,
    TAIL_FROM,
    FeatureUnits,
    Leaves,
)
from censquant._typing import Floats
from censquant.export._graph import TreeArrays, Value, count_in_rows, count_in_table, known_length
from censquant.export._graphs_curves import GraphCurve, graph_reach
from censquant.quantiles._curve import LARGEST_UNSEEN_SHARE
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
    codes, limit = _limits(follow_up, x)
    level = _level_at(follow_up, _leaves(follow_up.by_events, codes), limit)
    time = transform.graph_inverse(limit)
    return (time.maximum(end), 1.0 - level) if left else (time.minimum(end), level)


def _limits(follow_up: FollowUp, x: Value) -> tuple[Value, Value]:
    """Return the bins of the features, and what ``FollowUp.limit`` does, of shape (n, 1)."""
    # Bins are counted by edges that a value exceeds.
    codes = count_in_table(follow_up.edges, x.columns(follow_up.columns), strictly=True).as_float()
    known = x.graph.row_limits(follow_up.limits)
    limits = x.graph.lookup(known, _leaves(follow_up.by_censoring, codes)).sort()[0]
    return codes, limits.columns([1])


def begun_graph(
    entered: FollowUp | None, x: Value, curve: GraphCurve, reach: Value, *, empirical: bool
) -> Value:
    """Return the reach (n, 1) of curves, 0 where the data begin late."""
    if entered is None:
        return reach
    start = (-_limits(entered, x)[1]).maximum(0.0)
    share = curve.levels_of(start)
    if empirical:
        after = curve.levels_of(start * 2.0) - share
        share = share.maximum(after / (1.0 - share).maximum(1e-300))
    return (share <= LARGEST_UNSEEN_SHARE).where(reach, (start <= 0.0).where(reach, 0.0))


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


def boosters_graph(boosters: Boosters, x: Value) -> tuple[Value, Value]:
    """Return location and logarithm of the scale of each row, each of shape (n, 1)."""
    graph = x.graph
    n_boosters, n_rounds, n_parts, _ = boosters.feature.shape
    if n_rounds == 0:
        zero = graph.repeated(np.zeros(1), x)
        return zero, zero
    # Trees of the locations first, then of the scales, those of a booster one after the other.
    arrays: tuple[NDArray[Any], ...] = (boosters.feature, boosters.cut, boosters.value)
    feature, cut, value = (
        np.moveaxis(array, 2, 0).reshape(-1, array.shape[-1]) for array in arrays
    )
    codes = count_in_table(boosters.edges, x, strictly=True).as_float()
    trees, values = _complete_trees(feature, cut, value)
    steps = graph.lookup(values, trees.leaves_of(codes))
    n_each = n_boosters * n_rounds
    location = steps.columns(np.arange(n_each)).sum() / float(n_boosters)
    if n_parts == 1:
        return location, graph.repeated(np.zeros(1), x)
    of_scale = steps.columns(np.arange(n_each, 2 * n_each)).reshape(n_boosters, n_rounds)
    log_scale = _bounded_sum(of_scale, LOWEST_LOG_SCALE, HIGHEST_LOG_SCALE)
    return location, log_scale.reshape(n_boosters).sum() / float(n_boosters)


def _complete_trees(
    feature: NDArray[Any], cut: NDArray[Any], value: Floats
) -> tuple[TreeArrays, Floats]:
    """Return trees of a known depth without splits that divide nothing, and values by node."""
    columns: list[int] = []
    thresholds: list[float] = []
    children: list[tuple[int, int]] = []
    values: list[float] = []
    roots = []
    n_inner = feature.shape[1]
    for own_feature, own_cut, own_value in zip(
        feature.tolist(), cut.tolist(), value.tolist(), strict=True
    ):
        roots.append(len(columns))
        waiting = [(0, -1, 0)]  # node, place of its parent, and which child it is
        while waiting:
            node, parent, side = waiting.pop()
            while node < n_inner and own_cut[node] == NO_CUT:
                node = 2 * node + 1
            here = len(columns)
            if parent >= 0:
                left, right = children[parent]
                children[parent] = (left, here) if side else (here, right)
            is_leaf = node >= n_inner
            columns.append(0 if is_leaf else own_feature[node])
            # Bins are whole numbers: those above the last one on the left go to the right.
            thresholds.append(0.0 if is_leaf else own_cut[node] + 0.5)
            values.append(own_value[node - n_inner] if is_leaf else 0.0)
            children.append((here, here))
            if not is_leaf:
                waiting += [(2 * node + 2, here, 1), (2 * node + 1, here, 0)]
    arrays = TreeArrays(
        np.array(roots), np.array(columns), np.array(thresholds), np.array(children)
    )
    return arrays, np.array(values)


def _bounded_sum(steps: Value, low: float, high: float) -> Value:
    """Return the sums over the last axis, which is kept within bounds after every step."""
    length = known_length(steps.shape[-1])
    sums = steps.cumsum()
    last = sums.columns([length - 1])
    leaves_bounds = (sums.max() > high) | (sums.min() < low)

    def step(number: Value, total: Value) -> list[Value]:
        place = total.graph.repeated(np.zeros(total.shape[1:], np.int64), total) + number
        before = number.equals(0).where(0.0, total)
        return [(before + steps.take_along(place)).clip(low, high)]

    return steps.graph.loop(length, [last], step, only_if=leaves_bounds)[0]


def leaf_numbers(units: FeatureUnits, leaves: Leaves, x: Value) -> Value:
    """Return the leaf of each row in each tree, of shape (n, n_trees)."""
    single = ((x / 2.0 - units.half_median) / units.half_reach).as_single()
    place = np.arange(len(leaves.feature))[:, None]
    is_leaf = leaves.children < 0
    children = np.where(is_leaf, place, leaves.children)
    arrays = TreeArrays(leaves.root, leaves.feature, leaves.threshold, children)
    number = np.where(is_leaf[:, 0], -leaves.children[:, 0] - 1, 0).astype(np.int64)
    return x.graph.lookup(number, arrays.leaves_of(single))


def beran_graph(
    leaf: Value, leaves: Leaves, times: Floats, lowest: float, mean_rate: float, levels: Floats
) -> tuple[Value, Value, Value]:
    """Return quantiles, and time and level of the end of each curve; see ``beran_quantiles``."""
    graph, n_slots = leaf.graph, len(times) + 1
    size = np.diff(leaves.start).astype(np.float64)
    if len(leaves.weights):
        positive = np.maximum(leaves.weights.astype(np.float64), 0.0)
        size = np.add.reduceat(positive, leaves.start[:-1])
    sums = graph.leaf_sums(
        leaf,
        leaves.start,
        leaves.codes.astype(np.int64),
        leaves.weights.astype(np.float64),
        1.0 / size,
        2 * n_slots,
    )
    slot = np.arange(n_slots)
    events, both = sums.columns(2 * slot + 1), sums.columns(2 * slot)
    both = both + events
    at_risk = both.cumsum(reverse=True)
    if (leaves.weights < 0).any():  # rows that entered late
        largest = at_risk.max()
        is_early = (at_risk >= largest).where(1.0, 0.0).cumsum(reverse=True) > 0.0
        at_risk = at_risk.maximum(is_early.where(largest * SMALLEST_RISK_SET, 0.0)).maximum(events)
    any_event = events > 0.0
    factor = any_event.where(1.0 - events / any_event.where(at_risk, 1.0), 1.0)
    # A product, whose rounding is far below that of the levels.
    survival = factor.log().cumsum().exp()
    left = survival.columns([n_slots - 1])
    level = 1.0 - left

    # Times by slot: the first slot lies before all of them.
    time_of = np.append(lowest, times)
    last_event = (factor < 1.0).where(slot.astype(np.float64), 0.0).max()
    last_row = (both > 0.0).where(slot.astype(np.float64), 0.0).max()
    last = (last_event > 0.0).where(last_event, last_row).as_integer()
    end = graph.lookup(time_of, last)

    begun = level * TAIL_FROM
    rise = 1.0 - survival
    first = count_in_rows(rise, begun, strictly=True).minimum(last)
    begin = graph.lookup(time_of, first)
    hazard = ((1.0 - begun) / left).log() + PRIOR_HAZARD
    rate = hazard / (end - begin + PRIOR_HAZARD / mean_rate)

    bound = (1.0 - levels) * (1.0 + ROUNDING)
    reached = count_in_rows(-survival, graph.value(-bound), strictly=True)
    inside = graph.lookup(time_of, reached.minimum(n_slots - 1))
    beyond = end + (left / (1.0 - levels)).log() / rate
    return (reached < n_slots).where(inside, beyond), end, level
