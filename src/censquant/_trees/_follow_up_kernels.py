"""Compiled trees by which the model of follow-up groups individuals, and curves of their leaves.

Rows are in order of time, events before censorings of the same time, and every subset of rows
keeps this order, so a Kaplan-Meier curve or a residual takes one pass. The *key* of a row is twice
the rank of its time, plus 1 if it is censored. A *jump* is what a curve counts: rows whose last bit
equals ``jump``, so events for 0 and censorings for 1. With rows in the order of their keys, events
leave the risk set before the censorings of the same time, and censorings are at risk of its events.

Kernels write into arrays that the caller makes: allocating is most of what they would compile.
"""

from typing import Any, NamedTuple

import numpy as np

from censquant._compile import compiled_with, exact, exact_part

N_BINS = 128
MOST_ROWS_PER_TREE = 20_000
NO_BIN = 0xFFFF  # no value lies in a bin beyond it
_FEWEST_BINS = 8
_ROWS_PER_BIN = 12
_MIN_JUMPS = 5
# A histogram adds up three numbers in one integer: rows, and residuals in steps of 1/256. In a node
# residuals are at most 1 and add up to 0, so no part of 20,000 rows overflows a field.
_FIELD = 24
_STEPS = 256
_ROUNDING = 1e-9  # weight at risk below this share of the whole is rounding
# Columns of a node while its tree grows, and of the stack of nodes that wait to be split.
_LEFT, _FEATURE, _CUT = range(3)
_NODE, _START, _END, _DEPTH = range(4)
_PLACE = 1  # of a node in the forest, on the stack of nodes that wait to be copied

# For the innermost functions: passing many arrays on costs more than they do.
inlined = compiled_with(error_model="numpy", inline="always")


class Rows(NamedTuple):
    """Times, keys and weights ``(n,)`` in order of the keys, bins of features ``(n, p + 1)``."""

    time: Any
    keys: Any
    weight: Any
    codes: Any


class Moments(NamedTuple):
    """Mean ``(p,)`` of the bins of features and the inverse ``(p, p)`` of their covariance."""

    mean: Any
    inverse: Any


class Sample(NamedTuple):
    """Bins of features, the last of them those of the score, and keys of rows drawn for a tree."""

    codes: Any
    keys: Any


class DrawWork(NamedTuple):
    """Arrays in which rows are drawn: rows ``(m,)``, others and residuals ``(n,)``, gradient."""

    rows: Any
    others: Any
    residual: Any
    gradient: Any


class SplitRule(NamedTuple):
    """What trees split by and how deep, fewest rows of leaves and splits, critical statistic."""

    jump: int
    depth: int
    min_leaf: int
    min_split: int
    critical: float


class GrowWork(NamedTuple):
    """Arrays in which a tree grows: rows of each level, residuals, histogram, stack, nodes."""

    orders: Any
    packed: Any
    hist: Any
    stack: Any
    tree: Any
    statistic: Any

    @classmethod
    def make(cls, n_rows: int, n_features: int, depth: int) -> "GrowWork":
        """Return arrays for trees of a depth on some rows and features, the score included."""
        largest = 2 ** (depth + 1)
        return cls(
            orders=np.empty((depth + 2, n_rows + 1), np.uint32),
            packed=np.empty(n_rows, np.int64),
            hist=np.empty((n_features, N_BINS + 1), np.int64),
            stack=np.empty((depth + 2, 4), np.int64),
            tree=np.empty((largest, 3), np.int64),
            statistic=np.empty(largest),
        )


@exact_part
def martingale_residuals(keys: Any, rows: Any, n: int, jump: int, residual: Any) -> None:
    """Write observed minus expected jumps of the first ``n`` of some rows, which are in order."""
    hazard, i = 0.0, 0
    while i < n:
        key, after = keys[rows[i]], i + 1
        while after < n and keys[rows[after]] == key:
            after += 1
        own = 0.0
        if key & 1 == jump:
            hazard += (after - i) / (n - i)
            own = 1.0
        for j in range(i, after):
            residual[j] = own - hazard
        i = after


