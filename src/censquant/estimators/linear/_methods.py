"""Methods that assume independent censoring: paths of coefficients by Portnoy, Peng and others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._compile import compiled
from censquant._typing import Floats
from censquant.estimators.linear._design import independent_columns
from censquant.estimators.linear._programme import Programme, touching

DEFAULT_DRAWS = 100
"""Rounds of data augmentation whose mean the coefficients are, unless their number is given."""

MOST_FEATURES = 5
"""Of Wang and Wang's method: with more features, hardly any row has a neighbour."""

_WARM_UP = 20  # rounds of data augmentation
_TOUCHING = 1e-9
_N_FOLDS = 5
# Multiples of the bandwidth that shrinks with the number of rows as the theory asks for.
_FACTORS = (0.5, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True)
class Path:
    """Coefficients level by level, as far as they are identified.

    ``stopped_at`` is the first level that is not identified. Portnoy's method has crossing levels
    F(c given x), at which the fit passed a censored row, NaN for events and rows never passed. Data
    augmentation has draws ``(n_draws, k, p)`` whose spread shows the precision, NaN where a draw
    did not reach a level.
    """

    taus: Floats
    coefficients: Floats
    stopped_at: float | None
    crossing_levels: Floats | None = None
    draws: Floats | None = None

    @classmethod
    def of(
        cls,
        taus: Floats,
        coefficients: Sequence[Floats],
        n_coefficients: int,
        *,
        stopped_at: float | None = None,
        crossing_levels: Floats | None = None,
    ) -> "Path":
        """Return the path of the levels that have coefficients, the first of ``taus``."""
        table = np.array(coefficients, dtype=np.float64).reshape(-1, n_coefficients)
        return cls(taus[: len(table)], table, stopped_at, crossing_levels)

    def thinned(self, n_levels: int, taus: Floats) -> "Path":
        """Return the path at so many levels, evenly spread and with both ends, and ``taus``."""
        last = len(self.taus) - 1
        spread = np.linspace(0, last, min(n_levels, last + 1)).round().astype(np.intp)
        kept = np.union1d(spread, np.flatnonzero(np.isin(self.taus, taus)))
        return replace(self, taus=self.taus[kept], coefficients=self.coefficients[kept])

    def at(self, taus: Floats) -> Floats:
        """Return the coefficients at those of some levels of the grid that were reached."""
        reached = taus[np.isin(taus, self.taus)]
        return self.coefficients[np.searchsorted(self.taus, reached)]


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


def wang_wang_path(
    X: Floats,
    features: Floats,
    y: Floats,
    event: NDArray[np.bool_],
    taus: Floats,
    weight: Floats,
    bandwidth: float,
) -> Path:
    r"""Coefficients of each level by itself, with censored rows split at levels known beforehand.

    The estimator is that of Wang and Wang (2009), Locally weighted censored quantile regression.
    A censored row whose censoring time has the level :math:`q` among similar rows counts fully
    below :math:`q`; above it, the share :math:`(\tau - q) / (1 - q)` of it is at its censoring time
    and the rest at infinity. No level depends on the fit of another one. A level is not identified
    if all events lie below its fit.
    """
    levels = local_levels(features, y, event, weight, bandwidth)
    programme = Programme(X, y)
    coefficients: list[Floats] = []
    for tau in taus.tolist():
        passed = ~event & (levels < tau)
        share = weight.copy()
        share[passed] *= (tau - levels[passed]) / (1.0 - levels[passed])
        rest = (weight - share) @ X
        beta = programme.solve(share * (tau - 1.0), share * tau, -tau * rest)
        # Without an event at or above the fit, what holds it back is censoring times alone.
        if beta is None or not (event & (y - X @ beta >= -_TOUCHING)).any():
            return Path.of(taus, coefficients, X.shape[1], stopped_at=tau)
        coefficients.append(beta)
    return Path.of(taus, coefficients, X.shape[1])


def choose_bandwidth(
    X: Floats,
    features: Floats,
    y: Floats,
    event: NDArray[np.bool_],
    taus: Floats,
    weight: Floats,
    rng: np.random.Generator,
) -> float:
    """Return the bandwidth of the smallest cross-validated check loss of events.

    Five folds, and only events are compared with their predictions, as its authors do. Levels that
    a fold does not identify with some bandwidth do not count.
    """
    n, p = features.shape
    base = float(n ** (-1.0 / (p + 2.5)))
    bandwidths = [factor * base for factor in _FACTORS]
    fold = rng.permutation(np.arange(n) % _N_FOLDS)
    losses = np.zeros((len(bandwidths), len(taus)))
    for number in range(_N_FOLDS):
        train, test = fold != number, (fold == number) & event
        if len(independent_columns(X[train])) < X.shape[1] or not test.any():
            continue
        for place, bandwidth in enumerate(bandwidths):
            path = wang_wang_path(
                X[train], features[train], y[train], event[train], taus, weight[train], bandwidth
            )
            reached = len(path.taus)
            error = y[test, None] - X[test] @ path.coefficients.T
            loss = weight[test] @ (error * (path.taus - (error < 0)))
            losses[place, :reached] += loss
            losses[place, reached:] = np.nan
    total = losses[:, np.isfinite(losses).all(axis=0)].sum(axis=1)
    return bandwidths[int(np.argmin(total))]


def local_levels(
    features: Floats, y: Floats, event: NDArray[np.bool_], weight: Floats, bandwidth: float
) -> Floats:
    r"""Return the level of each censoring time in the distribution of times around its features.

    The estimate of Beran (1981) with the biquadratic kernel of Wang and Wang (2009), Locally
    weighted censored quantile regression: row :math:`k` counts for row :math:`i` as

    .. math:: B_k = w_k \prod_j \max\Big(0, 1 - \Big(\frac{x_{ij} - x_{kj}}{h}\Big)^2\Big)^2
    """
    order = np.argsort(y, kind="stable")
    levels = np.full(len(y), np.nan)
    inner = np.full(len(y), np.nan)
    _write_local_levels(
        np.ascontiguousarray(features[order]),
        y[order],
        event[order],
        weight[order],
        float(bandwidth),
        inner,
    )
    levels[order] = inner
    return levels


@compiled
def _write_local_levels(
    features: Any, y: Any, event: Any, weight: Any, bandwidth: float, levels: Any
) -> None:
    """Write the levels of censored rows; rows are in the order of their times."""
    n, p = features.shape
    for i in range(n):
        if event[i]:
            continue
        survival, at_risk, events = 1.0, 0.0, 0.0
        for k in range(n - 1, -1, -1):
            share = weight[k]
            for j in range(p):
                distance = (features[i, j] - features[k, j]) / bandwidth
                inside = max(0.0, 1.0 - distance * distance)
                share *= inside * inside
            at_risk += share
            if event[k]:
                events += share
            # Rows of the same time are at risk together.
            if k == 0 or y[k - 1] < y[k]:
                if events > 0.0 and y[k] <= y[i]:
                    survival *= 1.0 - events / at_risk
                events = 0.0
        levels[i] = 1.0 - survival


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
