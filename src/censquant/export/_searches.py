"""Searches, interpolation and walks through trees, composed of a graph's operations."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.export._value import Value

# Deeper trees are walked in a loop, shallower ones step by step.
_DEEPEST_UNROLLED = 10


def count_in_table(table: Floats, values: Value, *, strictly: bool = False) -> Value:
    """Return how many entries of an increasing table are at most, or below, each value."""
    graph, length = values.graph, table.shape[-1]
    steps = _steps(length)
    width = 2 * steps[0] - 1 if steps else 0
    padded = np.full((*table.shape[:-1], width), np.inf)
    padded[..., :length] = table
    offset = np.arange(len(table)) * width if table.ndim == 2 else np.zeros(1, np.int64)
    count: Value | None = None
    for step in steps:
        place = graph.value(offset + step - 1, "integer")
        entry = graph.lookup(padded.ravel(), place if count is None else count + place)
        passed = (entry < values) if strictly else (entry <= values)
        found = passed.as_integer() * step
        count = found if count is None else count + found
    if count is None:
        return (values.equals(values)).as_integer() * 0
    return count.minimum(length)


def count_in_rows(rows: Value, values: Value, *, strictly: bool = False) -> Value:
    """Return how many entries of each increasing row are at most, or below, its values."""
    graph, length = rows.graph, int(rows.shape[-1] or 0)
    steps = _steps(length)
    missing = 2 * steps[0] - 1 - length
    if missing:
        lengths = tuple(int(n or 0) for n in rows.shape[1:-1])
        room = graph.repeated(np.full((*lengths, missing), np.inf), rows)
        rows = graph.concat([rows, room])
    n_values = int(values.shape[-1] or 0)
    lengths = tuple(int(n or 0) for n in rows.shape[1:-1])
    count = graph.repeated(np.zeros((*lengths, n_values), np.int64), rows)
    for step in steps:
        entry = rows.take_along(count + (step - 1))
        passed = (entry < values) if strictly else (entry <= values)
        count = count + passed.as_integer() * step
    return count.minimum(length)


def interpolate(values: Value, places: Floats, heights: Floats) -> Value:
    """Return heights between places on a line as ``numpy.interp`` does."""
    graph, last = values.graph, len(places) - 1
    left = (count_in_table(places, values) - 1).clip(0, last - 1)
    gaps = np.diff(places)
    slopes = np.divide(np.diff(heights), gaps, out=np.zeros(last), where=gaps > 0)
    distance = values - graph.lookup(places, left)
    inside = graph.lookup(slopes, left) * distance + graph.lookup(heights, left)
    inside = (values >= float(places[-1])).where(float(heights[-1]), inside)
    return (values < float(places[0])).where(float(heights[0]), inside)


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """Trees as arrays: all nodes one after the other.

    Parameters
    ----------
    root : integer array of shape (n_trees,)
        Place of the first node of each tree.
    feature : integer array of shape (n_nodes,)
        The column that a node splits by.
    threshold : ndarray of shape (n_nodes,)
        Larger values go to the second child.
    children : integer array of shape (n_nodes, 2)
        Places of both children; a leaf is its own child.
    """

    root: NDArray[Any]
    feature: NDArray[Any]
    threshold: NDArray[Any]
    children: NDArray[Any]

    @property
    def depth(self) -> int:
        """Most splits from a root to a leaf."""
        depth, waiting = -1, np.unique(self.root)
        while len(waiting):
            below = self.children[waiting]
            waiting = np.unique(below[below != waiting[:, None]])
            depth += 1
        return depth

    def leaves_of(self, columns: Value) -> Value:
        """Return the place of the leaf of each row in each tree, of shape (n, n_trees)."""
        graph = columns.graph

        def step(number: Any, node: Value) -> list[Value]:
            own = columns.take_along(graph.lookup(self.feature.astype(np.int64), node))
            right = own > graph.lookup(self.threshold.astype(np.float64), node)
            child = node * 2 + right.as_integer()
            return [graph.lookup(self.children.ravel().astype(np.int64), child)]

        node, depth = graph.repeated(self.root.astype(np.int64), columns), self.depth
        if depth > _DEEPEST_UNROLLED:
            return graph.loop(depth, [node], step)[0]
        for _ in range(depth):
            (node,) = step(None, node)
        return node


def _steps(length: int) -> list[int]:
    """Return the powers of two that add up to any count from 0 to a length."""
    return [1 << bit for bit in reversed(range(length.bit_length()))]
