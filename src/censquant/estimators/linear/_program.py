"""The linear programme behind every estimator of this package."""

import numpy as np

from censquant._typing import Floats
from censquant.estimators.linear._columns import independent_columns

_ROUNDING = 1e-9
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
    >>> from censquant.estimators.linear._program import Programme
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
        from censquant.estimators.linear._pivots import solve_from

        basis = self._basis.copy()
        limit = _PIVOTS_PER_COLUMN * len(basis)
        inverse = np.linalg.inv(self.X[basis])
        beta = np.empty(len(basis))
        if not solve_from(self.X, self.y, lower, upper, total, basis, inverse, limit, beta):
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
