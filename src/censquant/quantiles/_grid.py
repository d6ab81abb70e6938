"""Grids of levels, and interpolation between them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
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


# Large enough that numpy's cost per call vanishes, small enough that the temporaries of a block
# stay in the cache.
_BLOCK_ENTRIES = 1 << 16

# A level is taken as the one of a single-level grid if it differs by rounding only.
_SAME_LEVEL = 1e-9


def crossed(values: Floats) -> bool:
    """Whether some row decreases somewhere."""
    return bool(np.any(values[:, 1:] < values[:, :-1]))


def sorted_rows(values: Floats) -> Floats:
    """Rows in increasing order; the array itself where all of them already are.

    Sorting is the rearrangement of crossed quantiles: it never moves them away from the true ones.
    """
    if not crossed(values):
        return values
    from censquant.quantiles._row_kernels import sort_rows

    result = values.copy()
    sort_rows(result)
    return result


def quantiles_of(values: Floats, taus: Floats, lower: float, levels: Floats) -> Floats:
    """Quantiles of each row at `levels` inside (0, 1) of shape (k,) or (n, k)."""
    if len(taus) > 1:
        return _by_blocks(lambda v, a: _quantile_block(v, taus, lower, a), values, levels)
    same_level_only(taus, levels)
    return np.repeat(values, levels.shape[-1], axis=1)


def same_level_only(taus: Floats, levels: Floats) -> None:
    """Raise unless levels are the only one of a grid, up to rounding."""
    unknown = np.abs(levels - taus[0]) > _SAME_LEVEL
    if unknown.any():
        raise ValueError(
            f"Only the level {taus[0]:g} was fitted, so the level {levels[unknown][0]:g} is "
            "unknown: fit two or more levels to ask for others."
        )


def stored_quantiles(values: Floats, taus: Floats, levels: Floats) -> Floats | None:
    """Return copies of the columns at `levels` of shape (k,), or None unless all are on the grid.

    The same as `quantiles_of`, and much faster: most predictions are at these.
    """
    if np.array_equal(levels, taus):
        return values.copy()
    place = np.minimum(np.searchsorted(taus, levels), len(taus) - 1)
    return values[:, place] if np.array_equal(taus[place], levels) else None


def levels_of(values: Floats, taus: Floats, lower: float, times: Floats) -> Floats:
    """Distribution function of each row at `times` of shape (T,) or (n, T)."""
    if np.isnan(times).any():
        raise ValueError("times must not contain NaN.")
    if len(taus) > 1:
        from censquant.quantiles._row_kernels import write_levels

        levels = np.empty((len(values), times.shape[-1]))
        # Arrays of one kind, since the kernel is compiled for each kind.
        values, taus, times = (
            a if a.flags.carray else np.require(a, requirements=["C", "W"])
            for a in (values, taus, times)
        )
        times = times if times.ndim == 2 else times[None]
        write_levels(values, taus, lower, tail_log(taus), times, levels)
        return levels
    # One point of the distribution function does not determine the others.
    return np.where(times == values, taus[0], np.nan)


def tail_remaining(values: Floats, taus: Floats, levels: Floats) -> Floats:
    """Further life at `levels` of rows that have outlived their last grid value, shape (n, k).

    An exponential tail has no memory, so the time already spent in it does not matter. Going
    through the distribution function instead would lose all digits far out in the tail.
    """
    gap = values[:, -1:] - values[:, -2:-1]
    return gap * (-np.log1p(-levels) / tail_log(taus))


def restricted_mean_of(values: Floats, taus: Floats, lower: float, horizon: float) -> Floats:
    """E[min(T, horizon)] of each row with two or more grid levels, piece by piece."""
    first, gap = values[:, :1], values[:, 1:2] - values[:, :1]
    start = first - _lower_reach(first, gap, taus, lower)
    left, right = np.hstack((start, values[:, :-1])), values
    width = right - left
    # The part of a segment below the horizon is spread evenly; the part above counts as horizon.
    # A segment without width is a point mass.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        below = np.where(
            width > 0, np.clip((horizon - left) / width, 0.0, 1.0), 1.0 * (horizon >= right)
        )
    middle = left + 0.5 * below * width
    segments = below * middle + _times_or_zero(1.0 - below, horizon)
    last, tail = values[:, -1], (values[:, -1] - values[:, -2]) / tail_log(taus)
    late = np.maximum(horizon - last, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        lived = np.where(tail > 0, -tail * np.expm1(-late / tail), 0.0)
    beyond = np.where(horizon > last, last + lived, horizon)
    masses = np.diff(taus, prepend=0.0)
    return np.asarray(segments @ masses + (1.0 - taus[-1]) * beyond)


def _times_or_zero(share: Floats, value: float) -> Floats:
    """Return the product, which is 0 where the share is, however large the value."""
    return np.where(share > 0, share * (value if np.isfinite(value) else 0.0), 0.0)


def _by_blocks(
    kernel: Callable[[Floats, Floats], Floats], values: Floats, arguments: Floats
) -> Floats:
    """Compute ``kernel(values, arguments)`` on blocks of rows, which bounds the memory.

    `arguments` of shape (k,) are common to all rows, those of shape (n, k) are cut like `values`.
    """
    n_rows, width = len(values), max(1, arguments.shape[-1])
    out = np.empty((n_rows, arguments.shape[-1]))
    step = max(1, _BLOCK_ENTRIES // width)
    for start in range(0, n_rows, step):
        rows = slice(start, start + step)
        out[rows] = kernel(values[rows], arguments if arguments.ndim == 1 else arguments[rows])
    return out


def _quantile_block(values: Floats, taus: Floats, lower: float, levels: Floats) -> Floats:
    """Quantiles of rows with two or more grid levels, at `levels` of shape (k,) or (n, k)."""
    n_levels = len(taus)
    right = np.clip(np.searchsorted(taus, levels, side="right"), 1, n_levels - 1)
    low, high = levels < taus[0], levels >= taus[-1]

    # Every piece is anchor + step * weight with weight 0 at a grid level, which makes the result
    # there bit-identical to the stored value.
    weight = (levels - taus[right - 1]) / (taus[right] - taus[right - 1])
    weight = np.where(low, levels / taus[0] - 1.0, weight)
    weight = np.where(high, np.log((1.0 - taus[-1]) / (1.0 - levels)) / tail_log(taus), weight)

    left_value, right_value = _take(values, right - 1), _take(values, right)
    step = right_value - left_value
    if np.any(low):
        step = np.where(low, _lower_reach(left_value, step, taus, lower), step)
    result = step
    result *= weight
    result += np.where(high, right_value, left_value)
    # Rounding of left + (right - left) * weight may pass the right end by one unit.
    np.minimum(result, right_value, out=result, where=~high)
    return np.maximum(result, lower, out=result)


def _lower_reach(first: Floats, gap: Floats, taus: Floats, lower: float) -> Floats:
    """How far below the first grid value the distribution starts."""
    reach: Floats = np.minimum(gap * (taus[0] / (taus[1] - taus[0])), first - lower)
    return reach


def tail_log(taus: Floats) -> float:
    """Cumulative hazard over the last segment; the tail's rate is this over its length."""
    return math.log((1.0 - taus[-2]) / (1.0 - taus[-1]))


def _take(values: Floats, columns: NDArray[np.intp]) -> Floats:
    """Values at columns common to all rows (k,) or given row by row (n, k)."""
    if columns.ndim == 1:
        return values[:, columns]
    return np.take_along_axis(values, columns, axis=1)
