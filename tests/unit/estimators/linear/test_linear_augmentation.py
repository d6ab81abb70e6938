"""Linear quantiles by data augmentation."""

import numpy as np
import pytest

from censquant import LinearQuantileRegressor
from censquant.estimators.linear._methods import _completed, data_augmentation_path


def sample(seed, n=150):
    """Features, times and events of a linear model with effects that grow with the level."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    time, limit = 1 + x + (0.5 + 0.5 * x) * rng.normal(size=n), rng.uniform(0, 4, n)
    return x[:, None], np.minimum(time, limit), time <= limit


def test_without_censoring_every_round_is_plain_quantile_regression():
    x, y, _ = sample(0)
    X, taus = np.column_stack((np.ones(len(y)), x)), np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    everybody = np.ones(len(y), dtype=bool)
    path = data_augmentation_path(
        X, y, everybody, taus, np.ones(len(y)), np.random.default_rng(0), 5
    )
    plain = LinearQuantileRegressor(taus).fit(x, y)
    np.testing.assert_allclose(path.coefficients[:, 0], plain.intercept_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(path.coefficients[:, 1:], plain.coef_, rtol=0, atol=1e-6)
    own = LinearQuantileRegressor(taus, method="data-augmentation", random_state=0).fit(x, y)
    np.testing.assert_allclose(own.coef_, plain.coef_, rtol=0, atol=1e-6)


def test_completed_times_follow_the_fit_beyond_each_censoring_time():
    levels = np.arange(1, 100) / 100
    uniform = np.array([levels]).T  # an intercept whose quantiles are those of U(0, 1)
    y, event = np.full(20_000, 0.4), np.zeros(20_000, dtype=bool)
    times = _completed(np.ones((20_000, 1)), y, event, levels, uniform, np.random.default_rng(0))
    assert (times >= 0.4).all()
    assert np.isinf(times).mean() == pytest.approx(0.01 / 0.6, abs=0.003)
    inside = times[np.isfinite(times)]
    for q in (0.25, 0.5, 0.75):
        assert np.quantile(inside, q) == pytest.approx(0.4 + q * 0.59, abs=0.01)


def test_events_keep_their_times():
    x, y, event = sample(1)
    X = np.column_stack((np.ones(len(y)), x))
    levels = np.array([0.2, 0.5, 0.8])
    fit = np.array([[0.5, 0.5], [1.0, 1.0], [1.5, 1.5]])
    times = _completed(X, y, event, levels, fit, np.random.default_rng(0))
    np.testing.assert_array_equal(times[event], y[event])
    assert (times[~event] >= y[~event]).all()


def test_the_estimate_is_near_portnoys_whose_weights_are_its_expectation():
    x, y, event = sample(2, n=300)
    taus = np.array([0.25, 0.5, 0.7])
    drawn = LinearQuantileRegressor(taus, method="data-augmentation", random_state=0).fit(
        x, (y, event)
    )
    portnoy = LinearQuantileRegressor(taus, n_bootstrap=100, random_state=0).fit(x, (y, event))
    gap = np.abs(drawn.coef_ - portnoy.coef_)
    assert (gap < portnoy.standard_errors_[:, 1:]).all()


@pytest.mark.slow
def test_the_spread_of_rounds_is_that_of_estimates():
    found, errors = [], []
    for seed in range(25):
        x, y, event = sample(100 + seed)
        model = LinearQuantileRegressor(
            [0.5], method="data-augmentation", n_bootstrap=60, random_state=seed
        )
        model.fit(x, (y, event))
        found.append((model.intercept_[0], model.coef_[0, 0]))
        errors.append(model.standard_errors_[0])
    # 25 estimates tell their own spread to within 30 % at two standard errors.
    ratio = np.mean(errors, axis=0) / np.std(found, axis=0, ddof=1)
    assert (ratio > 0.65).all()
    assert (ratio < 1.5).all()
    assert (np.abs(np.mean(found, axis=0) - 1.0) < 0.1).all()


def test_rounds_are_reported_as_replications_only_if_they_are_asked_for():
    x, y, event = sample(3)
    quiet = LinearQuantileRegressor([0.5], method="data-augmentation", random_state=0).fit(
        x, (y, event)
    )
    assert quiet.standard_errors_ is None
    told = LinearQuantileRegressor(
        [0.5], method="data-augmentation", n_bootstrap=20, random_state=0
    )
    assert told.fit(x, (y, event)).standard_errors_.shape == (1, 2)
    assert str(told.summary()).startswith(
        "LinearQuantileRegressor, method data-augmentation; limits from 20 imputation replications"
    )


@pytest.mark.filterwarnings("ignore::censquant.exceptions.IdentifiabilityWarning")
def test_levels_that_censoring_hides_are_left_out():
    rng = np.random.default_rng(0)
    x, time = rng.uniform(size=(200, 1)), rng.exponential(size=200)
    model = LinearQuantileRegressor(method="data-augmentation", random_state=0)
    model.fit(x, (np.minimum(time, 0.8), time <= 0.8))  # F(0.8) is 0.55
    assert 0.4 <= model.quantiles_[-1] <= 0.6
    assert model.stopped_at_ <= 0.65


def test_left_censoring_is_the_mirror_image():
    x, y, event = sample(4)
    settings = {"method": "data-augmentation", "random_state": 0}
    right = LinearQuantileRegressor([0.3, 0.5], **settings).fit(x, (y, event))
    left = LinearQuantileRegressor([0.5, 0.7], censoring="left", **settings).fit(x, (-y, event))
    np.testing.assert_allclose(left.coef_, -right.coef_[::-1], rtol=0, atol=1e-8)
