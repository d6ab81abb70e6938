"""A forest's Kaplan-Meier curves of similar individuals in a graph."""

import numpy as np

from censquant._trees._beran import PRIOR_HAZARD, ROUNDING, TAIL_FROM
from censquant._trees._feature_units import FeatureUnits
from censquant._trees._leaves import Leaves
from censquant._typing import Floats
from censquant.export import TreeArrays, Value, count_in_rows


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
    survival = factor.cumprod()
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
