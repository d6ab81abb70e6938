"""Compiled arithmetic on rows of quantiles: tails, survival on a grid, mixtures."""

import math
from typing import Any

import numpy as np

from censquant._compile import exact

_ALMOST_ONE = 1.0 - 1e-9
_LARGEST_HAZARD = 50.0
_HALVINGS = 40


@exact
def level_of(row: Any, levels: Any, lower: float, t: float, is_left: bool) -> Any:
    """Return F(t) of the distribution that quantiles on a grid imply, or its left limit.

    The rules are those of QuantileCurve: linear between quantiles, the first segment prolonged to
    level 0 but not below ``lower``, an exponential tail.
    """
    n = len(levels)
    low, high = 0, n
    while low < high:  # number of quantiles at or below t, for the left limit of those below it
        middle = (low + high) // 2
        if row[middle] < t or (row[middle] == t and not is_left):
            low = middle + 1
        else:
            high = middle
    if low == 0:
        reach = min((row[1] - row[0]) * levels[0] / (levels[1] - levels[0]), row[0] - lower)
        return levels[0] * max(0.0, 1.0 - (row[0] - t) / reach) if reach > 0.0 else 0.0
    if low == n:
        gap = row[n - 1] - row[n - 2]
        if gap <= 0.0:
            return 1.0
        rate = math.log((1.0 - levels[n - 2]) / (1.0 - levels[n - 1])) / gap
        hazard = min(rate * (t - row[n - 1]), _LARGEST_HAZARD)
        return 1.0 - (1.0 - levels[n - 1]) * math.exp(-hazard)
    gap = row[low] - row[low - 1]
    if gap <= 0.0:
        return levels[low - 1] if is_left else levels[low]
    return levels[low - 1] + (levels[low] - levels[low - 1]) * (t - row[low - 1]) / gap


@exact
def quantile_of(row: Any, levels: Any, lower: float, p: float) -> Any:
    """Return the quantile at any level of the distribution that quantiles on a grid imply."""
    n = len(levels)
    if p >= levels[n - 1]:
        gap = row[n - 1] - row[n - 2]
        scale = gap / math.log((1.0 - levels[n - 2]) / (1.0 - levels[n - 1]))
        return row[n - 1] + scale * math.log((1.0 - levels[n - 1]) / (1.0 - p))
    if p <= levels[0]:
        reach = min((row[1] - row[0]) * levels[0] / (levels[1] - levels[0]), row[0] - lower)
        return row[0] - reach * (1.0 - p / levels[0])
    right = 1
    while levels[right] < p:
        right += 1
    share = (p - levels[right - 1]) / (levels[right] - levels[right - 1])
    return row[right - 1] + (row[right] - row[right - 1]) * share


@exact
def continue_tails(
    values: Any, end_time: Any, end_level: Any, reference: Any, levels: Any, lower: float
) -> None:
    """Replace quantiles above the end of a curve by those of a reference, given survival to it."""
    n_rows, n = values.shape
    for i in range(n_rows):
        end = min(end_level[i], _ALMOST_ONE)
        if levels[n - 1] <= end:
            continue
        passed = level_of(reference[i], levels, lower, end_time[i], False)
        for j in range(n):
            if levels[j] > end:
                p = 1.0 - (1.0 - levels[j]) / (1.0 - end) * (1.0 - passed)
                p = min(max(p, 0.0), _ALMOST_ONE)
                values[i, j] = max(quantile_of(reference[i], levels, lower, p), end_time[i])


@exact
def survival_on_grid(values: Any, levels: Any, lower: float, grid: Any, out: Any) -> None:
    """Write the survival function of each row at common times."""
    for i in range(values.shape[0]):
        for g in range(len(grid)):
            out[i, g] = 1.0 - level_of(values[i], levels, lower, grid[g], False)


@exact
def pull_in_tails(values: Any, weights: Any, limit: float) -> None:
    """Lower quantiles past a limit to the weighted median over candidates at the same level.

    ``values`` has the shape (candidates, rows, levels). One candidate alone can then not carry the
    pool away where there are no data.
    """
    n_candidates, n_rows, n_levels = values.shape
    for i in range(n_rows):
        for j in range(n_levels):
            highest = -np.inf
            for c in range(n_candidates):
                highest = max(highest, values[c, i, j])
            if highest <= limit:
                continue
            # The smallest value that half of the weight does not exceed.
            median = highest
            for c in range(n_candidates):
                share = 0.0
                for other in range(n_candidates):
                    if values[other, i, j] <= values[c, i, j]:
                        share += weights[other]
                if share >= 0.5 - 1e-12 and values[c, i, j] < median:
                    median = values[c, i, j]
            cap = max(limit, median)
            for c in range(n_candidates):
                values[c, i, j] = min(values[c, i, j], cap)


@exact
def _mean_level(values: Any, i: int, weights: Any, levels: Any, lower: float, t: float) -> Any:
    """Return the mean of the candidates' levels of one row at a time."""
    total = 0.0
    for c in range(values.shape[0]):
        total += weights[c] * level_of(values[c, i], levels, lower, t, False)
    return total


@exact
def mixture_quantiles(
    values: Any, weights: Any, levels: Any, lower: float, wanted: Any, knots: Any, out: Any
) -> None:
    """Write the quantiles of the weighted mean of the candidates' distribution functions.

    Between any two neighbours among all quantiles of a row (``knots`` is room for them) the mean
    is linear, so it is inverted without a search, up to the first time at which a candidate is in
    its exponential tail. A jump of a candidate stays a jump.
    """
    n_candidates, n_rows, n_levels = values.shape
    for i in range(n_rows):
        n_knots, straight_until = 0, np.inf
        for c in range(n_candidates):
            row = values[c, i]
            straight_until = min(straight_until, row[n_levels - 1])
            reach = min((row[1] - row[0]) * levels[0] / (levels[1] - levels[0]), row[0] - lower)
            knots[n_knots] = row[0] - reach
            n_knots += 1
            for j in range(n_levels):
                knots[n_knots] = row[j]
                n_knots += 1
        ordered = np.sort(knots[:n_knots])
        before_time, before = ordered[0], 0.0
        place = 0
        for k in range(n_knots):
            t = ordered[k]
            if place == len(wanted):
                break
            if k > 0 and t == before_time:
                continue
            left, right = 0.0, 0.0
            for c in range(n_candidates):
                left += weights[c] * level_of(values[c, i], levels, lower, t, True)
                right += weights[c] * level_of(values[c, i], levels, lower, t, False)
            while place < len(wanted) and wanted[place] <= left:
                share = (wanted[place] - before) / (left - before) if left > before else 1.0
                out[i, place] = before_time + (t - before_time) * min(max(share, 0.0), 1.0)
                if t > straight_until and t > before_time:
                    low, high = before_time, t
                    for _ in range(_HALVINGS):
                        middle = 0.5 * (low + high)
                        if _mean_level(values, i, weights, levels, lower, middle) < wanted[place]:
                            low = middle
                        else:
                            high = middle
                    out[i, place] = high
                place += 1
            while place < len(wanted) and wanted[place] <= right:
                out[i, place] = t
                place += 1
            before_time, before = t, right
        while place < len(wanted):  # levels above those of all candidates' grids
            highest = -np.inf
            for c in range(n_candidates):
                highest = max(highest, quantile_of(values[c, i], levels, lower, wanted[place]))
            out[i, place] = highest
            place += 1
