"""Trees in a graph: boosting, forests, and the follow-up of individuals."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._trees._boosting import HIGHEST_LOG_SCALE, LOWEST_LOG_SCALE, Boosters
from censquant._trees._follow_up import TIME_ROUNDING, FollowUp, Trees
from censquant._trees._follow_up_kernels import N_BINS
from censquant._trees._forest import PRIOR_HAZARD, ROUNDING, TAIL_FROM, FeatureUnits, Leaves
from censquant._typing import Floats
from censquant.export._graph import TreeArrays, Value, count_in_rows, count_in_table
from censquant.export._graphs_curves import GraphCurve, graph_reach
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


# Rounds that are computed side by side: each step of a loop costs as much as many rows do.
_ROUNDS_PER_STEP = 10


def boosters_graph(boosters: Boosters, x: Value) -> tuple[Value, Value]:
    """Return location and logarithm of the scale of each row, each of shape (n, 1)."""
    graph = x.graph
    n_boosters, n_rounds, n_parts, n_inner = boosters.feature.shape
    n_leaves, n_trees = n_inner + 1, n_boosters * n_parts
    if n_rounds == 0:
        zero = graph.repeated(np.zeros(1), x)
        return zero, zero
    n_steps = -(-n_rounds // _ROUNDS_PER_STEP)
    feature, threshold, value = _by_rounds(boosters, n_steps * _ROUNDS_PER_STEP)
    places = np.arange(_ROUNDS_PER_STEP * n_trees)
    is_scale = np.arange(n_trees) % n_parts == 1
    low = np.where(is_scale, LOWEST_LOG_SCALE, -np.inf)
    high = np.where(is_scale, HIGHEST_LOG_SCALE, np.inf)

    def step(number: Value, state: Value) -> list[Value]:
        begin = number * len(places)
        node = graph.repeated(np.zeros(len(places), np.int64), x)
        for _ in range(n_leaves.bit_length() - 1):
            here = (begin * n_inner + places * n_inner) + node
            right = x.take_along(graph.lookup(feature, here)) > graph.lookup(threshold, here)
            node = node * 2 + right.as_integer() + 1
        leaf = (begin * n_leaves + (places * n_leaves - n_inner)) + node
        values = graph.lookup(value, leaf)
        for place in range(_ROUNDS_PER_STEP):
            own = values.columns(np.arange(place * n_trees, (place + 1) * n_trees))
            state = (state + own).clip(low, high)
        return [state]

    (state,) = graph.loop(n_steps, [graph.repeated(np.zeros(n_trees), x)], step)
    columns = np.arange(n_trees).reshape(n_boosters, n_parts)
    location, log_scale = (
        state.columns(columns[:, part]).sum() / float(n_boosters) if part < n_parts else None
        for part in range(2)
    )
    assert location is not None
    return location, graph.repeated(np.zeros(1), x) if log_scale is None else log_scale


def _by_rounds(boosters: Boosters, n_rounds: int) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return features, thresholds and values round by round, with empty rounds at the end."""
    missing = n_rounds - boosters.feature.shape[1]
    pad = ((0, 0), (0, missing), (0, 0), (0, 0))
    feature = np.pad(boosters.feature, pad).astype(np.int64)
    cut = np.pad(boosters.cut, pad).astype(np.int64)
    value = np.pad(boosters.value, pad)
    # A value lies beyond a bin if it exceeds the bin's upper edge; the last bin has none.
    edges = np.pad(boosters.edges, ((0, 0), (0, 1)), constant_values=np.inf)
    threshold = edges[feature, np.minimum(cut, edges.shape[1] - 1)]
    return _by_round(feature), _by_round(threshold), _by_round(value)


def _by_round(array: NDArray[Any]) -> NDArray[Any]:
    return np.swapaxes(array, 0, 1).ravel()


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
        size = np.add.reduceat(leaves.weights.astype(np.float64), leaves.start[:-1])
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
