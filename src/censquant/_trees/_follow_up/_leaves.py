"""Compiled Kaplan-Meier curves in the leaves of the trees of follow-up: written and read."""

from typing import Any

import numpy as np

from censquant._trees._follow_up._trees import kernel

_ROUNDING = 1e-9  # weight at risk below this share of the whole is rounding


@kernel
def censoring_curve(keys: Any, weight: Any, total: float, curve: Any) -> None:
    """Write the Kaplan-Meier curve of the censoring time of all rows, at each row's time."""
    n = len(keys)
    at_risk, survival, i = total, 1.0, 0
    while i < n:
        after, leaving = i, 0.0
        while after < n and keys[after] == keys[i]:
            leaving += weight[after]
            after += 1
        at_risk -= leaving
        if keys[i] & 1:
            survival *= at_risk / (at_risk + leaving) if at_risk > _ROUNDING * total else 0.0
        for j in range(i, after):
            curve[j] = survival
        i = after


@kernel
def leaf_limits(
    leaf_of: Any,
    time: Any,
    keys: Any,
    weight: Any,
    whole: Any,
    share: float,
    work: Any,
    last: Any,
    limit: Any,
) -> None:
    """Replace infinite limits by the last times that at least ``share`` of a leaf is followed to.

    It is read off the Kaplan-Meier curve of the leaf's censoring time. Where its last row has an
    event, so that the curve ends above ``share``, the curve of all rows (``whole``) continues it.
    ``work`` holds zeros and ``last`` -1 for every node.
    """
    n, total = len(time), 0.0
    at_risk, leaving, dropped = work[0], work[1], work[2]
    for i in range(n):
        total += weight[i]
    for tree in range(len(leaf_of)):
        for i in range(n):
            leaf = leaf_of[tree, i]
            at_risk[leaf] += weight[i]
            last[leaf] = i
        i = 0
        while i < n:
            after, is_jump = i, keys[i] & 1 == 1
            while after < n and keys[after] == keys[i]:
                leaf = leaf_of[tree, after]
                at_risk[leaf] -= weight[after]
                leaving[leaf] += weight[after]
                after += 1
            for j in range(i, after):
                leaf = leaf_of[tree, j]
                if is_jump and leaving[leaf] > 0.0 and limit[leaf] == np.inf:
                    left = at_risk[leaf] if at_risk[leaf] > _ROUNDING * total else 0.0
                    survival = (1.0 - dropped[leaf]) * left / (left + leaving[leaf])
                    dropped[leaf] = 1.0 - survival
                    if survival < share:
                        limit[leaf] = time[j]
                leaving[leaf] = 0.0
            i = after
    for node in range(len(limit)):
        if limit[node] == np.inf and last[node] >= 0:
            target = share / (1.0 - dropped[node]) * whole[last[node]]
            i = last[node] + 1
            while i < n and whole[i] >= target:
                i += 1
            if i < n:
                limit[node] = time[i]


@kernel
def leaf_curves(
    leaf_of: Any, root: Any, time: Any, keys: Any, weight: Any, grid: Any, work: Any, curve: Any
) -> None:
    """Write for each leaf the share of events up to the times of ``grid``, by Kaplan-Meier.

    ``work`` holds zeros for every node.
    """
    n = len(time)
    at_risk, leaving, dropped = work[0], work[1], work[2]
    for tree in range(len(root)):
        beyond = root[tree + 1] if tree + 1 < len(root) else len(curve)
        for i in range(n):
            at_risk[leaf_of[tree, i]] += weight[i]
        i = 0
        for g in range(len(grid)):
            while i < n and time[i] <= grid[g]:
                after, is_jump = i, keys[i] & 1 == 0
                while after < n and keys[after] == keys[i]:
                    leaving[leaf_of[tree, after]] += weight[after]
                    after += 1
                for j in range(i, after):
                    leaf = leaf_of[tree, j]
                    if is_jump and leaving[leaf] > 0.0:
                        share = leaving[leaf] / at_risk[leaf]
                        dropped[leaf] += (1.0 - dropped[leaf]) * (share if share < 1.0 else 1.0)
                    at_risk[leaf] -= leaving[leaf]
                    leaving[leaf] = 0.0
                i = after
            for node in range(root[tree], beyond):
                curve[node, g] = dropped[node]


@kernel
def second_smallest(limits: Any, leaf_of: Any, limit: Any) -> None:
    """Write the second smallest of the limits of each row's leaves."""
    for row in range(leaf_of.shape[1]):
        smallest, second = np.inf, np.inf
        for tree in range(len(leaf_of)):
            value = limits[leaf_of[tree, row]]
            second = min(second, max(smallest, value))
            smallest = min(smallest, value)
        limit[row] = second


@kernel
def levels_at(curve: Any, leaf_of: Any, grid: Any, limit: Any, level: Any) -> None:
    """Write the mean of the leaves' curves at the limit of each row, linear between the times."""
    n_trees = len(leaf_of)
    for row in range(leaf_of.shape[1]):
        time = min(max(limit[row], grid[0]), grid[-1])
        after = np.searchsorted(grid, time)
        before = max(after - 1, 0)
        low, high = 0.0, 0.0
        for tree in range(n_trees):
            leaf = leaf_of[tree, row]
            low += curve[leaf, before]
            high += curve[leaf, after]
        low, high = low / n_trees, high / n_trees
        gap = grid[after] - grid[before]
        part = (time - grid[before]) / gap if gap > 0.0 else 1.0
        level[row] = low + part * (high - low)