@inlined
def _draw(cumulative: Any, uniform: Any, rows: Any, others: Any) -> int:
    """Draw rows by weight, one from each of equally heavy strata; return how many were not drawn.

    Those are written into ``others``, also in order.
    """
    m, n = len(rows), len(cumulative)
    step, row, drawn, n_others = cumulative[n - 1] / m, 0, -1, 0
    for j in range(m):
        place = (j + uniform[j]) * step
        while row < n - 1 and cumulative[row] <= place:
            if row != drawn:
                others[n_others] = row
                n_others += 1
            row += 1
        rows[j] = drawn = row
    for rest in range(row + 1, n):
        others[n_others] = rest
        n_others += 1
    return n_others


@inlined
def _write_score(codes: Any, row: int, slope: Any, constant: float) -> None:
    """Write the bin of a row's score into the last column of ``codes``."""
    score, p = constant, len(slope)
    for f in range(p):
        score += slope[f] * codes[row, f]
    score = 0.0 if score < 0.0 else score
    codes[row, p] = np.uint8(score if score < N_BINS - 1 else N_BINS - 1)


@exact
def draw_rows(
    table: Rows,
    moments: Moments,
    cumulative: Any,
    uniform: Any,
    jump: int,
    most_scored: int,
    work: DrawWork,
    slope: Any,
    sample: Sample,
) -> float:
    """Copy random rows for a tree and write its linear score of the hazard; return its constant.

    The score comes from rows that are not drawn, so that to the tree it is as honest as a feature.
    It is the first step of Newton's method for proportional hazards, in a scale in which most rows
    have a score between 0 and the number of bins.
    """
    rows, others, residual, gradient = work.rows, work.others, work.residual, work.gradient
    p = len(slope)
    n_others = _draw(cumulative, uniform, rows, others)
    every = n_others // most_scored + 1
    n_others = (n_others + every - 1) // every
    for i in range(n_others):
        others[i] = others[i * every]
    martingale_residuals(table.keys, others, n_others, jump, residual)
    for f in range(p):
        gradient[f] = 0.0
        slope[f] = 0.0
    for i in range(n_others):
        for f in range(p):
            gradient[f] += residual[i] * table.codes[others[i], f]
    variance, constant = 0.0, N_BINS / 2.0
    for f in range(p):
        for k in range(p):
            slope[f] += moments.inverse[f, k] * gradient[k]
        # By the inverse of the covariance, these add up to the variance of the score.
        variance += slope[f] * gradient[f]
    scale = N_BINS / 5.0 / np.sqrt(variance) if variance > 0.0 else 0.0
    for f in range(p):
        slope[f] *= scale
        constant -= slope[f] * moments.mean[f]
    for i in range(len(rows)):
        sample.keys[i] = table.keys[rows[i]]
        for f in range(p):
            sample.codes[i, f] = table.codes[rows[i], f]
        _write_score(sample.codes, i, slope, constant)
    return constant


@inlined
def _pack_residuals(
    order: Any, start: int, end: int, keys: Any, jump: int, packed: Any
) -> tuple[int, float, float]:
    """Write residuals of the early and of the late half of a node's jumps, as histograms add them.

    Return the number of jumps and the sums of squares. Two halves detect hazards that cross.
    """
    n_jumps = 0
    for i in range(start, end):
        if keys[order[i]] & 1 == jump:
            n_jumps += 1
    n_early = (n_jumps + 1) // 2
    early = late = square_early = square_late = 0.0
    one_row = np.int64(1) << (2 * _FIELD)
    waiting = one_row
    i = start
    while i < end:
        key, after = keys[order[i]], i + 1
        while after < end and keys[order[after]] == key:
            after += 1
        count, own = after - i, waiting
        if key & 1 == jump:
            if n_early > 0:
                early += count / (end - i)
                square_early += count * (1.0 - 2.0 * early)
                step = np.int64(_STEPS) << _FIELD
            else:
                late += count / (end - i)
                square_late += count * (1.0 - 2.0 * late)
                step = np.int64(_STEPS)
            n_early -= count
            waiting = one_row - (np.int64(early * _STEPS + 0.5) << _FIELD)
            waiting -= np.int64(late * _STEPS + 0.5)
            own = waiting + step
        square_early += count * early * early
        square_late += count * late * late
        packed[i] = own
        if count > 1:
            for j in range(i + 1, after):
                packed[j] = own
        i = after
    return n_jumps, square_early, square_late


