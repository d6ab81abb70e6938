"""Portnoy's estimator on a grid of levels."""

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.estimators.linear._path import Path
from censquant.estimators.linear._program import Programme, touching


def portnoy_path(
    X: Floats, y: Floats, event: NDArray[np.bool_], taus: Floats, weight: Floats
) -> Path:
    r"""Coefficients level by level, where a censored row is split once the fit has passed it.

    The estimator is that of Portnoy (2003), Censored regression quantiles. Until the fit has
    passed a censored row, all of its weight is at infinity. From its crossing level :math:`q` on,
    the share :math:`(\tau - q) / (1 - q)` of it is at its censoring time. The crossing level is
    interpolated between the two levels around it. Censored rows below the first quantile carry
    no information and are left out; one that a fit touches is not passed yet.
    """
    programme, tolerance = Programme(X, y), touching(y)
    weight, beta = _first_level(programme, event, float(taus[0]), weight)
    crossing = np.full(len(y), np.nan)
    coefficients, stopped_at = [beta], None
    for before, tau in zip(taus[:-1].tolist(), taus[1:].tolist(), strict=True):
        passed = ~np.isnan(crossing)
        waiting = ~event & ~passed & (weight > 0)
        share = np.where(event, weight, 0.0)
        q = crossing[passed]
        share[passed] = weight[passed] * (tau - q) / (1.0 - q)
        now = _fit(programme, share, weight, tau)
        if now is None:
            stopped_at = tau
            break
        coefficients.append(now)
        new = waiting & (y - X @ now < -tolerance)
        high, low = X[new] @ now, X[new] @ beta
        crossing[new] = tau - (tau - before) * (high - y[new]) / (high - low)
        beta = now
    return Path.of(taus, coefficients, X.shape[1], stopped_at=stopped_at, crossing_levels=crossing)


def _first_level(
    programme: Programme, event: NDArray[np.bool_], tau: float, weight: Floats
) -> tuple[Floats, Floats]:
    """Set the weight of censored rows below the first quantile to 0, until there are none."""
    tolerance = touching(programme.y)
    while True:
        beta = _fit(programme, weight, weight, tau)
        if beta is None:  # quantile regression of finite rows always has a solution
            raise RuntimeError("The linear programme of the first level was not solved.")
        below = ~event & (weight > 0) & (programme.y - programme.X @ beta <= tolerance)
        if not below.any():
            return weight, beta
        weight = np.where(below, 0.0, weight)


def _fit(programme: Programme, share: Floats, weight: Floats, tau: float) -> Floats | None:
    """Fit one level to rows of which a share is at its time and the rest at infinity."""
    rest = (weight - share) @ programme.X
    return programme.solve(share * (tau - 1.0), share * tau, -tau * rest)
