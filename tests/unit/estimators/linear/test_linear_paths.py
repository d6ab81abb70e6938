"""Portnoy's, Peng and Huang's and Powell's estimators level by level."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from censquant.estimators.linear import _powell
from censquant.estimators.linear._methods import Path, peng_huang_path, portnoy_path
from censquant.estimators.linear._powell import powell_loss, powell_path
from censquant.survival import kaplan_meier


def censored(seed, n=60, spread=1.0):
    """Design, times, events and censoring times of a linear model."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, n)
    time = 0.2 + x + spread * (0.2 + 0.2 * x) * rng.normal(size=n)
    limit = rng.uniform(0.3, 2.5, n)
    X = np.column_stack((np.ones(n), x))
    return X, np.minimum(time, limit), time <= limit, limit


def obvious_portnoy(X, y, event, taus):
    """Portnoy's estimator by doubled rows, the second half of them far away."""
    n, p = X.shape
    used, level = np.ones(n, dtype=bool), np.full(n, np.nan)
    far = 1e4

    def regress(rows, times, weights, tau):
        m = len(times)
        done = linprog(
            np.concatenate((np.zeros(p), tau * weights, (1 - tau) * weights)),
            A_eq=np.hstack((rows, np.eye(m), -np.eye(m))),
            b_eq=times,
            bounds=[(None, None)] * p + [(0, None)] * 2 * m,
            method="highs",
        )
        return done.x[:p]

    while True:
        beta = regress(X[used], y[used], np.ones(used.sum()), taus[0])
        below = used & ~event & (y - X @ beta <= 1e-9)
        if not below.any():
            break
        used &= ~below
    path = [beta]
    for before, tau in pairwise(taus):
        kept = np.zeros(n)
        for i in range(n):
            if event[i]:
                kept[i] = 1.0
            elif not np.isnan(level[i]):
                kept[i] = (tau - level[i]) / (1 - level[i])
        rows = np.vstack((X[used], X[used]))
        times = np.concatenate((y[used], np.full(used.sum(), far)))
        new = regress(rows, times, np.concatenate((kept[used], 1 - kept[used])), tau)
        if np.abs(X @ new).max() > far / 10:
            break
        for i in np.flatnonzero(used & ~event & np.isnan(level)):
            if X[i] @ new > y[i] + 1e-9:
                share = (X[i] @ new - y[i]) / (X[i] @ new - X[i] @ beta)
                level[i] = tau - (tau - before) * share
        path.append(new)
        beta = new
    return np.array(path), level


TAUS = np.array([0.0333, 0.1111, 0.2222, 0.3333, 0.4444, 0.5555, 0.6667, 0.7777])


@pytest.mark.parametrize("seed", range(6))
def test_portnoys_path_is_that_of_doubled_rows(seed):
    X, y, event, _ = censored(seed)
    path = portnoy_path(X, y, event, TAUS, np.ones(len(y)))
    expected, level = obvious_portnoy(X, y, event, TAUS)
    assert len(path.coefficients) == len(expected) >= 6
    np.testing.assert_allclose(path.coefficients, expected, rtol=0, atol=1e-7)
    np.testing.assert_allclose(path.crossing_levels, level, rtol=0, atol=1e-6)


def test_an_intercept_alone_passes_a_censored_row_as_kaplan_meier_does_by_hand():
    # Events at 1, 3 and 4, censored at 2: 1 has mass 1/4; what is left of 2 goes to 3 and 4, which
    # then have 3/8 each.
    y, event = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, True])
    taus = np.array([0.1, 0.2, 0.249, 0.251, 0.3, 0.6, 0.62, 0.63, 0.8])
    path = portnoy_path(np.ones((4, 1)), y, event, taus, np.ones(4))
    np.testing.assert_allclose(path.coefficients[:, 0], [1, 1, 1, 3, 3, 3, 3, 4, 4])
    assert path.crossing_levels[1] == pytest.approx(0.25, abs=0.002)
    assert np.isnan(path.crossing_levels[[0, 2, 3]]).all()


