"""Compiled rounds of boosting: a tree for the location, one for the logarithm of the scale."""

from typing import Any

import numpy as np

from censquant._compile import exact
from censquant._trees._censored_normal import (
    HIGHEST_LOG_SCALE,
    LOG_SCALE,
    LOWEST_LOG_SCALE,
    write_derivatives,
)
from censquant._trees._histogram_tree import add_tree, grow_tree


@exact
def _draw(rows: Any, share: float, seed: Any, drawn: Any) -> int:
    """Write each row with a probability, in order; return how many. ``seed`` moves on."""
    state, n_drawn = seed[0], 0
    # The upper 53 bits of Steele, Lea and Flood's generator (2014) are a number in [0, 1).
    limit = np.uint64(share * 2.0**53)
    for place in range(len(rows)):
        state += np.uint64(0x9E3779B97F4A7C15)
        word = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        word ^= word >> np.uint64(31)
        drawn[n_drawn] = rows[place]
        n_drawn += 1 if word >> np.uint64(11) < limit else 0
    seed[0] = state
    return n_drawn


@exact
def _add(codes: Any, feature: Any, cut: Any, value: Any, part: int, state: Any) -> None:
    """Add a tree to one part of the state of each row; log-scales stay within bounds."""
    add_tree(codes, feature, cut, value, state[part])
    if part == LOG_SCALE:
        for row in range(state.shape[1]):
            state[part, row] = min(max(state[part, row], LOWEST_LOG_SCALE), HIGHEST_LOG_SCALE)


@exact
def add_rounds(codes: Any, feature: Any, cut: Any, value: Any, state: Any) -> None:
    """Add trees of shape (rounds, parts, ...) to location and log-scale of each row."""
    for k in range(len(feature)):
        for part in range(feature.shape[1]):
            _add(codes, feature[k, part], cut[k, part], value[k, part], part, state)


@exact
def run_rounds(
    codes: Any,
    z: Any,
    event: Any,
    weight: Any,
    rows: Any,
    share: float,
    penalty: float,
    min_leaf: int,
    rates: Any,
    seed: Any,
    state: Any,
    slopes: Any,
    drawn: Any,
    order: Any,
    spare: Any,
    stack: Any,
    sums: Any,
    feature: Any,
    cut: Any,
    value: Any,
) -> None:
    """Grow the trees of some rounds on ``rows``, and add them to the ``state`` of all rows.

    Each round draws a share of the rows, on which both of its trees are grown.
    """
    for k in range(len(feature)):
        n_drawn = _draw(rows, share, seed, drawn)
        for part in range(feature.shape[1]):
            write_derivatives(z, event, weight, state, drawn[:n_drawn], part, slopes)
            for place in range(n_drawn):
                order[place] = drawn[place]
            grow_tree(
                codes,
                order,
                n_drawn,
                slopes,
                penalty,
                min_leaf,
                rates[part],
                spare,
                stack,
                sums,
                feature[k, part],
                cut[k, part],
                value[k, part],
            )
            _add(codes, feature[k, part], cut[k, part], value[k, part], part, state)
