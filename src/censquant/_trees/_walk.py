"""Compiled walk through trees that are plain arrays."""

from typing import Any

import numpy as np

from censquant._compile import exact


@exact
def find_leaves(
    x: Any,
    root: Any,
    children: Any,
    feature: Any,
    threshold: Any,
    walking: Any,
    node: Any,
    leaf_of: Any,
) -> None:
    """Write the number of the leaf of each tree that each row falls into.

    All rows walk through a tree side by side, a level at a time: their steps do not wait for each
    other's memory, which halves the time. ``walking`` and ``node`` have one place per row.
    """
    for tree in range(len(root)):
        n_walking = len(x)
        for row in range(n_walking):
            walking[row] = row
            node[row] = root[tree]
        while n_walking > 0:
            n_left = 0
            for place in range(n_walking):
                row, here = walking[place], node[place]
                child = children[here, np.intp(x[row, feature[here]] > threshold[here])]
                # Written at every step, since a branch costs more than a write.
                leaf_of[tree, row] = -child - 1
                walking[n_left] = row
                node[n_left] = child
                n_left += 1 if child >= 0 else 0
            n_walking = n_left
