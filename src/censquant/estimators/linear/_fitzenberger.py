"""Fitzenberger's search for the minimum of Powell's loss: from vertex to vertex along edges."""

from collections.abc import Iterator

import numpy as np

from censquant._typing import Floats
from censquant.estimators.linear._columns import independent_columns
from censquant.estimators.linear._powell import NO_BETTER, TOUCHING
from censquant.estimators.linear._program import Programme


def edge_descent(
    programme: Programme, censoring_time: Floats, beta: Floats, tau: float, weight: Floats
) -> Iterator[Floats]:
    """Yield fits through as many rows as there are coefficients, each better than the one before.

    The algorithm is that of Fitzenberger (1997), A guide to censored quantile regressions, after
    Barrodale and Roberts. Powell's loss is linear between the fits that pass through a row's time
    or its censoring time, so that it has a minimum at a vertex, a fit through rows. From a vertex,
    letting go of one of its rows leads along an edge. All edges are followed to the lowest point on
    them, beyond local minima too, and the best one is taken; the search ends where no edge leads
    downwards.
    """
    X, y = programme.X, programme.y
    near = np.argsort(np.abs(y - X @ beta), kind="stable")
    basis = near[independent_columns(X[near].T)]
    least = NO_BETTER * float(weight.sum())
    while True:
        inverse = np.linalg.inv(X[basis])
        beta = inverse @ y[basis]
        yield beta
        directions = np.hstack((inverse, -inverse))
        gain, edge, entering = _best_edge(X, y, censoring_time, beta, directions, tau, weight)
        if gain <= least:
            return
        basis = basis.copy()
        basis[edge % len(basis)] = entering


def _best_edge(
    X: Floats,
    y: Floats,
    censoring_time: Floats,
    beta: Floats,
    directions: Floats,
    tau: float,
    weight: Floats,
) -> tuple[float, int, int]:
    """Return how far the best edge leads down, which one it is, and the row it leads to."""
    n = len(y)
    fit = X @ beta
    rate = X @ directions
    rises, falls = rate > TOUCHING, rate < -TOUCHING
    of_time, of_limit = (y - fit)[:, None], (censoring_time - fit)[:, None]
    # On which side of time and censoring time a row lies as soon as the fit moves.
    above_time = (of_time < -TOUCHING) | ((np.abs(of_time) <= TOUCHING) & rises)
    above_limit = (of_limit < -TOUCHING) | ((np.abs(of_limit) <= TOUCHING) & rises)
    slope = np.where(above_limit, 0.0, np.where(above_time, 1.0 - tau, -tau)) * rate
    slope *= weight[:, None]
    size = np.abs(rate) * weight[:, None]
    # How the slope changes where the fit passes a time, and where it passes a censoring time: rows
    # beyond theirs have no slope.
    changes = np.vstack((size, (tau - 1.0) * size))
    meets = np.vstack(
        (
            (rises & (of_time > TOUCHING)) | (falls & (of_time < -TOUCHING)),
            (rises & (of_limit > TOUCHING)) | (falls & (of_limit < -TOUCHING)),
        )
    )
    meets &= np.isfinite(np.vstack((of_time, of_limit)))
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(meets, np.vstack((of_time / rate, of_limit / rate)), np.inf)
    order = np.argsort(steps, axis=0, kind="stable")
    steps = np.take_along_axis(steps, order, axis=0)
    changes = np.where(np.isfinite(steps), np.take_along_axis(changes, order, axis=0), 0.0)
    slopes = slope.sum(axis=0) + np.vstack((np.zeros(changes.shape[1]), changes.cumsum(axis=0)))
    with np.errstate(invalid="ignore"):
        lengths = np.diff(steps, axis=0, prepend=0.0)
        moved = np.where(np.isfinite(steps), lengths * slopes[:-1], 0.0).cumsum(axis=0)
    # Minima lie where the fit passes a time, not a censoring time.
    moved = np.where(np.isfinite(steps) & (order < n), moved, np.inf)
    place, edge = np.unravel_index(int(np.argmin(moved)), moved.shape)
    return -float(moved[place, edge]), int(edge), int(order[place, edge])
