"""Compiled rounds of boosting: trees for location and log-scale of a censored normal distribution.

Each round draws a share of the rows, and grows a tree for the location and one for the logarithm of
the scale by Newton's steps on binned features. A tree is complete: its nodes are numbered level by
level, the children of node k being 2 k + 1 and 2 k + 2.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from censquant._compile import exact
from censquant._engine._families import NORMAL, standard_loss

N_BINS = 64
NO_CUT = 255  # no bin lies beyond it, so all rows go to the first child
LOCATION, LOG_SCALE = 0, 1
LOWEST_LOG_SCALE, HIGHEST_LOG_SCALE = -4.0, 2.0

# A row pulls no harder than one so many standard deviations from its prediction, and a censored one
# no harder than at this hazard, whatever its time.
_FURTHEST = 4.0
_HIGHEST_HAZARD = 6.0
_FURTHEST_LOSS = 30.0
# Curvatures must be positive; of a censored row they may vanish.
_LEAST_CURVATURE = (1e-3, 0.1)
_ROOT_HALF = math.sqrt(0.5)
_HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)

# A gain below this is rounding.
_LEAST_GAIN = 1e-9
# Columns of sums, and of the stack of nodes that wait to be grown: where their rows begin and end,
# their level, which child they are, and whether they may be split.
_SLOPE, _CURVATURE, _COUNT = range(3)
_NODE, _BEGIN, _END, _LEVEL, _SIDE, _IS_OPEN = range(6)


class Rows(NamedTuple):
    """Bins of features ``(n, p)``, transformed times, events and weights ``(n,)``."""

    codes: Any
    z: Any
    event: Any
    weight: Any


class Trees(NamedTuple):
    """Features and last left bins of inner nodes and values of leaves, of one tree or of many."""

    feature: Any
    cut: Any
    value: Any


class Newton(NamedTuple):
    """Share of rows drawn for a round, penalty and fewest rows of leaves, rates of the parts."""

    share: float
    penalty: float
    min_leaf: int
    rates: Any


class Work(NamedTuple):
    """Arrays that kernels write into; allocating is most of what they would compile.

    ``drawn``, ``order`` and ``spare`` have one place more than there are rows to draw from.
    """

    slopes: Any
    drawn: Any
    order: Any
    spare: Any
    stack: Any
    sums: Any

    @classmethod
    def make(cls, n_rows: int, n_drawn: int, n_features: int, depth: int) -> "Work":
        """Return arrays for trees of a depth that are grown on at most ``n_drawn`` rows."""
        return cls(
            # Single precision: a row's two derivatives share a line of the cache with others'.
            slopes=np.empty((n_rows, 2), np.float32),
            drawn=np.empty(n_drawn + 1, np.int32),
            order=np.empty(n_drawn + 1, np.int32),
            spare=np.empty(n_drawn + 1, np.int32),
            stack=np.empty((depth + 1, 6), np.int64),
            sums=np.empty((depth, 2, n_features, N_BINS, 3)),
        )


@exact
def _bounded_hazard(u: float) -> float:
    """Return phi(u) / (1 - Phi(u)), at most the highest; the loss would cost as much again."""
    if u >= _HIGHEST_HAZARD:  # where the hazard is higher still
        return _HIGHEST_HAZARD
    survival = 0.5 * math.erfc(u * _ROOT_HALF)
    return min(math.exp(-0.5 * u * u - _HALF_LOG_2_PI) / survival, _HIGHEST_HAZARD)


@exact
def write_derivatives(rows: Rows, state: Any, chosen: Any, part: int, slopes: Any) -> None:
    """Write first and second derivatives of minus the log-likelihood of chosen rows.

    They are by the location (``part`` 0) or by the logarithm of the scale (1), both in ``state``.
    For events the second is the expected one. ``slopes`` holds the two side by side.
    """
    for row in chosen:
        inverse = math.exp(-state[LOG_SCALE, row])
        distance = (rows.z[row] - state[LOCATION, row]) * inverse
        near = min(max(distance, -_FURTHEST), _FURTHEST)
        if rows.event[row]:
            first, second = -near, 1.0
            if part == LOG_SCALE:
                first, second = 1.0 - near * near, 2.0
        else:
            hazard = _bounded_hazard(distance)
            bend = hazard * (hazard - near)
            first, second = -hazard, max(bend, _LEAST_CURVATURE[LOCATION])
            if part == LOG_SCALE:
                first = -hazard * near
                second = max(near * (bend * near + hazard), _LEAST_CURVATURE[LOG_SCALE])
        if part == LOCATION:
            first *= inverse
            second *= inverse * inverse
        slopes[row, _SLOPE] = rows.weight[row] * first
        slopes[row, _CURVATURE] = rows.weight[row] * second


@exact
def total_loss(rows: Rows, state: Any, chosen: Any) -> float:
    """Return the sum of minus the log-likelihood of chosen rows.

    Very far from a prediction it goes on as a line, so that nothing overflows.
    """
    total = 0.0
    for row in chosen:
        log_scale = state[LOG_SCALE, row]
        distance = (rows.z[row] - state[LOCATION, row]) * math.exp(-log_scale)
        near = min(max(distance, -_FURTHEST_LOSS), _FURTHEST_LOSS)
        loss, steepness = standard_loss(near, rows.event[row], NORMAL, 0.0)
        loss += steepness * (distance - near)
        total += rows.weight[row] * (loss + log_scale if rows.event[row] else loss)
    return total


@exact
def _fill(codes: Any, rows: Any, begin: int, end: int, slopes: Any, sums: Any) -> None:
    """Write sums of slopes, curvatures and rows in each bin of each feature."""
    n_features = codes.shape[1]
    for f in range(n_features):
        for b in range(N_BINS):
            sums[f, b, _SLOPE] = 0.0
            sums[f, b, _CURVATURE] = 0.0
            sums[f, b, _COUNT] = 0.0
    for place in range(begin, end):
        row = rows[place]
        slope, curvature = slopes[row, _SLOPE], slopes[row, _CURVATURE]
        for f in range(n_features):
            b = codes[row, f]
            sums[f, b, _SLOPE] += slope
            sums[f, b, _CURVATURE] += curvature
            sums[f, b, _COUNT] += 1.0


@exact
def _subtract(whole: Any, part: Any, rest: Any) -> None:
    """Write the sums of a node's other child."""
    for f in range(len(whole)):
        for b in range(N_BINS):
            for k in range(3):
                rest[f, b, k] = whole[f, b, k] - part[f, b, k]


