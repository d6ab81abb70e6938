"""Boosted trees for location and log-scale of a censored normal distribution.

Each round draws a share of the rows, and grows a tree for the location and one for the logarithm of
the scale by Newton's steps on binned features. A tree is complete: its nodes are numbered level by
level, the children of node k being 2 k + 1 and 2 k + 2. Boosters, one per fold, stop together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from censquant._compile import exact, exact_part
from censquant._engine._families import NORMAL, standard_interval_loss, standard_loss
from censquant._engine.training._parallel import side_by_side, stop_if_asked
from censquant._storage._codec import require
from censquant._trees._bins import assign_bins, edges_of, stride
from censquant._typing import Floats
from censquant.survival import Target, kaplan_meier
from censquant.survival._target import GeneralTarget
from censquant.survival._transform import TimeTransform
from censquant.survival._turnbull import coarse_levels

N_BINS = 64
NO_CUT = 255  # no bin lies beyond it, so all rows go to the first child
LOCATION, LOG_SCALE = 0, 1
LOWEST_LOG_SCALE, HIGHEST_LOG_SCALE = -4.0, 2.0

# A row pulls no harder than one so many standard deviations from its prediction, and a censored one
# no harder than at this hazard, whatever its time.
_FURTHEST = 4.0
_HIGHEST_HAZARD = 6.0
_FURTHEST_LOSS = 30.0
_FURTHEST_END = 8.0  # of an interval, and how narrow it is at least
_NARROWEST = 1e-6
# Curvatures must be positive; of a censored row they may vanish.
_LEAST_CURVATURE = (1e-3, 0.1)
_LEAST_LATE_CURVATURE = 0.05  # of a location with an entry
_ROOT_HALF = math.sqrt(0.5)
_HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)

# A gain of a split below this is rounding.
_LEAST_SPLIT_GAIN = 1e-9
# Columns of sums, and of the stack of nodes that wait to be grown: where their rows begin and end,
# their level, which child they are, and whether they may be split.
_SLOPE, _CURVATURE, _COUNT = range(3)
_NODE, _BEGIN, _END, _LEVEL, _SIDE, _IS_OPEN = range(6)

_ROWS_FOR_BINS = 50_000
_ROUNDS_PER_CHECK = 10
_PATIENCE = 6  # checks without a better loss
_LEAST_GAIN = 1e-5  # per row
_FURTHEST_RESIDUAL = 6.0
_HIGHEST_KNOWN = 0.995  # above it a Kaplan-Meier curve consists of a few rows
_LOWEST_KNOWN = 0.002  # of Turnbull's estimate, at either end
_FEWEST_KNOWN = 5  # of its cells between these
_FEW_ROWS = 100.0  # with so many, residuals have half a normal distribution
_SCALE_RATE = 0.5  # of the learning rate: a scale that is fitted too fast follows single rows


class Rows(NamedTuple):
    """Bins of features ``(n, p)``, transformed times, events and weights ``(n,)``.

    Where events lie in (lower, z], or rows are given no event until their entry, all rows have both
    of these, which may be -inf; else the two arrays are empty.
    """

    codes: Any
    z: Any
    event: Any
    weight: Any
    lower: Any
    entry: Any

    @classmethod
    def of(cls, codes: NDArray[np.uint8], target: Target, weight: Floats) -> "Rows":
        """Return rows of a target in model units."""
        ends = np.empty((2, 0))
        if isinstance(target, GeneralTarget):
            ends = np.stack((target.lower, target.entry))
        return cls(codes, target.time, target.event, weight, *ends)

    def take(self, rows: NDArray[np.intp]) -> "Rows":
        """Return some of the rows."""
        return Rows(*(column[rows] if len(column) else column for column in self))


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


@exact_part
def _bounded_hazard(u: float) -> float:
    """Return phi(u) / (1 - Phi(u)), at most the highest; the loss would cost as much again."""
    if u >= _HIGHEST_HAZARD:  # where the hazard is higher still
        return _HIGHEST_HAZARD
    survival = 0.5 * math.erfc(u * _ROOT_HALF)
    return min(math.exp(-0.5 * u * u - _HALF_LOG_2_PI) / survival, _HIGHEST_HAZARD)


@exact_part
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


@exact_part
def write_general_derivatives(rows: Rows, state: Any, chosen: Any, part: int, slopes: Any) -> None:
    """Write what `write_derivatives` does of rows with intervals or entries."""
    for row in chosen:
        inverse = math.exp(-state[LOG_SCALE, row])
        location = state[LOCATION, row]
        high = (rows.z[row] - location) * inverse
        least = _LEAST_CURVATURE[part]
        if rows.event[row] and rows.lower[row] == rows.z[row]:
            near = min(max(high, -_FURTHEST), _FURTHEST)
            first, second = -near, 1.0
            if part == LOG_SCALE:
                first, second = 1.0 - near * near, 2.0
        else:
            low, high = _bounded_ends(rows, row, location, inverse, _FURTHEST_END)
            _, by_low, by_high = standard_interval_loss(low, high, NORMAL, 0.0)
            low = max(low, -_FURTHEST_END)  # where it is infinite, its derivative is 0
            high = min(high, _FURTHEST_END)
            steep = by_low + by_high
            turn = low * by_low + high * by_high
            if part == LOCATION:
                first = -min(max(steep, -_HIGHEST_HAZARD), _HIGHEST_HAZARD)
                second = steep * steep - turn
            else:
                first = -min(max(turn, -_FURTHEST), _FURTHEST * _FURTHEST)
                second = turn + turn * turn - low**3 * by_low - high**3 * by_high
        if rows.entry[row] > -math.inf:
            # No further than an event's distance: of one soon after its entry both nearly cancel.
            near = min(max((rows.entry[row] - location) * inverse, -_FURTHEST_END), _FURTHEST)
            hazard = _bounded_hazard(near)
            bend = hazard * (hazard - near)
            if part == LOCATION:
                first += hazard
                second -= bend
                least = _LEAST_LATE_CURVATURE
            else:
                first += hazard * near
                second -= near * (bend * near + hazard)
        second = max(second, least)
        if part == LOCATION:
            first *= inverse
            second *= inverse * inverse
        slopes[row, _SLOPE] = rows.weight[row] * first
        slopes[row, _CURVATURE] = rows.weight[row] * second


@exact_part
def _bounded_ends(
    rows: Rows, row: int, location: float, inverse: float, furthest: float
) -> tuple[float, float]:
    """Return the ends of a row's interval in scales from its location; infinite ends stay."""
    low, high = -math.inf, math.inf
    if rows.lower[row] > -math.inf:
        low = min(max((rows.lower[row] - location) * inverse, -furthest), furthest)
    if rows.event[row]:
        high = min(max((rows.z[row] - location) * inverse, -furthest), furthest)
        high = max(high, low + _NARROWEST)
    return low, high


