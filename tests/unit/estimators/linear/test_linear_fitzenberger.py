"""Fitzenberger's search against all vertices, and against repeated regressions."""

from itertools import combinations

import numpy as np
import pytest

from censquant import LinearQuantileRegressor
from censquant.estimators.linear._powell import (
    _best_edge,
    edge_descent,
    powell_loss,
    powell_path,
    repeated_regressions,
)
from censquant.estimators.linear._programme import Programme


def sample(seed, n=30, p=2):
    """Design, times and known censoring times, in turn one for all and different ones."""
    rng = np.random.default_rng(seed)
    X = np.column_stack((np.ones(n), rng.normal(size=(n, p - 1))))
    time = X @ np.append(0.25, 0.5 * rng.normal(size=p - 1)) + 0.5 * rng.standard_t(3, size=n)
    limit = rng.uniform(-0.5, 1.5, n) if seed % 2 else np.full(n, 0.5)
    return X, np.minimum(time, limit), limit


def losses(path, X, y, limit):
    ones = np.ones(len(y))
    pairs = zip(path.coefficients, path.taus.tolist(), strict=True)
    return np.array([powell_loss(X, y, limit, beta, tau, ones) for beta, tau in pairs])


@pytest.mark.parametrize("seed", range(8))
def test_the_objective_is_the_lowest_of_all_fits_through_rows(seed):
    X, y, limit = sample(seed)
    taus, ones = np.array([0.25, 0.5, 0.75]), np.ones(len(y))
    path = powell_path(X, y, limit, taus, ones, np.random.default_rng(0), descent=edge_descent)
    vertices = [np.linalg.solve(X[list(h)], y[list(h)]) for h in combinations(range(len(y)), 2)]
    for tau, found in zip(path.taus.tolist(), losses(path, X, y, limit), strict=True):
        best = min(powell_loss(X, y, limit, beta, tau, ones) for beta in vertices)
        assert found == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_objective_is_not_above_that_of_repeated_regressions(seed):
    X, y, limit = sample(seed, n=80, p=3)
    taus, ones = np.array([0.3, 0.6]), np.ones(len(y))
    reached = [
        losses(
            powell_path(X, y, limit, taus, ones, np.random.default_rng(0), None, descent),
            X,
            y,
            limit,
        )
        for descent in (repeated_regressions, edge_descent)
    ]
    for old, new in zip(*reached, strict=False):
        assert new <= old + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_each_step_lowers_the_loss_by_what_the_edge_promised(seed):
    X, y, limit = sample(seed, n=40, p=3)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(y))
    start = np.linalg.solve(X[:3], y[:3])
    visited = list(edge_descent(Programme(X, y), limit, start, 0.4, weight))
    values = [powell_loss(X, y, limit, beta, 0.4, weight) for beta in visited]
    assert (np.diff(values) < 0).all()
    for beta, before, after in zip(visited, values, values[1:], strict=False):
        basis = np.argsort(np.abs(y - X @ beta))[:3]
        inverse = np.linalg.inv(X[basis])
        directions = np.hstack((inverse, -inverse))
        gain, _, _ = _best_edge(X, y, limit, beta, directions, 0.4, weight)
        assert before - after == pytest.approx(gain, abs=1e-9)


def test_without_limits_it_is_plain_quantile_regression():
    X, y, _ = sample(1, n=50, p=3)
    never = np.full(50, np.inf)
    plain = LinearQuantileRegressor([0.5]).fit(X[:, 1:], y)
    *_, found = edge_descent(Programme(X, y), never, np.zeros(3), 0.5, np.ones(50))
    np.testing.assert_allclose(found[1:], plain.coef_[0], rtol=0, atol=1e-9)


def test_the_estimator_takes_the_censoring_times_of_powell():
    X, y, limit = sample(2, n=60)
    features = X[:, 1:]
    model = LinearQuantileRegressor([0.3, 0.5], method="fitzenberger", random_state=0)
    model.fit(features, (y, y < limit), censoring_time=limit)
    powell = LinearQuantileRegressor([0.3, 0.5], method="powell", random_state=0)
    powell.fit(features, (y, y < limit), censoring_time=limit)
    for level, tau in enumerate((0.3, 0.5)):
        own, other = (
            powell_loss(
                X,
                y,
                limit,
                np.append(fit.intercept_[level], fit.coef_[level]),
                tau,
                np.ones(60),
            )
            for fit in (model, powell)
        )
        assert own <= other + 1e-9