@exact
def _best_split(sums: Any, penalty: float, min_leaf: int) -> tuple[int, int]:
    """Return the feature and the last bin on the left of the best split; NO_CUT if there is none.

    Two sides of a split score (sum of slopes)^2 / (sum of curvatures + penalty) each. Fractions are
    compared by cross-multiplication, which is faster than division.
    """
    first = second = count = 0.0
    for b in range(N_BINS):
        first += sums[0, b, _SLOPE]
        second += sums[0, b, _CURVATURE]
        count += sums[0, b, _COUNT]
    below = second + penalty
    best, best_below = first * first + _LEAST_GAIN * below, below
    feature, cut = 0, NO_CUT
    for f in range(len(sums)):
        left, left_below, n_left = 0.0, penalty, 0.0
        for b in range(N_BINS - 1):
            if sums[f, b, _COUNT] == 0.0:
                continue
            left += sums[f, b, _SLOPE]
            left_below += sums[f, b, _CURVATURE]
            n_left += sums[f, b, _COUNT]
            if n_left < min_leaf:
                continue
            if count - n_left < min_leaf:
                break
            right, right_below = first - left, below + penalty - left_below
            score = left * left * right_below + right * right * left_below
            product = left_below * right_below
            if score * best_below > best * product:
                best, best_below = score, product
                feature, cut = f, b
    return feature, cut


@exact
def _divide(codes: Any, rows: Any, begin: int, end: int, feature: int, cut: int, spare: Any) -> int:
    """Move the rows of the right side behind those of the left, both in order; return the middle.

    Each row is written to both sides, since a branch that nobody can predict costs more.
    """
    left, right = begin, 0
    for place in range(begin, end):
        row = rows[place]
        is_right = 1 if codes[row, feature] > cut else 0
        rows[left] = row
        spare[right] = row
        left += 1 - is_right
        right += is_right
    for place in range(right):
        rows[left + place] = spare[place]
    return left


