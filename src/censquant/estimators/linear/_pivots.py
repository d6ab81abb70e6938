"""Simplex pivots for weighted quantile regression, from the rows that an earlier fit passed."""

from typing import Any

import numpy as np

from censquant._compile import compiled

# A dual value may leave its bounds by this share of the widest ones: by rounding while pivots go
# on, and by a little more where the solution is checked.
_ROUNDING = 1e-11
_TOLERANCE = 1e-9


@compiled
def _leaving_row(
    gap: Any, inverse: Any, lower: Any, upper: Any, basis: Any, rounding: float
) -> tuple[int, float]:
    """Return the place in the basis whose row violates its bounds most, and its dual value."""
    worst, place, value = rounding, -1, 0.0
    for j in range(len(basis)):
        dual = 0.0
        for k in range(len(basis)):
            dual += inverse[k, j] * gap[k]
        violation = max(dual - upper[basis[j]], lower[basis[j]] - dual)
        if violation > worst:
            worst, place, value = violation, j, dual
    return place, value


@compiled
def _entering_row(
    residual: Any, rate: Any, above: Any, width: Any, outside: Any, slope: float, order: Any
) -> tuple[int, float]:
    """Return how many rows are passed until the loss no longer falls, and how far the last one is.

    ``order`` receives the rows whose residuals reach zero, in the order in which they do.
    """
    count = 0
    for i in range(len(residual)):
        if not outside[i] or width[i] <= 0.0:
            continue
        if (above[i] and rate[i] > 0.0) or (not above[i] and rate[i] < 0.0):
            order[count] = i
            count += 1
    steps = np.empty(count)
    for c in range(count):
        steps[c] = max(residual[order[c]] / rate[order[c]], 0.0)
    ranks = np.argsort(steps)
    candidates = order[:count].copy()
    for c in range(count):
        row = candidates[ranks[c]]
        order[c] = row
        slope += width[row] * abs(rate[row])
        if slope >= 0.0:
            return c + 1, steps[ranks[c]]
    return 0, 0.0


@compiled
def _pivot(
    x: Any,
    residual: Any,
    above: Any,
    lower: Any,
    upper: Any,
    gap: Any,
    basis: Any,
    outside: Any,
    inverse: Any,
    max_pivots: int,
) -> bool:
    """Exchange rows of the basis until all its dual values lie between their bounds.

    All arrays but the bounds are changed in place. ``residual`` and ``above`` say on which side
    of the fit a row lies, ``gap`` is what the dual values of the basis have to add up to, and
    ``inverse`` is the inverse of ``x[basis]``; all other rows are ``outside``. False if there is
    no bound, a cycle, or no end within ``max_pivots``.
    """
    n, p = x.shape
    width = upper - lower
    rounding = _ROUNDING * width.max()
    order = np.empty(n, dtype=np.int64)
    n_short = 0
    for _ in range(max_pivots):
        place, dual = _leaving_row(gap, inverse, lower, upper, basis, rounding)
        if place < 0:
            return True
        leaving = basis[place]
        rises = dual > upper[leaving]
        direction = (-1.0 if rises else 1.0) * inverse[:, place]
        slope = upper[leaving] - dual if rises else dual - lower[leaving]
        rate = x @ direction
        n_passed, length = _entering_row(residual, rate, above, width, outside, slope, order)
        n_short = n_short + 1 if length == 0.0 else 0
        if n_passed == 0 or n_short > 2 * p + 10:
            return False
        for c in range(n_passed - 1):
            row = order[c]
            change = -width[row] if above[row] else width[row]
            above[row] = not above[row]
            for k in range(p):
                gap[k] -= change * x[row, k]
        entering = order[n_passed - 1]
        was = upper[entering] if above[entering] else lower[entering]
        now = upper[leaving] if rises else lower[leaving]
        for k in range(p):
            gap[k] += was * x[entering, k] - now * x[leaving, k]
        residual -= length * rate
        residual[basis] = 0.0
        residual[leaving] = length if rises else -length
        residual[entering] = 0.0
        above[leaving] = rises
        outside[leaving], outside[entering], basis[place] = True, False, entering
        _exchange(inverse, x[entering], place)
    return False


@compiled
def _exchange(inverse: Any, row: Any, place: int) -> None:
    """Update the inverse of a matrix of which one row is replaced."""
    p = len(row)
    product = np.zeros(p)
    for k in range(p):
        for m in range(p):
            product[m] += row[k] * inverse[k, m]
    for k in range(p):
        inverse[k, place] /= product[place]
        for m in range(p):
            if m != place:
                inverse[k, m] -= inverse[k, place] * product[m]


@compiled
def _gap(x: Any, total: Any, outside: Any, above: Any, lower: Any, upper: Any) -> Any:
    """Return what is left of the total for the rows that the fit passes through."""
    gap = total.copy()
    for i in range(len(x)):
        if outside[i]:
            dual = upper[i] if above[i] else lower[i]
            for k in range(x.shape[1]):
                gap[k] -= dual * x[i, k]
    return gap


@compiled
def _refined(inverse: Any, matrix: Any, right: Any) -> Any:
    """Solve by an inverse that has lost a little accuracy, with one step of refinement."""
    solution = inverse @ right
    return solution + inverse @ (right - matrix @ solution)


@compiled
def solve_from(
    x: Any,
    y: Any,
    lower: Any,
    upper: Any,
    total: Any,
    basis: Any,
    inverse: Any,
    max_pivots: int,
    beta: Any,
) -> bool:
    """Pivot from a basis to the best one; return whether it was found.

    ``basis`` and ``inverse``, that of ``x[basis]``, are changed in place, and the coefficients are
    written into ``beta``. What is found is proved: residuals and dual values, recomputed, have the
    signs and lie between the bounds that only a best fit has.
    """
    n, p = x.shape
    outside = np.ones(n, dtype=np.bool_)
    outside[basis] = False
    residual = y - x @ (inverse @ y[basis])
    residual[basis] = 0.0
    above = residual > 0.0
    gap = _gap(x, total, outside, above, lower, upper)
    if not _pivot(x, residual, above, lower, upper, gap, basis, outside, inverse, max_pivots):
        return False
    rows = x[basis]
    beta[:] = _refined(inverse, rows, y[basis])
    residual = y - x @ beta
    gap = _gap(x, total, outside, above, lower, upper)
    dual = _refined(inverse.T.copy(), rows.T.copy(), gap)
    width = (upper - lower).max()
    missing = np.abs(gap - dual @ rows).max()
    proved: bool = missing <= _TOLERANCE * width
    for i in range(n):
        if outside[i]:
            wrong = -residual[i] if above[i] else residual[i]
            proved &= wrong <= _TOLERANCE or upper[i] <= lower[i]
        else:
            proved &= abs(residual[i]) <= _TOLERANCE
    for j in range(p):
        low, high = lower[basis[j]], upper[basis[j]]
        proved &= low - _TOLERANCE * width <= dual[j] <= high + _TOLERANCE * width
    return proved