@exact_part
def _general_loss(rows: Rows, row: int, location: float, log_scale: float) -> float:
    """Return minus the log-likelihood of a row with an interval or an entry."""
    inverse = math.exp(-log_scale)
    low, high = _bounded_ends(rows, row, location, inverse, _FURTHEST_LOSS)
    if rows.event[row] and rows.lower[row] == rows.z[row]:
        loss = standard_loss(low, True, NORMAL, 0.0)[0] + log_scale
    else:
        loss = standard_interval_loss(low, high, NORMAL, 0.0)[0]
    if rows.entry[row] > -math.inf:
        start = (rows.entry[row] - location) * inverse
        start = min(max(start, -_FURTHEST_LOSS), _FURTHEST_LOSS)
        loss -= standard_loss(start, False, NORMAL, 0.0)[0]
    return float(loss)


@exact
def total_loss(rows: Rows, state: Any, chosen: Any) -> float:
    """Return the sum of minus the log-likelihood of chosen rows.

    Very far from a prediction it goes on as a line, so that nothing overflows.
    """
    total = 0.0
    for row in chosen:
        log_scale = state[LOG_SCALE, row]
        if len(rows.lower):
            total += rows.weight[row] * _general_loss(rows, row, state[LOCATION, row], log_scale)
            continue
        distance = (rows.z[row] - state[LOCATION, row]) * math.exp(-log_scale)
        near = min(max(distance, -_FURTHEST_LOSS), _FURTHEST_LOSS)
        loss, steepness = standard_loss(near, rows.event[row], NORMAL, 0.0)
        loss += steepness * (distance - near)
        total += rows.weight[row] * (loss + log_scale if rows.event[row] else loss)
    return total


