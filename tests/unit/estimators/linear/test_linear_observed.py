"""The model of how long rows were followed."""

import numpy as np
import pytest
from sklearn.linear_model import QuantileRegressor

from censquant.estimators._follow_up import LEVELS
from censquant.estimators.linear._design import DistinctRows
from censquant.estimators.linear._observed import ObservedTime
from censquant.survival import Target

RNG = np.random.default_rng(0)
X = np.column_stack((RNG.uniform(1900, 2000, 90), RNG.integers(0, 2, 90), np.full(90, 3.0)))
TIME = np.minimum((X[:, 0] - 1900) / 10, 5.0) + RNG.exponential(size=90)


@pytest.fixture(scope="module")
def observed():
    # Whether an event was seen is of no concern here.
    target = Target(TIME, RNG.random(90) < 0.5)
    return ObservedTime.fit(DistinctRows.among(X, target, np.full(90, np.inf), np.ones(90)))


def test_the_curve_is_quantile_regression_on_features_and_their_squares(observed):
    curve = observed.curve(X)
    year = (X[:, 0] - X[:, 0].min()) / np.ptp(X[:, 0])
    terms = np.column_stack((year, year**2, X[:, 1]))
    plain = [QuantileRegressor(quantile=tau, alpha=0, solver="highs") for tau in LEVELS]
    values = np.column_stack([model.fit(terms, TIME).predict(terms) for model in plain])
    # Where quantiles cross, the curve is sorted.
    np.testing.assert_allclose(curve.values, np.sort(values, axis=1), rtol=0, atol=1e-7)


def test_beyond_the_range_of_the_features_the_curve_is_that_of_its_edge(observed):
    low, high = X.min(axis=0), X.max(axis=0)
    outside, edge = (
        observed.curve(np.vstack((low - 50, high + 50))),
        observed.curve(np.vstack((low, high))),
    )
    np.testing.assert_array_equal(outside.values, edge.values)


def test_the_constant_feature_takes_no_part(observed):
    assert not observed.coefficients[:, [3, 6]].any()