@inlined
def _best_split(
    order: Any,
    start: int,
    end: int,
    codes: Any,
    squares: tuple[float, float],
    min_leaf: int,
    borders: tuple[int, int],
    work: GrowWork,
) -> tuple[float, int, int]:
    """Return the largest log-rank statistic, its feature, and the last bin on its left.

    ``squares`` are those of the residuals of both halves; ``borders`` by how much bins are moved
    and by how many bits they are joined.
    """
    (offset, shift), (square_early, square_late) = borders, squares
    packed, hist = work.packed, work.hist
    n, n_features = end - start, codes.shape[1]
    n_bins = (N_BINS >> shift) + 1
    for f in range(n_features):
        for b in range(n_bins):
            hist[f, b] = 0
    moved, wide = np.uintp(offset), np.uintp(shift)
    for i in range(start, end):
        row, summand = np.uintp(order[i]), packed[i]
        for f in range(n_features):
            hist[f, (np.uintp(codes[row, f]) + moved) >> wide] += summand
    scale_early = 1.0 / square_early if square_early > 0.0 else 0.0
    scale_late = 1.0 / square_late if square_late > 0.0 else 0.0
    best, best_product, feature, cut = 0.0, 1.0, -1, 0
    for f in range(n_features):
        left = np.int64(0)
        for b in range(n_bins - 1):
            left += hist[f, b]
            late = (left << (64 - _FIELD)) >> (64 - _FIELD)
            rest = (left - late) >> _FIELD
            early = (rest << (64 - _FIELD)) >> (64 - _FIELD)
            n_left = (rest - early) >> _FIELD
            if n_left < min_leaf or n - n_left < min_leaf:
                continue
            distance = scale_early * early * early + scale_late * late * late
            product = 1.0 * n_left * (n - n_left)
            if distance * best_product > best * product:
                best, best_product = distance, product
                feature, cut = f, ((b + 1) << shift) - offset - 1
    return best / best_product * n * n / (_STEPS * _STEPS), feature, cut


@inlined
def _split_rows(
    order: Any, start: int, end: int, codes: Any, feature: int, cut: int, into: Any, spare: Any
) -> int:
    """Write the rows of the two sides into ``into``, each in order; return where they meet."""
    left, right = start, 0
    for i in range(start, end):
        row = order[i]
        is_right = 1 if codes[row, feature] > cut else 0
        into[left] = row
        spare[right] = row
        left += 1 - is_right
        right += is_right
    for i in range(right):
        into[left + i] = spare[i]
    return left


@inlined
def _append(tree: Any, n_nodes: int, nodes: Any, stack: Any) -> int:
    """Append what is left of a pruned tree to the forest; return the forest's number of nodes."""
    stack[0, _NODE], stack[0, _PLACE] = 0, n_nodes
    n_waiting, n_nodes = 1, n_nodes + 1
    while n_waiting > 0:
        n_waiting -= 1
        node, place = stack[n_waiting, _NODE], stack[n_waiting, _PLACE]
        child = tree[node, _LEFT]
        if child < 0:
            nodes[place] = (place << 32) | NO_BIN
            continue
        nodes[place] = (n_nodes << 32) | (tree[node, _FEATURE] << 16) | tree[node, _CUT]
        for side in range(2):
            stack[n_waiting, _NODE], stack[n_waiting, _PLACE] = child + side, n_nodes + side
            n_waiting += 1
        n_nodes += 2
    return n_nodes