@exact_part
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


@exact_part
def _subtract(whole: Any, part: Any, rest: Any) -> None:
    """Write the sums of a node's other child."""
    for f in range(len(whole)):
        for b in range(N_BINS):
            for k in range(3):
                rest[f, b, k] = whole[f, b, k] - part[f, b, k]


@exact_part
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
    best, best_below = first * first + _LEAST_SPLIT_GAIN * below, below
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


@exact_part
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


@exact_part
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
            # Of single precision, so that a page or an exported graph needs half of the room.
            tree.value[node - n_inner] = np.float32(step)
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


@exact_part
def add_tree(codes: Any, tree: Trees, out: Any) -> None:
    """Add a tree's value to that of each row."""
    n_inner = len(tree.feature)
    for row in range(len(codes)):
        node = 0
        while node < n_inner:
            node = 2 * node + (2 if codes[row, tree.feature[node]] > tree.cut[node] else 1)
        out[row] += tree.value[node - n_inner]


@exact_part
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


@exact_part
def _add(codes: Any, tree: Trees, part: int, state: Any) -> None:
    """Add a tree to one part of the state of each row; log-scales stay within bounds."""
    add_tree(codes, tree, state[part])
    if part == LOG_SCALE:
        for row in range(state.shape[1]):
            state[part, row] = min(max(state[part, row], LOWEST_LOG_SCALE), HIGHEST_LOG_SCALE)


@exact
def mean_state(codes: Any, feature: Any, cut: Any, value: Any, state: Any, mean: Any) -> None:
    """Add the mean of boosters to location and log-scale of each row; ``state`` is work space.

    Their trees have the shape (boosters, rounds, parts, ...).
    """
    n_boosters, n_rounds, n_parts = feature.shape[:3]
    for booster in range(n_boosters):
        state[:] = 0.0
        for k in range(n_rounds):
            for part in range(n_parts):
                tree = Trees(
                    feature[booster, k, part], cut[booster, k, part], value[booster, k, part]
                )
                _add(codes, tree, part, state)
        for part in range(2):
            for row in range(len(codes)):
                mean[part, row] += state[part, row] / n_boosters


@exact
def run_round(
    rows: Rows, train: Any, newton: Newton, seed: Any, state: Any, work: Work, trees: Trees
) -> None:
    """Grow the trees of a round on ``train``, and add them to the ``state`` of all rows."""
    n_drawn = draw_rows(train, newton.share, seed, work.drawn)
    for part in range(len(trees.feature)):
        if len(rows.lower):
            write_general_derivatives(rows, state, work.drawn[:n_drawn], part, work.slopes)
        else:
            write_derivatives(rows, state, work.drawn[:n_drawn], part, work.slopes)
        for place in range(n_drawn):
            work.order[place] = work.drawn[place]
        tree = Trees(trees.feature[part], trees.cut[part], trees.value[part])
        grow_tree(rows.codes, n_drawn, newton, part, work, tree)
        _add(rows.codes, tree, part, state)


@dataclass(frozen=True)
class BoostingRule:
    """How boosters are trained.

    ``share`` of the rows is drawn for each round, Newton's steps are multiplied by ``rate``, and
    ``penalty`` is added to the sum of curvatures in a leaf. With ``fit_scale`` each round has a
    second tree, for the logarithm of the scale. A booster is trained on at most ``max_rows``, and
    judged by a quarter of that.
    """

    depth: int
    min_leaf: int
    fit_scale: bool
    rate: float
    max_rounds: int
    share: float
    penalty: float
    max_rows: int

    @property
    def rates(self) -> Floats:
        """Rates of the trees of a round."""
        rates = np.array([self.rate, _SCALE_RATE * self.rate])
        return rates[: 1 + int(self.fit_scale)]


