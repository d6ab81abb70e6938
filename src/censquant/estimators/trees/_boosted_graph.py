"""Boosters in a graph."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._trees._boosters import Boosters
from censquant._trees._censored_normal import HIGHEST_LOG_SCALE, LOWEST_LOG_SCALE
from censquant._typing import Floats
from censquant.export import Value

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
