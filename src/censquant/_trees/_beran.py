"""Compiled Kaplan-Meier curves of weighted neighbours (Beran 1981), in time of their bins."""

import math
from typing import Any

from censquant._compile import exact

# As in Kaplan-Meier curves elsewhere: a level that is reached exactly is not missed by rounding.
ROUNDING = 1e-10
# The tail's rate is that of the curve above this share of the level at its end.
TAIL_FROM = 0.75
# Cumulative hazard of the prior of the tail's rate: a twentieth of an expected event.
PRIOR_HAZARD = 0.05


@exact
def _add_neighbours(leaf_of: Any, row: int, start: Any, codes: Any, weights: Any, sums: Any) -> int:
    """Add the weights of a row's neighbours by code; return the highest slot among them.

    A tree gives each row of its leaf the same share, or one in proportion to its weight.
    """
    highest = 0
    for tree in range(len(leaf_of)):
        leaf = leaf_of[tree, row]
        first, end = start[leaf], start[leaf + 1]
        if len(weights) == 0:
            share = 1.0 / (end - first)
            for place in range(first, end):
                code = codes[place]
                sums[code] += share
                highest = max(highest, code)
        else:
            total = 0.0
            for place in range(first, end):
                total += weights[place]
            share = 1.0 / total
            for place in range(first, end):
                code = codes[place]
                sums[code] += share * weights[place]
                highest = max(highest, code)
    return highest // 2


@exact
def beran_quantiles(
    leaf_of: Any,
    start: Any,
    codes: Any,
    weights: Any,
    times: Any,
    lowest: float,
    mean_rate: float,
    levels: Any,
    sums: Any,
    survival: Any,
    quantiles: Any,
    end_time: Any,
    end_level: Any,
) -> None:
    """Write quantiles of each row's weighted Kaplan-Meier curve, and where the curve ends.

    A quantile is the first time at which the curve has reached its level. Above the curve's end,
    survival goes on exponentially, with the rate of the last quarter of the curve's rise. The rate
    of all rows, ``mean_rate``, is its prior, and ``lowest`` is where a curve without events begins.
    ``sums`` holds zeros for all codes, ``survival`` has one place for each slot.
    """
    n_levels = len(levels)
    for row in range(leaf_of.shape[1]):
        n_slots = _add_neighbours(leaf_of, row, start, codes, weights, sums) + 1
        # From the last slot on, so that the smallest risk sets are exact.
        at_risk = 0.0
        for slot in range(n_slots - 1, -1, -1):
            events = sums[2 * slot + 1]
            at_risk += sums[2 * slot] + events
            survival[slot] = 1.0 - events / at_risk if events > 0.0 else 1.0
            sums[2 * slot] = 0.0
            sums[2 * slot + 1] = 0.0
        left, k, last = 1.0, 0, -1
        for slot in range(n_slots):
            if survival[slot] < 1.0:
                left *= survival[slot]
                last = slot
                while k < n_levels and left <= (1.0 - levels[k]) * (1.0 + ROUNDING):
                    quantiles[row, k] = times[slot - 1]
                    k += 1
            survival[slot] = left
        end_level[row] = 1.0 - left
        if last < 0:  # no event near this row
            last = n_slots - 1
        end = times[last - 1] if last > 0 else lowest
        end_time[row] = end
        if k < n_levels:
            begun = TAIL_FROM * (1.0 - left)
            slot = 0
            while slot < last and 1.0 - survival[slot] < begun:
                slot += 1
            begin = times[slot - 1] if slot > 0 else lowest
            hazard = math.log((1.0 - begun) / left) + PRIOR_HAZARD
            rate = hazard / (end - begin + PRIOR_HAZARD / mean_rate)
            while k < n_levels:
                quantiles[row, k] = end + math.log(left / (1.0 - levels[k])) / rate
                k += 1
