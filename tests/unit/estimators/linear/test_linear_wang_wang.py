"""Wang and Wang's locally weighted estimator."""

import re

import numpy as np
import pytest
from scipy.optimize import linprog

from censquant import LinearQuantileRegressor, load_model
from censquant.estimators.linear._methods import choose_bandwidth, local_levels, wang_wang_path
from censquant.survival import kaplan_meier


def sample(seed, n=80, last=12.0):
    """Features, times and events of a linear model under random censoring."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    time, limit = 3 + 5 * x + rng.normal(size=n), rng.uniform(0, last, n)
    return x[:, None], np.minimum(time, limit), time <= limit


def obvious_level(i, x, y, event, bandwidth):
    """Beran's estimate at a row's own time, as a product over events."""
    inside = np.clip(1 - ((x - x[i]) / bandwidth) ** 2, 0, None)
    kernel = (15 / 16 * inside**2).prod(axis=1)
    survival = 1.0
    for t in np.unique(y[event & (y <= y[i])]):
        survival *= 1 - kernel[event & (y == t)].sum() / max(kernel[y >= t].sum(), 1e-300)
    return 1 - survival


@pytest.mark.parametrize("n_features", [1, 2])
def test_local_levels_are_products_over_events_weighted_by_the_biquadratic_kernel(n_features):
    rng = np.random.default_rng(0)
    x, event = rng.uniform(size=(50, n_features)), rng.random(50) < 0.6
    y = rng.integers(1, 12, 50).astype(float)  # with ties
    levels = local_levels(x, y, event, np.ones(50), 0.4)
    assert np.isnan(levels[event]).all()
    for i in np.flatnonzero(~event):
        assert levels[i] == pytest.approx(obvious_level(i, x, y, event, 0.4), abs=1e-12)


def test_levels_of_a_wide_kernel_are_those_of_kaplan_meier():
    x, y, event = sample(1)
    levels = local_levels(x, y, event, np.ones(len(y)), 1e6)
    expected = 1 - kaplan_meier(y, event)(y[~event])
    np.testing.assert_allclose(levels[~event], expected, rtol=0, atol=1e-9)


def test_a_weight_counts_as_that_many_rows_in_the_levels():
    x, y, event = sample(2)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    once = local_levels(x, y, event, weight.astype(float), 0.3)
    times = [np.repeat(array, weight, axis=0) for array in (x, y, event)]
    repeated = local_levels(*times, np.ones(weight.sum()), 0.3)
    np.testing.assert_allclose(np.repeat(once, weight), repeated, rtol=0, atol=1e-12)


def test_the_path_is_the_regression_of_rows_doubled_far_away():
    x, y, event = sample(3)
    X, n, far = np.column_stack((np.ones(len(y)), x)), len(y), 1e4
    path = wang_wang_path(X, x, y, event, np.array([0.3, 0.5]), np.ones(n), 0.2)
    for tau, beta in zip(path.taus, path.coefficients, strict=True):
        kept = np.ones(n)
        for i in np.flatnonzero(~event):
            q = obvious_level(i, x, y, event, 0.2)
            if q < tau:
                kept[i] = (tau - q) / (1 - q)
        weights = np.concatenate((kept, 1 - kept))
        done = linprog(
            np.concatenate((np.zeros(2), tau * weights, (1 - tau) * weights)),
            A_eq=np.hstack((np.vstack((X, X)), np.eye(2 * n), -np.eye(2 * n))),
            b_eq=np.concatenate((y, np.full(n, far))),
            bounds=[(None, None)] * 2 + [(0, None)] * 4 * n,
            method="highs",
        )
        np.testing.assert_allclose(beta, done.x[:2], rtol=0, atol=1e-7)


def test_levels_above_all_events_are_not_identified():
    X, y = np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 4.0])
    event = np.array([True, False, False, False])
    path = wang_wang_path(X, np.zeros((4, 1)), y, event, np.array([0.2, 0.6]), np.ones(4), 1.0)
    assert path.taus.tolist() == [0.2]
    assert path.stopped_at == 0.6


def test_without_censoring_it_is_plain_quantile_regression():
    x, y, _ = sample(4)
    everybody, X = np.ones(len(y), dtype=bool), np.column_stack((np.ones(len(y)), x))
    taus = np.array([0.2, 0.5, 0.8])
    path = wang_wang_path(X, x, y, everybody, taus, np.ones(len(y)), 0.1)
    plain = LinearQuantileRegressor(taus).fit(x, y)
    np.testing.assert_allclose(path.coefficients[:, 0], plain.intercept_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(path.coefficients[:, 1:], plain.coef_, rtol=0, atol=1e-6)
    own = LinearQuantileRegressor(taus, method="wang-wang").fit(x, y)
    np.testing.assert_allclose(own.coef_, plain.coef_, rtol=0, atol=1e-6)
    assert own.bandwidth_ is None


def test_a_median_is_recovered_though_no_level_below_it_is_linear():
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.uniform(size=200)
        time = 3 + 5 * x + (0.2 + 8 * (x - 0.5) ** 2) * rng.normal(size=200)
        limit = rng.uniform(0, 14, 200)
        y = (np.minimum(time, limit), time <= limit)
        model = LinearQuantileRegressor(
            [0.5], method="wang-wang", bandwidth=0.2, random_state=0
        ).fit(x[:, None], y)
        found.append((model.intercept_[0], model.coef_[0, 0]))
    error = np.abs(np.mean(found, axis=0) - (3, 5))
    assert (error < 3 * np.std(found, axis=0) / np.sqrt(20) + 0.05).all()


def test_the_bandwidth_is_chosen_among_multiples_and_kept_in_a_file(tmp_path):
    x, y, event = sample(5)
    model = LinearQuantileRegressor([0.3, 0.5], method="wang-wang", random_state=0).fit(
        x, (y, event)
    )
    base = len(y) ** (-1 / 3.5)
    assert min(abs(model.bandwidth_ / base - factor) for factor in (0.5, 1, 2, 4, 8)) < 1e-9
    given = LinearQuantileRegressor([0.3, 0.5], method="wang-wang", bandwidth=model.bandwidth_).fit(
        x, (y, event)
    )
    np.testing.assert_array_equal(given.coef_, model.coef_)
    model.save(tmp_path / "model.censquant")
    assert load_model(tmp_path / "model.censquant").bandwidth_ == model.bandwidth_


def test_levels_that_a_fold_does_not_identify_do_not_choose_the_bandwidth():
    x, y, event = sample(5)
    X, z = np.column_stack((np.ones(len(y)), x)), x / x.std()
    ones = np.ones(len(y))
    chosen = [
        choose_bandwidth(X, z, y, event, np.array(taus), ones, np.random.default_rng(0))
        for taus in ((0.3, 0.5), (0.3, 0.5, 0.999))
    ]
    assert chosen[0] == chosen[1]


def test_replications_keep_the_bandwidth_of_the_fit():
    x, y, event = sample(6)
    settings = {"method": "wang-wang", "n_bootstrap": 20, "random_state": 0}
    model = LinearQuantileRegressor([0.5], **settings).fit(x, (y, event))
    assert (model.standard_errors_ > 0).all()
    given = LinearQuantileRegressor([0.5], bandwidth=model.bandwidth_, **settings).fit(
        x, (y, event)
    )
    np.testing.assert_array_equal(given.standard_errors_, model.standard_errors_)


def test_many_features_are_refused_where_rows_are_censored():
    rng = np.random.default_rng(0)
    X, event = rng.normal(size=(60, 6)), rng.random(60) < 0.7
    message = (
        "X must have at most 5 columns for method='wang-wang', whose weights come from rows with "
        "similar features, got 6: select some, or use method='portnoy'."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        LinearQuantileRegressor(method="wang-wang").fit(X, (rng.random(60), event))


def test_a_bandwidth_must_be_positive():
    message = "bandwidth must be finite and inside (0, inf), got 0.0."
    x, y, event = sample(0)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        LinearQuantileRegressor(method="wang-wang", bandwidth=0.0).fit(x, (y, event))
