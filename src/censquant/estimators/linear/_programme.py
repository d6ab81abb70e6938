"""The linear programme behind every method, and simplex pivots that solve it."""

from typing import Any

import numpy as np

from censquant._compile import compiled, compiled_part
from censquant._typing import Floats
from censquant.estimators.linear._design import independent_columns

_ROUNDING = 1e-9
# A dual value may leave its bounds by this share of the widest ones: by rounding while pivots go
# on, and by a little more where the solution is checked.
_PIVOT_ROUNDING = 1e-11
_TOLERANCE = 1e-9
# Beyond that many, HiGHS is faster.
_PIVOTS_PER_COLUMN = 200
_ILL_CONDITIONED = 1e10
# What distance to a fit is none: at least rounding, and for times of an even spread a little more.
_TOUCHING_AT_LEAST = 1e-10
_TOUCHING_SHARE = 1e-7


def touching(y: Floats) -> float:
    """Return how close to a fit a row lies on it, for responses of the order of 1.

    Tied rows that a fit passes through stay on it where their times are perturbed by much less
    than the typical spread of the times, and so does the path of all later levels.
    """
    spread = float(np.median(np.abs(y - np.median(y))))
    return max(_TOUCHING_AT_LEAST, _TOUCHING_SHARE * spread)


class Programme:
    r"""Weighted quantile regression of one response on one design, to be solved repeatedly.

    Solves :math:`\max_b y'b` subject to :math:`X'b = t`, :math:`l \le b \le u`, the dual of

    .. math:: \min_\beta \sum_i \max_{l_i \le b \le u_i} b (y_i - x_i'\beta) + t'\beta

    which is quantile regression for :math:`l_i = w_i (\tau - 1)`, :math:`u_i = w_i \tau` and
    :math:`t = 0`. Simplex pivots start from the rows that the previous fit passed through, since
    neighbouring levels differ by a few of them. A solution found that way is checked to be optimal;
    where it is not, HiGHS solves the programme, or finds that there is no solution.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Design of full column rank, with a column of ones for an intercept.
    y : ndarray of shape (n,)
        Response, of the order of 1; if it increases, low levels are found faster.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.estimators.linear._programme import Programme
    >>> programme = Programme(np.ones((3, 1)), np.array([1.0, 2.0, 4.0]))
    >>> half = np.full(3, 0.5)
    >>> programme.solve(-half, half, np.zeros(1))
    array([2.])
    """

    def __init__(self, X: Floats, y: Floats) -> None:
        self.X = np.ascontiguousarray(X)
        self.y = np.ascontiguousarray(y)
        self._basis = independent_columns(self.X.T)

    def solve(self, lower: Floats, upper: Floats, total: Floats) -> Floats | None:
        """Return the coefficients, or None where the loss has no minimum: not identified.

        Parameters
        ----------
        lower, upper : ndarray of shape (n,)
            Bounds of the dual values; a row for which both are 0 is ignored.
        total : ndarray of shape (p,)
        """
        basis = self._basis.copy()
        limit = _PIVOTS_PER_COLUMN * len(basis)
        inverse = np.linalg.inv(self.X[basis])
        beta = np.empty(len(basis))
        if not _solve_from(self.X, self.y, lower, upper, total, basis, inverse, limit, beta):
            return self._by_highs(lower, upper, total)
        self._basis = basis
        return beta

    def _by_highs(self, lower: Floats, upper: Floats, total: Floats) -> Floats | None:
        from scipy.optimize import linprog

        used = np.flatnonzero(upper > lower)
        X, y, lower, upper = self.X[used], self.y[used], lower[used], upper[used]
        result = linprog(
            -y, A_eq=X.T, b_eq=total, bounds=np.column_stack((lower, upper)), method="highs-ds"
        )
        if result.status == 2:  # the dual has no solution: the primal is unbounded
            return None
        if result.status != 0:
            raise RuntimeError(f"The linear programme was not solved: {result.message}")
        beta: Floats = -result.eqlin.marginals
        # The fit passes through rows whose dual values lie between the bounds, and perhaps others.
        touched = np.flatnonzero(np.abs(y - X @ beta) <= _ROUNDING)
        share = (result.x[touched] - lower[touched]) / (upper[touched] - lower[touched])
        inside = (share > _ROUNDING) & (share < 1 - _ROUNDING)
        touched = np.concatenate((touched[inside], touched[~inside]))
        found = touched[independent_columns(X[touched].T)]
        if len(found) < X.shape[1] or np.linalg.cond(X[found]) > _ILL_CONDITIONED:
            return beta
        self._basis = used[found]
        return np.linalg.solve(X[found], y[found]).astype(np.float64)


@compiled_part
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


@compiled_part
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


@compiled_part
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
    rounding = _PIVOT_ROUNDING * width.max()
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


@compiled_part
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


@compiled_part
def _gap(x: Any, total: Any, outside: Any, above: Any, lower: Any, upper: Any) -> Any:
    """Return what is left of the total for the rows that the fit passes through."""
    gap = total.copy()
    for i in range(len(x)):
        if outside[i]:
            dual = upper[i] if above[i] else lower[i]
            for k in range(x.shape[1]):
                gap[k] -= dual * x[i, k]
    return gap


@compiled_part
def _refined(inverse: Any, matrix: Any, right: Any) -> Any:
    """Solve by an inverse that has lost a little accuracy, with one step of refinement."""
    solution = inverse @ right
    return solution + inverse @ (right - matrix @ solution)


@compiled
def _solve_from(
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
