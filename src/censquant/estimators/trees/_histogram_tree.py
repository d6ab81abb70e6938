"""Compiled growing of small regression trees on binned features, level by level."""

from typing import Any

from censquant._compile import exact

N_BINS = 64
NO_CUT = 255  # no bin lies beyond it, so all rows go to the first child

# A gain below this is rounding.
_LEAST_GAIN = 1e-9


@exact
def _fill(
    codes: Any, rows: Any, start: int, end: int, slope: Any, curvature: Any, sums: Any
) -> None:
    """Write sums of slopes, curvatures and rows in each bin of each feature."""
    n_features = codes.shape[1]
    for f in range(n_features):
        for b in range(N_BINS):
            sums[f, b, 0] = 0.0
            sums[f, b, 1] = 0.0
            sums[f, b, 2] = 0.0
    for place in range(start, end):
        row = rows[place]
        first, second = slope[row], curvature[row]
        for f in range(n_features):
            b = codes[row, f]
            sums[f, b, 0] += first
            sums[f, b, 1] += second
            sums[f, b, 2] += 1.0


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
def _divide(
    codes: Any, rows: Any, start: int, end: int, feature: int, cut: int, into: Any, spare: Any
) -> int:
    """Copy rows to ``into``, those of the left side first; return where the sides meet.

    Each row is written to both sides, since a branch that nobody can predict costs more.
    """
    left, right = start, 0
    for place in range(start, end):
        row = rows[place]
        is_right = 1 if codes[row, feature] > cut else 0
        into[left] = row
        spare[right] = row
        left += 1 - is_right
        right += is_right
    for place in range(right):
        into[left + place] = spare[place]
    return left


@exact
def grow_tree(
    codes: Any,
    n_rows: int,
    slope: Any,
    curvature: Any,
    penalty: float,
    min_leaf: int,
    rate: float,
    orders: Any,
    starts: Any,
    sums: Any,
    feature: Any,
    cut: Any,
    value: Any,
) -> None:
    """Grow one tree on the first ``n_rows`` rows of ``orders[0]``, which is used up.

    Nodes are numbered level by level, the children of node k being 2 k + 1 and 2 k + 2. ``value``
    receives Newton's step in each leaf times ``rate``. ``orders`` has three rows with places for
    one row more, ``starts`` two with places for one leaf more, and ``sums`` a place for each
    feature, bin and three numbers.
    """
    n_leaves = len(value)
    starts[0, 0], starts[0, 1] = 0, n_rows
    n_nodes, level = 1, 0
    while n_nodes < n_leaves:
        rows, into = orders[level % 2], orders[1 - level % 2]
        start, below = starts[level % 2], starts[1 - level % 2]
        for k in range(n_nodes):
            begin, end = start[k], start[k + 1]
            node = n_nodes - 1 + k
            feature[node], cut[node] = 0, NO_CUT
            if end - begin >= 2 * min_leaf:
                _fill(codes, rows, begin, end, slope, curvature, sums)
                best, last = _best_split(sums, penalty, min_leaf)
                feature[node], cut[node] = best, last
            middle = _divide(codes, rows, begin, end, feature[node], cut[node], into, orders[2])
            below[2 * k], below[2 * k + 1] = begin, middle
        below[2 * n_nodes] = n_rows
        n_nodes *= 2
        level += 1
    rows, start = orders[level % 2], starts[level % 2]
    for leaf in range(n_leaves):
        first, second = 0.0, penalty
        for place in range(start[leaf], start[leaf + 1]):
            first += slope[rows[place]]
            second += curvature[rows[place]]
        value[leaf] = -rate * first / second if second > 0.0 else 0.0


@exact
def add_tree(codes: Any, feature: Any, cut: Any, value: Any, out: Any) -> None:
    """Add a tree's value to that of each row."""
    n_inner = len(feature)
    for row in range(len(codes)):
        node = 0
        while node < n_inner:
            node = 2 * node + (2 if codes[row, feature[node]] > cut[node] else 1)
        out[row] += value[node - n_inner]
