"""Predictions after the end of follow-up: limited, marked and never without a word."""

import warnings

import numpy as np
import pytest

from censquant import (
    CQRNN,
    AFTRegressor,
    BoostedQuantileRegressor,
    CensoredQuantileForest,
    CensoredQuantileRegressor,
    CoxQuantileRegressor,
    LogNormalNN,
    ShapeNN,
    WeibullNN,
)
from censquant.exceptions import ExtrapolationWarning

MODELS = [
    CensoredQuantileRegressor(random_state=0, cv=2),
    CoxQuantileRegressor(),
    AFTRegressor(distribution="lognormal"),
    BoostedQuantileRegressor(random_state=0),
    CensoredQuantileForest(random_state=0, n_estimators=10),
    LogNormalNN(random_state=0, max_epochs=3),
    WeibullNN(random_state=0, max_epochs=3),
    ShapeNN(random_state=0, max_steps=50),
    CQRNN(random_state=0, max_epochs=3),
]
LEVELS = [0.1, 0.5, 0.9]
pytestmark = pytest.mark.filterwarnings("ignore:.*(converge|calibration|highest level)")


def rows(n=200, *, censored):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    event = np.exp(3.0 + 2.0 * x[:, 0] + 1.5 * rng.normal(size=n))
    limit = np.full(n, 2.0) * rng.uniform(0.5, 1.0, size=n) if censored else np.full(n, np.inf)
    return x, (np.minimum(event, limit), event <= limit)


@pytest.fixture(params=MODELS, ids=lambda model: type(model).__name__)
def model(request):
    return request.param


def fitted(model, *, censored):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*rows(censored=censored))


def asked(model, x, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        return model.predict_quantiles(x, LEVELS, **options)


@pytest.mark.parametrize("censored", [True, False])
def test_extrapolated_quantiles_have_the_stated_limits(model, censored):
    fitted(model, censored=censored)
    last = model.follow_up_[1]
    quantiles = asked(model, rows(censored=True)[0], beyond="extrapolate")
    assert (quantiles[:, 1] <= 1.7 * last).all()
    assert (quantiles[:, 2] <= 5.7 * last).all()
    if censored and not isinstance(model, CQRNN):
        assert (quantiles[:, 1] > last).mean() > 0.1  # otherwise nothing was limited


@pytest.mark.parametrize("censored", [True, False])
def test_nothing_finite_lies_past_the_last_observed_time(model, censored):
    fitted(model, censored=censored)
    x = 3.0 * rows(censored=True)[0]
    last = model.follow_up_[1] * (1 + 1e-9)
    marked = asked(model, x, beyond="inf")
    assert (marked[np.isfinite(marked)] <= last).all()
    assert (asked(model, x, beyond="limit") <= last).all()
    known = np.isfinite(marked)
    np.testing.assert_array_equal(asked(model, x, beyond="limit")[known], marked[known])


def test_limits_of_support_keep_the_order_of_levels(model):
    fitted(model, censored=True)
    limited = asked(model, rows(censored=True)[0], beyond="limit")
    assert (np.diff(limited, axis=1) >= 0).all()


@pytest.mark.parametrize("beyond", ["warn", "limit", "inf", "nan"])
def test_rows_far_outside_of_the_features_warn_whatever_is_returned(beyond):
    model = fitted(CoxQuantileRegressor(), censored=False)
    with pytest.warns(ExtrapolationWarning, match="far outside the range of the fit"):
        model.predict_quantiles([[1000.0, 0.0]], LEVELS, beyond=beyond)
