"""Compiled growing of small regression trees on binned features."""

from typing import Any

from censquant._compile import exact

N_BINS = 64
NO_CUT = 255  # no bin lies beyond it, so all rows go to the first child

# A gain below this is rounding.
_LEAST_GAIN = 1e-9


@exact
def _fill(codes: Any, rows: Any, begin: int, end: int, slopes: Any, sums: Any) -> None:
    """Write sums of slopes, curvatures and rows in each bin of each feature."""
    n_features = codes.shape[1]
    for f in range(n_features):
        for b in range(N_BINS):
            sums[f, b, 0] = 0.0
            sums[f, b, 1] = 0.0
            sums[f, b, 2] = 0.0
    for place in range(begin, end):
        row = rows[place]
        slope, curvature = slopes[row, 0], slopes[row, 1]
        for f in range(n_features):
            b = codes[row, f]
            sums[f, b, 0] += slope
            sums[f, b, 1] += curvature
            sums[f, b, 2] += 1.0


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
        first += sums[0, b, 0]
        second += sums[0, b, 1]
        count += sums[0, b, 2]
    below = second + penalty
    best, best_below = first * first + _LEAST_GAIN * below, below
    feature, cut = 0, NO_CUT
    for f in range(len(sums)):
        left, left_below, n_left = 0.0, penalty, 0.0
        for b in range(N_BINS - 1):
            if sums[f, b, 2] == 0.0:
                continue
            left += sums[f, b, 0]
            left_below += sums[f, b, 1]
            n_left += sums[f, b, 2]
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
def grow_tree(
    codes: Any,
    rows: Any,
    n_rows: int,
    slopes: Any,
    penalty: float,
    min_leaf: int,
    rate: float,
    spare: Any,
    stack: Any,
    sums: Any,
    feature: Any,
    cut: Any,
    value: Any,
) -> None:
    """Grow one tree on the first of some rows, which are put into another order.

    Nodes are numbered level by level, the children of node k being 2 k + 1 and 2 k + 2; left
    children are grown first. Of two children, the sums of the larger one are those of their parent
    less those of the smaller one. ``value`` receives Newton's step in each leaf times ``rate``.
    ``spare`` has one place more than there are rows, ``stack`` one row more than there are levels,
    and ``sums`` room for two children on each level: features, bins and three numbers.
    """
    n_inner = len(feature)
    _fill(codes, rows, 0, n_rows, slopes, sums[0, 0])
    # Node, its rows, its level, which child it is, and whether it may be split.
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, n_rows
    stack[0, 3], stack[0, 4], stack[0, 5] = 0, 0, 1
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        node, begin, end = stack[n_waiting, 0], stack[n_waiting, 1], stack[n_waiting, 2]
        level, side, is_open = stack[n_waiting, 3], stack[n_waiting, 4], stack[n_waiting, 5]
        if node >= n_inner:
            slope, curvature = 0.0, penalty
            for place in range(begin, end):
                slope += slopes[rows[place], 0]
                curvature += slopes[rows[place], 1]
            value[node - n_inner] = -rate * slope / curvature if curvature > 0.0 else 0.0
            continue
        feature[node], cut[node] = 0, NO_CUT
        if is_open and end - begin >= 2 * min_leaf:
            feature[node], cut[node] = _best_split(sums[level, side], penalty, min_leaf)
        middle = end
        if cut[node] != NO_CUT:
            middle = _divide(codes, rows, begin, end, feature[node], cut[node], spare)
        is_open = cut[node] != NO_CUT and 2 * node + 2 < n_inner
        if is_open:
            below = sums[level + 1]
            if middle - begin < end - middle:
                _fill(codes, rows, begin, middle, slopes, below[0])
                _subtract(sums[level, side], below[0], below[1])
            else:
                _fill(codes, rows, middle, end, slopes, below[1])
                _subtract(sums[level, side], below[1], below[0])
        for child in (1, 0):
            stack[n_waiting, 0] = 2 * node + 1 + child
            stack[n_waiting, 1] = middle if child else begin
            stack[n_waiting, 2] = end if child else middle
            stack[n_waiting, 3], stack[n_waiting, 4] = level + 1, child
            stack[n_waiting, 5] = 1 if is_open else 0
            n_waiting += 1


@exact
def add_tree(codes: Any, feature: Any, cut: Any, value: Any, out: Any) -> None:
    """Add a tree's value to that of each row."""
    n_inner = len(feature)
    for row in range(len(codes)):
        node = 0
        while node < n_inner:
            node = 2 * node + (2 if codes[row, feature[node]] > cut[node] else 1)
        out[row] += value[node - n_inner]
