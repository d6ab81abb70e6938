"""LinearQuantileRegressor where only one of the requested levels is identified."""

import numpy as np
import pytest

from censquant import LinearQuantileRegressor
from censquant.exceptions import ExtrapolationWarning, IdentifiabilityWarning
from censquant.metrics import evaluate

END = 0.1  # of the study, at which about 6 % have had the event
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(200, 1))
EVENT_TIME = RNG.exponential(1 + X[:, 0])
Y = (np.minimum(EVENT_TIME, END), EVENT_TIME <= END)


def fitted(y=Y, **parameters):
    with pytest.warns(IdentifiabilityWarning, match="^18 of 19 quantiles are left out"):
        return LinearQuantileRegressor(**parameters).fit(X, y)


@pytest.fixture(params=["portnoy", "peng-huang"])
def model(request):
    return fitted(method=request.param)


def test_the_curve_passes_through_the_levels_of_the_path(model):
    np.testing.assert_array_equal(model.quantiles_, [0.05])
    levels = model.predict_survival_function(X[:1])[0]._curve.taus
    assert 3 <= len(levels) <= 21
    assert 0.05 in levels
    assert levels[0] == 1 / 200
    assert levels[-1] < model.stopped_at_


def test_the_identified_level_is_predicted_by_its_coefficients(model):
    expected = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.predict_quantiles(X), expected, rtol=1e-12)


def test_the_survival_function_is_that_of_the_events(model):
    times = np.array([0.02, 0.04, 0.06])
    survival = model.predict_survival_function(X, times, return_array=True)
    truth = np.exp(-times / (1 + X))
    assert np.abs(survival - truth).max() < 0.03
    assert (np.diff(survival) < 0).all()


def test_levels_below_the_identified_one_are_predicted(model):
    early, fitted_level = model.predict_quantiles(X, [0.03, 0.05]).T
    assert (early < fitted_level).all()
    assert (early > 0).all()


def test_the_median_is_an_extrapolation_and_says_so(model):
    with pytest.warns(ExtrapolationWarning):
        median = model.predict(X)
    assert np.isfinite(median).all()
    assert np.isnan(model.predict_quantiles(X, [0.5], beyond="nan")).all()
    assert (model.identified_level(X) < model.stopped_at_).all()


def test_the_model_can_be_scored(model):
    assert 0.3 < model.score(X, Y) < 0.9
    report = evaluate(model, Y, X, Y, taus=[0.02, 0.05], n_resamples=2)
    assert np.isfinite([row.value for row in report.rows]).all()


@pytest.mark.parametrize("method", ["portnoy", "peng-huang"])
def test_left_censoring_mirrors_every_answer(method):
    time, event = Y
    # Negative, since a model of times that are not predicts none below 0.
    right = fitted((time - 1, event), method=method)
    left = fitted((1 - time, event), method=method, censoring="left")
    np.testing.assert_allclose(left.quantiles_, [0.95])
    np.testing.assert_allclose(
        left.predict_quantiles(X, [0.95, 0.97]),
        -right.predict_quantiles(X, [0.05, 0.03]),
        rtol=1e-9,
    )
    # Between the rows that were fitted: a curve that passes through one of them at the end of
    # follow-up has two levels there.
    between = X + 1e-3
    np.testing.assert_allclose(left.identified_level(between), 1 - right.identified_level(between))


def test_two_identified_levels_need_no_others():
    model = LinearQuantileRegressor([0.02, 0.04]).fit(X, Y)
    np.testing.assert_array_equal(
        model.predict_survival_function(X[:1])[0]._curve.taus, [0.02, 0.04]
    )