@given(st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_an_intercept_alone_is_kaplan_meier_up_to_the_step_of_the_levels(seed):
    rng = np.random.default_rng(seed)
    y, event = rng.exponential(size=30), rng.random(30) < 0.7
    event[np.argmin(y)] = True
    curve = kaplan_meier(y, event)
    taus = np.arange(0.001, 0.95, 0.001)
    path = portnoy_path(np.ones((30, 1)), y, event, taus, np.ones(30))
    fitted = path.coefficients[:, 0]
    low, high = (curve.quantile(np.clip(path.taus + d, 1e-9, 1 - 1e-9)) for d in (-0.01, 0.01))
    assert (fitted >= low - 1e-10).all()
    assert (fitted <= high + 1e-10).all()
    last = 1.0 - curve.survival[-1]
    if path.stopped_at is None:
        assert last > taus[-1] - 0.012
    else:
        assert path.stopped_at == pytest.approx(last, abs=0.012)


def test_censored_rows_below_the_first_quantile_are_left_out():
    X, y, event, _ = censored(0)
    early = np.array([[1.0, 0.5]])
    expected = portnoy_path(X, y, event, TAUS, np.ones(60))
    path = portnoy_path(
        np.vstack((X, early)), np.append(y, -5.0), np.append(event, False), TAUS, np.ones(61)
    )
    np.testing.assert_allclose(path.coefficients, expected.coefficients, atol=1e-12)
    assert np.isnan(path.crossing_levels[-1])


@pytest.mark.parametrize("fit", [portnoy_path, peng_huang_path])
def test_nothing_is_fitted_where_only_censored_rows_are_left(fit):
    y = np.arange(1.0, 11.0) / 10
    path = fit(np.ones((10, 1)), y, y <= 0.4, np.arange(1, 19) / 20 + 0.001, np.ones(10))
    assert path.stopped_at == pytest.approx(0.4, abs=0.06)
    assert path.taus[-1] < path.stopped_at
    assert len(path.coefficients) == len(path.taus)
    assert path.coefficients.max() <= 0.4


@pytest.mark.parametrize("fit", [portnoy_path, peng_huang_path])
def test_weights_that_are_counts_are_repeated_rows(fit):
    X, y, event, _ = censored(3, n=30)
    count = np.random.default_rng(0).integers(1, 4, 30)
    path = fit(X, y, event, TAUS, count.astype(float))
    repeated = fit(
        np.repeat(X, count, axis=0),
        np.repeat(y, count),
        np.repeat(event, count),
        TAUS,
        np.ones(count.sum()),
    )
    np.testing.assert_allclose(path.coefficients, repeated.coefficients, rtol=0, atol=1e-9)


def test_events_that_span_fewer_columns_than_all_rows_identify_nothing():
    X = np.column_stack((np.ones(6), [0, 0, 0, 1, 1, 1]))
    y, event = np.arange(6.0), np.array([True] * 3 + [False] * 3)
    path = peng_huang_path(X, y, event, TAUS, np.ones(6))
    assert path.stopped_at == TAUS[0]
    assert path.coefficients.shape == (0, 2)


def test_an_intercept_alone_is_the_nelson_aalen_estimator_by_hand():
    # Without features the equation is: events so far = hazard x rows at risk, summed over levels.
    y, event = np.array([0.1, 0.2, 0.3, 0.4]), np.array([True, False, True, True])
    taus = np.array([0.2, 0.4, 0.6])
    hazard = np.diff(-np.log1p(-np.array([0.0, *taus])))
    path = peng_huang_path(np.ones((4, 1)), y, event, taus, np.ones(4))
    fitted, mass, at_risk = [], 0.0, 4
    for step in hazard:
        mass += step * at_risk
        fitted.append([0.1, 0.3, 0.4][int(np.ceil(mass)) - 1])
        at_risk = (y >= fitted[-1]).sum()
    np.testing.assert_allclose(path.coefficients[:, 0], fitted)


def best_powell(X, y, limit, tau, weight):
    """Lowest Powell loss over all fits through as many rows or limits as there are coefficients."""
    points = np.vstack((X, X)), np.concatenate((y, limit))
    best = np.inf
    for rows in combinations(range(len(points[1])), X.shape[1]):
        rows = list(rows)
        if np.isfinite(points[1][rows]).all() and abs(np.linalg.det(points[0][rows])) > 1e-9:
            beta = np.linalg.solve(points[0][rows], points[1][rows])
            best = min(best, powell_loss(X, y, limit, beta, tau, weight))
    return best


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("tau", [0.3, 0.6])
def test_powells_search_finds_the_best_of_all_fits_on_small_data(seed, tau):
    X, y, _, limit = censored(seed, n=25)
    weight = np.random.default_rng(seed).exponential(size=25)
    path = powell_path(X, y, limit, np.array([tau]), weight, np.random.default_rng(0))
    loss = powell_loss(X, y, limit, path.coefficients[0], tau, weight)
    assert loss == pytest.approx(best_powell(X, y, limit, tau, weight), rel=1e-9)


def test_powells_search_can_begin_near_a_given_fit():
    X, y, _, limit = censored(1)
    taus, rng = np.array([0.3, 0.5]), np.random.default_rng(0)
    found = powell_path(X, y, limit, taus, np.ones(60), rng)
    again = powell_path(X, y, limit, taus, np.ones(60), rng, near=found.coefficients)
    for tau, a, b in zip(taus, found.coefficients, again.coefficients, strict=True):
        losses = [powell_loss(X, y, limit, beta, tau, np.ones(60)) for beta in (a, b)]
        assert losses[1] <= losses[0] + 1e-12


def test_powell_stops_where_predictions_below_the_limits_tell_too_little():
    x = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    X, limit = np.column_stack((np.ones(6), x)), np.where(x > 0, 0.5, np.inf)
    y = np.array([0.1, 0.2, 0.3, 0.5, 0.5, 0.5])
    path = powell_path(X, y, limit, np.array([0.5]), np.ones(6), np.random.default_rng(0))
    assert path.stopped_at == 0.5
    assert path.coefficients.shape == (0, 2)


def test_random_starts_pass_through_events_and_skip_rows_that_tell_no_fit():
    X = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    y, rng = np.array([0.0, 1.0, 2.0]), np.random.default_rng(0)
    fits = _powell._through_random_rows(X, y, np.array([True, True, True]), rng)
    assert 0 < len(fits) < _powell._RANDOM_STARTS
    assert {tuple(np.round(fit, 9)) for fit in fits} <= {(0.0, 2.0), (1.0, 1.0)}
    assert _powell._through_random_rows(X, y, np.array([True, False, False]), rng) == []


def test_the_search_ends_after_so_many_rounds(monkeypatch):
    X, y, _, limit = censored(0)
    monkeypatch.setattr(_powell, "_MOST_ROUNDS", 1)
    path = powell_path(X, y, limit, np.array([0.5]), np.ones(60), np.random.default_rng(0))
    assert path.coefficients.shape == (1, 2)


def test_levels_of_a_path_are_looked_up_by_their_bits():
    path = Path.of(np.array([0.1, 0.2, 0.3]), [np.array([1.0]), np.array([2.0])], 1, stopped_at=0.3)
    assert path.at(np.array([0.2, 0.3])).tolist() == [[2.0]]


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (
            lambda X, y: portnoy_path(X, y, y > 0, np.array([0.5]), np.ones(3)),
            "The linear programme of the first level was not solved.",
        ),
        (
            lambda X, y: powell_path(
                X, y, np.full(3, np.inf), np.array([0.5]), np.ones(3), np.random.default_rng(0)
            ),
            "The linear programme of a level was not solved.",
        ),
    ],
)
def test_a_programme_that_must_have_a_solution_and_has_none_is_an_error(fit, message, monkeypatch):
    monkeypatch.setattr(
        "censquant.estimators.linear._programme.Programme.solve", lambda *arguments: None
    )
    with pytest.raises(RuntimeError, match=f"^{message}$"):
        fit(np.ones((3, 1)), np.array([1.0, 2.0, 3.0]))
