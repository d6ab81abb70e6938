"""Compiled growing of the small trees by which the model of follow-up groups individuals.

Rows are in order of time, events before censorings of the same time, and every subset of rows
keeps this order, so a Kaplan-Meier curve or a residual takes one pass. The *key* of a row is twice
the rank of its time, plus 1 if it is censored. A *jump* is what a curve counts: rows whose last bit
equals ``jump``, so events for 0 and censorings for 1. With rows in the order of their keys, events
leave the risk set before the censorings of the same time, and censorings are at risk of its events.

Kernels write into arrays that the caller makes: allocating is most of what they would compile.
"""

from typing import Any

import numpy as np

from censquant._compile import compiled_with, exact

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

kernel = exact
# For the innermost functions: passing many arrays on costs more than they do.
inlined = compiled_with(error_model="numpy", inline="always")


@kernel
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


@kernel
def draw_rows(
    cumulative: Any,
    uniform: Any,
    codes: Any,
    keys: Any,
    jump: int,
    mean: Any,
    inverse: Any,
    most_scored: int,
    rows: Any,
    others: Any,
    residual: Any,
    gradient: Any,
    slope: Any,
    own_codes: Any,
    own_keys: Any,
) -> float:
    """Copy random rows for a tree and write its linear score of the hazard; return its constant.

    The score comes from rows that are not drawn, so that to the tree it is as honest as a feature.
    It is the first step of Newton's method for proportional hazards, in a scale in which most rows
    have a score between 0 and the number of bins.
    """
    p = len(mean)
    n_others = _draw(cumulative, uniform, rows, others)
    every = n_others // most_scored + 1
    n_others = (n_others + every - 1) // every
    for i in range(n_others):
        others[i] = others[i * every]
    martingale_residuals(keys, others, n_others, jump, residual)
    for f in range(p):
        gradient[f] = 0.0
        slope[f] = 0.0
    for i in range(n_others):
        for f in range(p):
            gradient[f] += residual[i] * codes[others[i], f]
    variance, constant = 0.0, N_BINS / 2.0
    for f in range(p):
        for k in range(p):
            slope[f] += inverse[f, k] * gradient[k]
        # ``inverse`` is that of the covariance: these add up to the variance of the score.
        variance += slope[f] * gradient[f]
    scale = N_BINS / 5.0 / np.sqrt(variance) if variance > 0.0 else 0.0
    for f in range(p):
        slope[f] *= scale
        constant -= slope[f] * mean[f]
    for i in range(len(rows)):
        own_keys[i] = keys[rows[i]]
        for f in range(p):
            own_codes[i, f] = codes[rows[i], f]
        _write_score(own_codes, i, slope, constant)
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
    packed: Any,
    square_early: float,
    square_late: float,
    min_leaf: int,
    offset: int,
    shift: int,
    hist: Any,
) -> tuple[float, int, int]:
    """Return the largest log-rank statistic, its feature, and the last bin on its left."""
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
    stack[0, 0], stack[0, 1] = 0, n_nodes
    n_waiting, n_nodes = 1, n_nodes + 1
    while n_waiting > 0:
        n_waiting -= 1
        node, place = stack[n_waiting, 0], stack[n_waiting, 1]
        child = tree[node, 0]
        if child < 0:
            nodes[place] = (place << 32) | NO_BIN
            continue
        nodes[place] = (n_nodes << 32) | (tree[node, 1] << 16) | tree[node, 2]
        for side in range(2):
            stack[n_waiting, 0], stack[n_waiting, 1] = child + side, n_nodes + side
            n_waiting += 1
        n_nodes += 2
    return n_nodes


@kernel
def grow_tree(
    codes: Any,
    keys: Any,
    jump: int,
    depth_limit: int,
    min_leaf: int,
    min_split: int,
    critical: float,
    seed: int,
    orders: Any,
    packed: Any,
    hist: Any,
    stack: Any,
    tree: Any,
    statistic: Any,
    n_nodes: int,
    nodes: Any,
) -> int:
    """Grow one tree and append it to a forest; return the forest's number of nodes.

    Splits that are neither significant nor lead to such ones are removed afterwards: that finds
    what depends on two features together and on neither alone. A node of ``tree`` is its left child
    (the right one is next to it) or -1, its feature, and the last bin on its left.
    """
    m = len(codes)
    for i in range(m):
        orders[0, i] = i
    spare = orders[depth_limit + 1]
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, 0, m, 0
    n_waiting, size = 1, 1
    while n_waiting > 0:
        n_waiting -= 1
        node, start, end = stack[n_waiting, 0], stack[n_waiting, 1], stack[n_waiting, 2]
        depth = stack[n_waiting, 3]
        tree[node, 0] = -1
        n, order = end - start, orders[depth]
        if depth == depth_limit or n < min_split:
            continue
        n_jumps, early, late = _pack_residuals(order, start, end, keys, jump, packed)
        if n_jumps < _MIN_JUMPS:
            continue
        # Bins wide enough for a few rows each, their borders at a random place.
        shift = 0
        while N_BINS >> shift > _FEWEST_BINS and (N_BINS >> shift) * _ROWS_PER_BIN > n:
            shift += 1
        seed = (seed * 1103515245 + 12345) % 2**31
        offset = (seed >> 16) & ((1 << shift) - 1)
        best, feature, cut = _best_split(
            order, start, end, codes, packed, early, late, min_leaf, offset, shift, hist
        )
        if feature < 0:
            continue
        middle = _split_rows(order, start, end, codes, feature, cut, orders[depth + 1], spare)
        statistic[node] = best
        tree[node, 0], tree[node, 1], tree[node, 2] = size, feature, cut
        for side in range(2):
            stack[n_waiting, 0] = size + side
            stack[n_waiting, 1] = middle if side else start
            stack[n_waiting, 2] = end if side else middle
            stack[n_waiting, 3] = depth + 1
            n_waiting += 1
        size += 2
    for node in range(size - 1, -1, -1):
        left = tree[node, 0]
        is_last = left >= 0 and tree[left, 0] < 0 and tree[left + 1, 0] < 0
        if is_last and statistic[node] < critical:
            tree[node, 0] = -1
    n_grown: int = _append(tree, n_nodes, nodes, stack)
    return n_grown


@kernel
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
