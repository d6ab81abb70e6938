"""Grids of quantile levels: the default one, evenly spaced ones, and the check of a user's."""

from __future__ import annotations

import operator
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats

DEFAULT_QUANTILES: tuple[float, ...] = tuple(round(0.05 * step, 2) for step in range(1, 20))
"""The 19 levels 0.05, 0.10, ..., 0.95 that estimators fit by default."""

CURVE_QUANTILES: tuple[float, ...] = (
    *(0.001, 0.002, 0.005, 0.01, 0.025),
    *DEFAULT_QUANTILES,
    *(0.975, 0.99),
)
"""The default levels and more at each end: the grid of models that know a whole distribution.

They carry the tails of a curve where quantiles at the default levels would leave a tenth of the
probability to an assumption. Most lie below: where nearly everybody is censored, the earliest
events decide between individuals.
"""

_LEVELS_SHOWN = 20


def check_quantiles(quantiles: ArrayLike | None, *, name: str = "quantiles") -> Floats:
    """Levels of a grid as a float array, refused unless strictly increasing inside (0, 1).

    Every grid that a model is fitted on passes through here, so that the rest of the library may
    rely on its order.
    """
    if quantiles is None:
        return np.array(DEFAULT_QUANTILES)
    levels = _as_vector(quantiles, name)
    # Written so that a NaN fails: it is neither inside nor larger than its neighbour.
    right = _inside(levels) & (np.diff(levels, prepend=-np.inf) > 0)
    if not right.all():
        raise ValueError(
            f"{name} must be strictly increasing and inside (0, 1), got {_shown(levels, ~right)}."
        )
    return levels


def check_levels(levels: ArrayLike, *, name: str = "levels") -> Floats:
    """Levels to evaluate a curve at, as a float array; any order, each inside (0, 1).

    Unlike the grid of a model (`check_quantiles`) the levels of a prediction may come in
    any order and repeat.
    """
    vector = _as_vector(levels, name)
    inside = _inside(vector)
    if not inside.all():
        raise ValueError(f"{name} must be inside (0, 1), got {_shown(vector, ~inside)}.")
    return vector


def even_grid(n_levels: SupportsIndex) -> Floats:
    """Evenly spaced levels k / (n_levels + 1) for k = 1, ..., n_levels.

    The grid cuts (0, 1) into `n_levels` + 1 cells of equal probability, which is what calibration
    counts need. It starts at 1 / (n_levels + 1): with few levels the early events are then coarsely
    described.
    """
    try:
        count = operator.index(n_levels)
    except TypeError:
        raise TypeError(f"n_levels must be an integer, got {n_levels!r}.") from None
    if count < 1:
        raise ValueError(f"n_levels must be at least 1, got {count}.")
    return np.arange(1, count + 1) / (count + 1)


def _as_vector(levels: ArrayLike, name: str) -> Floats:
    """Return a new non-empty 1-D float array, or raise."""
    array = np.asarray(levels)
    if array.dtype.kind not in "iuf" and array.size > 0:
        raise TypeError(f"{name} must be numbers, got {levels!r}.")
    if array.ndim > 1:
        raise ValueError(f"{name} must be one-dimensional, got an array of shape {array.shape}.")
    if array.size == 0:
        raise ValueError(f"{name} must hold at least one level, got none.")
    return np.array(array, dtype=np.float64, ndmin=1)


def _inside(levels: Floats) -> NDArray[np.bool_]:
    """Whether each level is inside (0, 1); false for NaN."""
    return (levels > 0) & (levels < 1)


def _shown(levels: Floats, wrong: NDArray[np.bool_]) -> str:
    """Write the levels as a tuple, or only the first wrong one where they are many."""
    if len(levels) <= _LEVELS_SHOWN:
        return repr(tuple(levels.tolist()))
    first = int(np.argmax(wrong))
    return f"{levels[first]} at position {first} of {len(levels)} levels"
