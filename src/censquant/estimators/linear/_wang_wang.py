"""Wang and Wang's estimator: censored rows split by a local Kaplan-Meier estimate."""

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.estimators.linear._columns import independent_columns
from censquant.estimators.linear._local_levels import local_levels
from censquant.estimators.linear._path import Path
from censquant.estimators.linear._program import Programme

MOST_FEATURES = 5
"""With more features, hardly any row has a neighbour."""

_TOUCHING = 1e-9
_N_FOLDS = 5
# Multiples of the bandwidth that shrinks with the number of rows as the theory asks for.
_FACTORS = (0.5, 1.0, 2.0, 4.0, 8.0)


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


def chosen_bandwidth(
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