@exact
def grow_tree(codes: Any, n_rows: int, newton: Newton, part: int, work: Work, tree: Trees) -> None:
    """Grow one tree on the first rows of ``work.order``, which are put into another order.

    Left children are grown first. Of two children, the sums of the larger one are those of their
    parent less those of the smaller one; ``work.sums`` has room for two children on each level. The
    tree's value in a leaf is Newton's step times the rate of the part.
    """
    rows, slopes, stack, sums = work.order, work.slopes, work.stack, work.sums
    n_inner = len(tree.feature)
    _fill(codes, rows, 0, n_rows, slopes, sums[0, 0])
    stack[0, _NODE], stack[0, _BEGIN], stack[0, _END] = 0, 0, n_rows
    stack[0, _LEVEL], stack[0, _SIDE], stack[0, _IS_OPEN] = 0, 0, 1
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        here = stack[n_waiting]
        node, begin, end = here[_NODE], here[_BEGIN], here[_END]
        level, side, is_open = here[_LEVEL], here[_SIDE], here[_IS_OPEN]
        if node >= n_inner:
            slope, curvature = 0.0, newton.penalty
            for place in range(begin, end):
                slope += slopes[rows[place], _SLOPE]
                curvature += slopes[rows[place], _CURVATURE]
            step = -newton.rates[part] * slope / curvature if curvature > 0.0 else 0.0
            tree.value[node - n_inner] = step
            continue
        feature, cut = 0, NO_CUT
        if is_open and end - begin >= 2 * newton.min_leaf:
            feature, cut = _best_split(sums[level, side], newton.penalty, newton.min_leaf)
        tree.feature[node], tree.cut[node] = feature, cut
        middle = end
        if cut != NO_CUT:
            middle = _divide(codes, rows, begin, end, feature, cut, work.spare)
        is_open = cut != NO_CUT and 2 * node + 2 < n_inner
        if is_open:
            below = sums[level + 1]
            if middle - begin < end - middle:
                _fill(codes, rows, begin, middle, slopes, below[0])
                _subtract(sums[level, side], below[0], below[1])
            else:
                _fill(codes, rows, middle, end, slopes, below[1])
                _subtract(sums[level, side], below[1], below[0])
        for child in (1, 0):
            waiting = stack[n_waiting]
            waiting[_NODE] = 2 * node + 1 + child
            waiting[_BEGIN] = middle if child else begin
            waiting[_END] = end if child else middle
            waiting[_LEVEL], waiting[_SIDE] = level + 1, child
            waiting[_IS_OPEN] = 1 if is_open else 0
            n_waiting += 1


@exact
def add_tree(codes: Any, tree: Trees, out: Any) -> None:
    """Add a tree's value to that of each row."""
    n_inner = len(tree.feature)
    for row in range(len(codes)):
        node = 0
        while node < n_inner:
            node = 2 * node + (2 if codes[row, tree.feature[node]] > tree.cut[node] else 1)
        out[row] += tree.value[node - n_inner]


@exact
def draw_rows(rows: Any, share: float, seed: Any, drawn: Any) -> int:
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
def _add(codes: Any, tree: Trees, part: int, state: Any) -> None:
    """Add a tree to one part of the state of each row; log-scales stay within bounds."""
    add_tree(codes, tree, state[part])
    if part == LOG_SCALE:
        for row in range(state.shape[1]):
            state[part, row] = min(max(state[part, row], LOWEST_LOG_SCALE), HIGHEST_LOG_SCALE)


@exact
def add_rounds(codes: Any, trees: Trees, state: Any) -> None:
    """Add trees of shape (rounds, parts, ...) to location and log-scale of each row."""
    for k in range(len(trees.feature)):
        for part in range(trees.feature.shape[1]):
            tree = Trees(trees.feature[k, part], trees.cut[k, part], trees.value[k, part])
            _add(codes, tree, part, state)


@exact
def run_round(
    rows: Rows, train: Any, newton: Newton, seed: Any, state: Any, work: Work, trees: Trees
) -> None:
    """Grow the trees of a round on ``train``, and add them to the ``state`` of all rows."""
    n_drawn = draw_rows(train, newton.share, seed, work.drawn)
    for part in range(len(trees.feature)):
        write_derivatives(rows, state, work.drawn[:n_drawn], part, work.slopes)
        for place in range(n_drawn):
            work.order[place] = work.drawn[place]
        tree = Trees(trees.feature[part], trees.cut[part], trees.value[part])
        grow_tree(rows.codes, n_drawn, newton, part, work, tree)
        _add(rows.codes, tree, part, state)