@dataclass(frozen=True, eq=False)
class Boosters:
    """Trees of several boosters on the same bins; a prediction is their mean.

    ``edges`` has shape (n_features, n_bins - 1), ``feature`` and ``cut``, the last bin of the first
    child, have shape (n_boosters, n_rounds, n_parts, n_inner_nodes), and ``value`` has as many
    leaves in place of inner nodes.
    """

    edges: Floats
    feature: NDArray[np.int32]
    cut: NDArray[np.uint8]
    value: Floats

    def validate(self) -> None:
        """Refuse arrays of a file that would be walked out of."""
        require(len(self.feature) > 0, "does not hold at least one booster")
        rises = self.edges[:, 1:] >= self.edges[:, :-1]
        require(rises, "does not hold edges of bins that do not decrease")
        known = (self.feature >= 0) & (self.feature < len(self.edges))
        require(known, "does not hold splits by known features")

    def predict(self, x: Floats) -> Floats:
        """Return location and logarithm of the scale of each row, of shape (2, n)."""
        codes = assign_bins(x, self.edges)
        state, mean = np.empty((2, len(x))), np.zeros((2, len(x)))
        mean_state(codes, self.feature, self.cut, self.value, state, mean)
        return mean

    def alone(self, booster: int) -> Self:
        """Return one of the boosters."""
        one = slice(booster, booster + 1)
        return replace(self, feature=self.feature[one], cut=self.cut[one], value=self.value[one])


