"""Features as small whole numbers, for trees that split between bins."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._compile import exact
from censquant._typing import Floats

# So much of half the gap between two values an edge is above the middle: a later value in the very
# middle is then below it in every unit, however that rounds it.
_ABOVE_MIDDLE = 2.0**-30


def edges_of(x: Floats, n_bins: int) -> Floats:
    """Return the edges between the bins of each column, infinite where there are fewer values."""
    edges = np.full((x.shape[1], n_bins - 1), np.inf)
    _write_edges(np.sort(np.ascontiguousarray(x.T)), edges)
    return edges


def assign_bins(x: Floats, edges: Floats, n_spare: int = 0) -> NDArray[np.uint8]:
    """Return the bins of all values, and room for further columns."""
    codes = np.zeros((len(x), x.shape[1] + n_spare), np.uint8)
    _write_bins(np.ascontiguousarray(x), edges, codes)
    return codes


def stride(n: int, most: int) -> int:
    """Return a step that leaves at most ``most`` of ``n`` rows."""
    return max(1, -(-n // most))


@exact
def _write_edges(values: Any, edges: Any) -> None:
    """Write edges between the sorted values of each feature, with equal counts between them.

    An edge is a hair above the middle of two neighbours. Repeated values make fewer edges; others
    are kept. There is one more bin than there is room for edges.
    """
    p, n = values.shape
    n_bins = edges.shape[1] + 1
    for f in range(p):
        n_steps, count, passed = 0, 0, 0
        for i in range(1, n):
            if values[f, i] > values[f, i - 1]:
                n_steps += 1
        for i in range(1, n):
            due = n_steps < n_bins or i * n_bins >= (passed + 1) * n
            if due and values[f, i] > values[f, i - 1]:
                low, high = values[f, i - 1] / 2.0, values[f, i] / 2.0
                edges[f, count] = low + high + _ABOVE_MIDDLE * (high - low)
                count += 1
                passed = i * n_bins // n


@exact
def _write_bins(x: Any, edges: Any, codes: Any) -> None:
    """Write how many edges of its feature each value exceeds; bins are a power of 2 in number."""
    n, p = x.shape
    half = np.uintp((edges.shape[1] + 1) // 2)
    for i in range(n):
        for f in range(p):
            value, code, step = x[i, f], np.uintp(0), half
            while step > 0:
                code += step * np.uintp(value > edges[f, code + step - np.uintp(1)])
                step >>= np.uintp(1)
            codes[i, f] = code
