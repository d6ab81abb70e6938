"""Compiled work on short rows of quantiles; a file of its own, since loading it loads numba."""

from typing import Any

import numpy as np

from censquant._compile import compiled, exact


@compiled
def sort_rows(values: Any) -> None:
    """Sort every row in place; fast where rows are in order or nearly so."""
    for i in range(values.shape[0]):
        for k in range(1, values.shape[1]):
            value = values[i, k]
            place = k
            while place > 0 and values[i, place - 1] > value:
                values[i, place] = values[i, place - 1]
                place -= 1
            values[i, place] = value


@exact
def write_levels(
    values: Any, taus: Any, lower: float, tail_log: float, times: Any, levels: Any
) -> None:
    """Write the distribution function of rows with two or more levels at times (1, T) or (n, T).

    ``tail_log`` is the cumulative hazard over the last segment.
    """
    # In one function, since a call for each time would count references to its arrays, which costs
    # five times the search.
    n_rows, n_times = levels.shape
    last = len(taus) - 1
    low_ratio = taus[0] / (taus[1] - taus[0])
    for i in range(n_rows):
        own = times[i if len(times) > 1 else 0]
        row = values[i]
        for j in range(n_times):
            time = own[j]
            left, right = 0, last + 1  # the first value above the time is at one of these places
            while left < right:
                middle = (left + right) // 2
                if row[middle] <= time:
                    left = middle + 1
                else:
                    right = middle
            level = 0.0
            if left == 0:
                width = min((row[1] - row[0]) * low_ratio, row[0] - lower)
                if width > 0.0:
                    level = max(0.0, taus[0] * (1.0 - (row[0] - time) / width))
            elif left <= last:
                # The time is strictly below the right value, so the segment has a width.
                share = (time - row[left - 1]) / (row[left] - row[left - 1])
                level = taus[left - 1] + (taus[left] - taus[left - 1]) * share
                level = min(level, taus[left])
            else:
                gap = row[last] - row[last - 1]
                level = 1.0
                if gap > 0.0:
                    hazard = (time - row[last]) / gap * tail_log
                    level = min(1.0, taus[last] - (1.0 - taus[last]) * np.expm1(-hazard))
            levels[i, j] = level


@exact
def limit_rows(
    values: Any,
    taus: Any,
    lower: float,
    tail_log: float,
    end: float,
    start: float,
    growth: Any,
    power: float,
) -> None:
    """Move quantiles after the end down to the limit of ``TailLimit``; see there.

    ``growth`` is the power of the inverse survival at each level.
    """
    n_rows, n_levels = values.shape
    times, levels = np.full((1, 1), end), np.zeros((1, 1))
    for i in range(n_rows):
        if not values[i, n_levels - 1] > end:
            continue
        if n_levels > 1:
            write_levels(values[i : i + 1], taus, lower, tail_log, times, levels)
        alive = (1.0 - levels[0, 0]) ** power
        for j in range(n_levels):
            if values[i, j] > end:
                # Rounding may put a level behind the end below the level of the end.
                latest = start + (end - start) * max(alive * growth[j], 1.0)
                values[i, j] = min(values[i, j], latest)
