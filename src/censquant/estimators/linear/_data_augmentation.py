"""Data augmentation: censored times are drawn from the fitted quantiles, and these are refitted."""

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.estimators.linear._columns import independent_columns
from censquant.estimators.linear._path import Path
from censquant.estimators.linear._portnoy import portnoy_path
from censquant.estimators.linear._program import Programme

DEFAULT_DRAWS = 100
"""Rounds whose mean the coefficients are, unless their number is given."""

_WARM_UP = 20


def data_augmentation_path(
    X: Floats,
    y: Floats,
    event: NDArray[np.bool_],
    taus: Floats,
    weight: Floats,
    rng: np.random.Generator,
    n_draws: int = DEFAULT_DRAWS,
) -> Path:
    r"""Coefficients as means over rounds of imputation and quantile regression.

    The estimator is that of Yang, Narisetty and He (2018), A new approach to censored quantile
    regression estimation. A round draws a level between F(c given x) and 1 for each censored row,
    with the quantile at that level as its time, and then fits all levels to the completed
    data, once with the rows' weights and once with these multiplied by exponential random numbers.
    The former are averaged. The latter are draws from what resembles a posterior distribution: the
    next round draws its times from them, and their spread shows the precision of the estimate.
    Rows drawn above the last level are at infinity. The first round draws from Portnoy's fit;
    levels that it does not identify, or fewer than half of the rounds, are left out.
    """
    begun = portnoy_path(X, y, event, taus, weight)
    levels, current = begun.taus, begun.coefficients
    means: list[Floats] = []
    draws: list[Floats] = []
    for number in range(_WARM_UP + n_draws):
        times = _completed(X, y, event, levels, current, rng)
        drawn = _fits(X, times, levels, weight * rng.exponential(size=len(y)))
        if number >= _WARM_UP:
            means.append(_fits(X, times, levels, weight))
            draws.append(drawn)
        current = np.where(np.isfinite(drawn), drawn, current)
    fitted = np.isfinite(means).all(axis=2)
    missed = np.flatnonzero(2 * fitted.sum(axis=0) < n_draws)
    stopped_at = begun.stopped_at
    if len(missed):
        stopped_at = float(levels[missed[0]])
        levels = levels[: missed[0]]
    k = len(levels)
    coefficients = np.nanmean(np.array(means)[:, :k], axis=0)
    return Path(levels, coefficients, stopped_at, draws=np.array(draws)[:, :k])


def _completed(
    X: Floats,
    y: Floats,
    event: NDArray[np.bool_],
    levels: Floats,
    coefficients: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Return the times with those of censored rows drawn from the fit, infinite above its end."""
    times = y.copy()
    rows = np.flatnonzero(~event)
    fits = np.maximum.accumulate(X[rows] @ coefficients.T, axis=1)
    for row, fit in zip(rows.tolist(), fits, strict=True):
        reached = np.interp(y[row], fit, levels, left=0.0)
        level = reached + (1.0 - reached) * rng.random()
        drawn = np.interp(level, levels, fit)
        times[row] = np.inf if level > levels[-1] else max(drawn, y[row])
    return times


def _fits(X: Floats, times: Floats, levels: Floats, weight: Floats) -> Floats:
    """Return the regression of completed times at each level, NaN from one without solution on."""
    table = np.full((len(levels), X.shape[1]), np.nan)
    order = np.argsort(times, kind="stable")
    order = order[np.isfinite(times[order])]
    if len(independent_columns(X[order])) < X.shape[1]:
        return table
    programme, share = Programme(X[order], times[order]), weight[order]
    far = weight[np.isinf(times)] @ X[np.isinf(times)]
    for place, tau in enumerate(levels.tolist()):
        beta = programme.solve(share * (tau - 1.0), share * tau, -tau * far)
        if beta is None:
            break
        table[place] = beta
    return table