class _FoldRun:
    """The training of one booster on rows outside a fold."""

    def __init__(self, rule: BoostingRule, rows: Rows, fold_of: Any, fold: int, seed: int) -> None:
        train, judged = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        if len(train) > rule.max_rows:
            # Rows come in random order; each booster begins elsewhere, so that they differ.
            begin = fold * rule.max_rows % len(train)
            train = np.sort(np.roll(train, -begin)[: rule.max_rows])
        self.judged = judged[: max(1, rule.max_rows // 4)]
        used = np.union1d(train, self.judged)
        if len(used) < len(fold_of):
            rows = rows.take(used)
            train = np.searchsorted(used, train)
        self._held_out = np.searchsorted(used, self.judged).astype(np.int32)
        self._rule, self._rows = rule, rows
        self._newton = Newton(rule.share, rule.penalty, rule.min_leaf, rule.rates)
        self._train = train.astype(np.int32)
        self._seed = np.array([seed], np.uint64)
        self._state = np.zeros((2, len(used)))
        n_features = rows.codes.shape[1]
        self._work = Work.make(len(used), len(self._train), n_features, rule.depth)
        self._blocks: list[Trees] = []

    @property
    def state(self) -> Floats:
        """Location and log-scale of the rows that the booster is judged by."""
        return self._state[:, self._held_out]

    def loss(self) -> float:
        """Return the sum of the losses of the rows held out."""
        return float(total_loss(self._rows, self._state, self._held_out))

    def advance(self, n_rounds: int, stopping: Event) -> float:
        """Train some rounds more and return the loss; a round of many rows takes long."""
        n_inner = 2**self._rule.depth - 1
        shape = (n_rounds, len(self._newton.rates))
        trees = Trees(
            np.empty((*shape, n_inner), np.int32),
            np.empty((*shape, n_inner), np.uint8),
            np.empty((*shape, n_inner + 1)),
        )
        for own in zip(*trees, strict=True):
            stop_if_asked(stopping)
            run_round(
                self._rows,
                self._train,
                self._newton,
                self._seed,
                self._state,
                self._work,
                Trees(*own),
            )
        self._blocks.append(trees)
        return self.loss()

    def trees(self, n_rounds: int) -> Trees:
        """Return the trees of the first rounds."""
        parts = zip(*self._blocks, strict=True)
        return Trees(*(np.concatenate(part)[:n_rounds] for part in parts))


def cross_fit_boosters(
    rule: BoostingRule,
    x: Floats,
    target: Target,
    weight: Floats,
    fold_of: NDArray[np.intp],
    seeds: Sequence[int],
    n_jobs: int | None,
    stopping: Event | None = None,
) -> tuple[Boosters, Floats]:
    """Return one booster per fold, and its predictions for the fold's own rows, of shape (2, n).

    The target is in model units. All have the same number of rounds, at which the sum of their
    losses on the rows that they have not seen is lowest. It may be 0. Predictions for rows that no
    booster is judged by are NaN.
    """
    edges = edges_of(x[:: stride(len(x), _ROWS_FOR_BINS)], N_BINS)
    rows = Rows.of(assign_bins(x, edges), target, weight)
    runs = [_FoldRun(rule, rows, fold_of, fold, seed) for fold, seed in enumerate(seeds)]
    best, best_rounds, n_rounds = sum(run.loss() for run in runs), 0, 0
    held_out = np.full((2, len(x)), np.nan)
    for run in runs:
        held_out[:, run.judged] = 0.0
    n_vain, least_gain = 0, _LEAST_GAIN * weight.sum()
    while n_rounds < rule.max_rounds and n_vain < _PATIENCE:
        n_new = min(_ROUNDS_PER_CHECK, rule.max_rounds - n_rounds)
        tasks = [partial(run.advance, n_new) for run in runs]
        loss = sum(side_by_side(tasks, n_jobs, on_interrupt="raise", stopping=stopping))
        n_rounds += n_new
        n_vain += 1
        if loss < best - least_gain:
            best, best_rounds, n_vain = loss, n_rounds, 0
            for run in runs:
                held_out[:, run.judged] = run.state
    trees = zip(*(run.trees(best_rounds) for run in runs), strict=True)
    return Boosters(edges, *(np.stack(part) for part in trees)), held_out


def residual_quantiles(residuals: Target, weight: Floats, levels: Floats) -> Floats:
    """Return quantiles of residuals, not decreasing in the level.

    Those of intervals and entries are Turnbull's, drawn towards a normal distribution where rows
    are few. Of right-censored ones:

    They are those of the Kaplan-Meier curve, linear between events, and above its end those of a
    normal distribution that joins it there, with the standard deviation that the censored normal
    likelihood gives to all residuals.
    """
    if isinstance(residuals, GeneralTarget):
        return _general_quantiles(residuals, weight, levels)
    residual, event = residuals.time, residuals.event
    curve = kaplan_meier(residual, event, weight)
    seen = curve.n_events > 0
    reached, values = 1.0 - curve.survival[seen], curve.time[seen]
    end = min(float(reached[-1]), _HIGHEST_KNOWN)
    quantiles: Floats = np.interp(levels, reached, values)
    above = levels > end
    if above.any():
        near = np.clip(residual, -_FURTHEST_RESIDUAL, _FURTHEST_RESIDUAL)
        spread = TimeTransform.fit(near, event, "tobit", sample_weight=weight).scale
        distance = ndtri(levels[above]) - ndtri(end)
        quantiles[above] = np.interp(end, reached, values) + spread * distance
    return quantiles


def _general_quantiles(residuals: GeneralTarget, weight: Floats, levels: Floats) -> Floats:
    """Return quantiles of residuals with intervals or entries."""
    normal = np.asarray(ndtri(levels))
    ends, below = coarse_levels(residuals, weight)
    kept = (below > _LOWEST_KNOWN) & (below < 1.0 - _LOWEST_KNOWN)
    if np.count_nonzero(kept) < _FEWEST_KNOWN:
        return normal
    ends, below = ends[kept], below[kept]
    own = np.interp(levels, below, ends)
    for outside, edge in ((levels < below[0], 0), (levels > below[-1], -1)):
        own = np.where(outside, ends[edge] + normal - ndtri(below[edge]), own)
    share = weight.sum() / (weight.sum() + _FEW_ROWS)
    return np.asarray(np.maximum.accumulate(share * own + (1.0 - share) * normal))