@exact
def grow_tree(
    sample: Sample, rule: SplitRule, seed: int, work: GrowWork, n_nodes: int, nodes: Any
) -> int:
    """Grow one tree and append it to a forest; return the forest's number of nodes.

    Splits that are neither significant nor lead to such ones are removed afterwards: that finds
    what depends on two features together and on neither alone. A node of ``tree`` is its left child
    (the right one is next to it) or -1, its feature, and the last bin on its left.
    """
    codes, m = sample.codes, len(sample.codes)
    orders, stack, tree, statistic = work.orders, work.stack, work.tree, work.statistic
    for i in range(m):
        orders[0, i] = i
    spare = orders[rule.depth + 1]
    stack[0, _NODE], stack[0, _START], stack[0, _END], stack[0, _DEPTH] = 0, 0, m, 0
    n_waiting, size = 1, 1
    while n_waiting > 0:
        n_waiting -= 1
        here = stack[n_waiting]
        node, start, end, depth = here[_NODE], here[_START], here[_END], here[_DEPTH]
        tree[node, _LEFT] = -1
        n, order = end - start, orders[depth]
        if depth == rule.depth or n < rule.min_split:
            continue
        n_jumps, early, late = _pack_residuals(
            order, start, end, sample.keys, rule.jump, work.packed
        )
        if n_jumps < _MIN_JUMPS:
            continue
        # Bins wide enough for a few rows each, their borders at a random place.
        shift = 0
        while N_BINS >> shift > _FEWEST_BINS and (N_BINS >> shift) * _ROWS_PER_BIN > n:
            shift += 1
        seed = (seed * 1103515245 + 12345) % 2**31
        offset = (seed >> 16) & ((1 << shift) - 1)
        best, feature, cut = _best_split(
            order, start, end, codes, (early, late), rule.min_leaf, (offset, shift), work
        )
        if feature < 0:
            continue
        middle = _split_rows(order, start, end, codes, feature, cut, orders[depth + 1], spare)
        statistic[node] = best
        tree[node, _LEFT], tree[node, _FEATURE], tree[node, _CUT] = size, feature, cut
        for side in range(2):
            waiting = stack[n_waiting]
            waiting[_NODE] = size + side
            waiting[_START] = middle if side else start
            waiting[_END] = end if side else middle
            waiting[_DEPTH] = depth + 1
            n_waiting += 1
        size += 2
    for node in range(size - 1, -1, -1):
        left = tree[node, _LEFT]
        is_last = left >= 0 and tree[left, _LEFT] < 0 and tree[left + 1, _LEFT] < 0
        if is_last and statistic[node] < rule.critical:
            tree[node, _LEFT] = -1
    n_grown: int = _append(tree, n_nodes, nodes, stack)
    return n_grown


@exact
def find_leaves(
    codes: Any, slope: Any, constant: Any, root: Any, nodes: Any, depth: int, leaf_of: Any
) -> None:
    """Write the leaf of each tree that each row falls into; scores are written into ``codes``.

    A node is one number: left child (the right one is next to it), feature, last bin on the left. A
    leaf is its own left child, so all walks take ``depth`` steps and need no branch. All rows take
    a step before any takes the next: steps of different rows do not wait for each other.
    """
    low, middle, high = np.uint64(0xFFFF), np.uint64(16), np.uint64(32)
    for tree in range(len(root)):
        leaf = leaf_of[tree]
        for row in range(len(codes)):
            _write_score(codes, row, slope[tree], constant[tree])
            leaf[row] = root[tree]
        for _ in range(depth):
            for row in range(len(codes)):
                number = np.uint64(nodes[leaf[row]])
                code = np.uint64(codes[row, (number >> middle) & low])
                leaf[row] = (number >> high) + np.uint64(code > number & low)


@exact
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


@exact
def leaf_limits(
    leaf_of: Any, rows: Rows, whole: Any, share: float, work: Any, last: Any, limit: Any
) -> None:
    """Replace infinite limits by the last times that at least ``share`` of a leaf is followed to.

    It is read off the Kaplan-Meier curve of the leaf's censoring time. Where its last row has an
    event, so that the curve ends above ``share``, the curve of all rows (``whole``) continues it.
    ``work`` holds zeros and ``last`` -1 for every node.
    """
    time, keys, weight = rows.time, rows.keys, rows.weight
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


@exact
def leaf_curves(leaf_of: Any, root: Any, rows: Rows, grid: Any, work: Any, curve: Any) -> None:
    """Write for each leaf the share of events up to the times of ``grid``, by Kaplan-Meier.

    ``work`` holds zeros for every node.
    """
    time, keys, weight = rows.time, rows.keys, rows.weight
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


@exact
def second_smallest(limits: Any, leaf_of: Any, limit: Any) -> None:
    """Write the second smallest of the limits of each row's leaves."""
    for row in range(leaf_of.shape[1]):
        smallest, second = np.inf, np.inf
        for tree in range(len(leaf_of)):
            value = limits[leaf_of[tree, row]]
            second = min(second, max(smallest, value))
            smallest = min(smallest, value)
        limit[row] = second


@exact
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
