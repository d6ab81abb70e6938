"""Peng and Huang's martingale estimator on a grid of levels."""

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.estimators.linear._columns import independent_columns
from censquant.estimators.linear._path import Path
from censquant.estimators.linear._program import Programme, touching


def peng_huang_path(
    X: Floats, y: Floats, event: NDArray[np.bool_], taus: Floats, weight: Floats
) -> Path:
    r"""Coefficients level after level that solve a martingale estimating equation.

    The equation of Peng and Huang (2008), Survival analysis with quantile regression models, is

    .. math:: \sum_i w_i x_i \Big( \delta_i 1[y_i \le x_i'\beta(\tau_j)] - \sum_{k < j}
              1[y_i \ge x_i'\beta(\tau_k)] (H(\tau_{k+1}) - H(\tau_k)) \Big) = 0,
              \quad H(u) = -\log(1 - u)

    where everybody is at risk before the first level, and rows that a fit passes through still are:
    without features it is the estimator of Nelson and Aalen.
    """
    if len(independent_columns(X[event])) < X.shape[1]:
        return Path.of(taus, [], X.shape[1], stopped_at=float(taus[0]))
    hazard = np.diff(-np.log1p(-np.concatenate(([0.0], taus))))
    tolerance = touching(y)
    at_risk = np.ones(len(y), dtype=bool)
    expected = np.zeros(X.shape[1])
    programme = Programme(X[event], y[event])
    lower, upper = -weight[event], np.zeros(int(event.sum()))
    coefficients: list[Floats] = []
    for tau, step in zip(taus.tolist(), hazard.tolist(), strict=True):
        expected = expected + step * (weight * at_risk) @ X
        beta = programme.solve(lower, upper, -expected)
        if beta is None:
            return Path.of(taus, coefficients, X.shape[1], stopped_at=tau)
        coefficients.append(beta)
        at_risk = y - X @ beta >= -tolerance
    return Path.of(taus, coefficients, X.shape[1])
