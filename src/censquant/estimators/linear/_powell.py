"""Powell's estimator for censoring times that are known for every row, with two searches."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.estimators.linear._design import independent_columns
from censquant.estimators.linear._methods import Path
from censquant.estimators.linear._programme import Programme

_MOST_ROUNDS = 50
_RANDOM_STARTS = 20
_TOUCHING = 1e-10  # a fit so near to a time passes through it
_NO_BETTER = 1e-12  # a loss that is lower by a smaller share of the weights is as good

Descent = Callable[[Programme, Floats, Floats, float, Floats], Iterator[Floats]]


def powell_loss(
    X: Floats, y: Floats, censoring_time: Floats, beta: Floats, tau: float, weight: Floats
) -> float:
    r"""Return :math:`\sum_i w_i \rho_\tau(y_i - \min(c_i, x_i'\beta))`."""
    error = y - np.minimum(censoring_time, X @ beta)
    return float(weight @ (error * (tau - (error < 0))))


def powell_path(
    X: Floats,
    y: Floats,
    censoring_time: Floats,
    taus: Floats,
    weight: Floats,
    rng: np.random.Generator,
    near: Floats | None = None,
    descent: Descent | None = None,
) -> Path:
    """Coefficients of each level that minimise a loss of predictions censored as the times were.

    The estimator is that of Powell (1986), Censored regression quantiles. Its loss is not convex:
    from each of several starts a search goes downwards, and the best result is kept. Starts are the
    plain fit, the previous level, and fits through random rows; no global optimum is guaranteed.
    """
    descent = repeated_regressions if descent is None else descent
    programme = Programme(X, y)
    everyone = np.ones(len(y), dtype=bool)
    coefficients: list[Floats] = []
    for level, tau in enumerate(taus.tolist()):
        plain = _regress(programme, everyone, tau, weight)
        starts = [plain, *coefficients[-1:]]
        if near is not None:
            starts.append(near[level])
        else:
            starts.extend(_through_random_rows(X, y, y < censoring_time, rng))
        best, best_loss, least = plain, np.inf, _NO_BETTER * float(weight.sum())
        for start in starts:
            for beta in descent(programme, censoring_time, start, tau, weight):
                loss = powell_loss(X, y, censoring_time, beta, tau, weight)
                if loss < best_loss - least:
                    best, best_loss = beta, loss
        free = _below(programme, best, censoring_time)
        if len(independent_columns(X[free])) < X.shape[1]:
            return Path.of(taus, coefficients, X.shape[1], stopped_at=tau)
        coefficients.append(best)
    return Path.of(taus, coefficients, X.shape[1])


def repeated_regressions(
    programme: Programme, censoring_time: Floats, beta: Floats, tau: float, weight: Floats
) -> Iterator[Floats]:
    """Yield fits to the rows that the previous fit puts below their censoring time.

    They end where these rows no longer change, as in Buchinsky's algorithm. Such a fit need not be
    a local minimum of Powell's loss.
    """
    rows = None
    for _ in range(_MOST_ROUNDS):
        yield beta
        free = _below(programme, beta, censoring_time)
        if not free.any() or (rows is not None and (free == rows).all()):
            return
        rows = free
        beta = _regress(programme, rows, tau, weight)


def _below(programme: Programme, beta: Floats, censoring_time: Floats) -> NDArray[np.bool_]:
    """Return the rows that a fit puts below their censoring time, not those it passes through."""
    below: NDArray[np.bool_] = programme.X @ beta < censoring_time - _TOUCHING
    return below


def _regress(programme: Programme, rows: NDArray[np.bool_], tau: float, weight: Floats) -> Floats:
    """Return the quantile regression of some of the rows."""
    share = np.where(rows, weight, 0.0)
    total = np.zeros(programme.X.shape[1])
    beta = programme.solve(share * (tau - 1.0), share * tau, total)
    if beta is None:  # quantile regression of finite rows always has a solution
        raise RuntimeError("The linear programme of a level was not solved.")
    return beta


def _through_random_rows(
    X: Floats, y: Floats, event: NDArray[np.bool_], rng: np.random.Generator
) -> list[Floats]:
    """Return fits that pass through as many random events as there are coefficients."""
    fits: list[Floats] = []
    events, p = np.flatnonzero(event), X.shape[1]
    for _ in range(_RANDOM_STARTS if len(events) >= p else 0):
        rows = rng.choice(events, size=p, replace=False)
        if np.linalg.matrix_rank(X[rows]) == p:
            fits.append(np.linalg.solve(X[rows], y[rows]))
    return fits


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
    least = _NO_BETTER * float(weight.sum())
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
    rises, falls = rate > _TOUCHING, rate < -_TOUCHING
    of_time, of_limit = (y - fit)[:, None], (censoring_time - fit)[:, None]
    # On which side of time and censoring time a row lies as soon as the fit moves.
    above_time = (of_time < -_TOUCHING) | ((np.abs(of_time) <= _TOUCHING) & rises)
    above_limit = (of_limit < -_TOUCHING) | ((np.abs(of_limit) <= _TOUCHING) & rises)
    slope = np.where(above_limit, 0.0, np.where(above_time, 1.0 - tau, -tau)) * rate
    slope *= weight[:, None]
    size = np.abs(rate) * weight[:, None]
    # How the slope changes where the fit passes a time, and where it passes a censoring time: rows
    # beyond theirs have no slope.
    changes = np.vstack((size, (tau - 1.0) * size))
    meets = np.vstack(
        (
            (rises & (of_time > _TOUCHING)) | (falls & (of_time < -_TOUCHING)),
            (rises & (of_limit > _TOUCHING)) | (falls & (of_limit < -_TOUCHING)),
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
