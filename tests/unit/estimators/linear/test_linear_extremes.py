"""Linear quantiles at the ends of float64: refused or left out, never silently non-finite."""

import re

import numpy as np
import pytest

from censquant import LinearQuantileRegressor
from censquant.exceptions import IdentifiabilityWarning

RNG = np.random.default_rng(0)
X = RNG.uniform(1, 2, (60, 2))
TIME = 1 + X[:, 0] + RNG.exponential(size=60)
EVENT = RNG.random(60) < 0.7
LEVELS = (0.1, 0.3)


def scaled(factor, column=1):
    rows = X.copy()
    rows[:, column] *= factor
    return rows


@pytest.mark.parametrize("method", ["portnoy", "peng-huang"])
@pytest.mark.parametrize("factor", [5e-320, 5e-324])
def test_features_below_the_smallest_normal_number_are_left_out(method, factor):
    rows = scaled(factor)
    with pytest.warns(
        IdentifiabilityWarning,
        match=r"^X has 1 of 2 columns that are constant or linear combinations of others \('x1'\): "
        r"their coefficients are set to 0\.$",
    ):
        model = LinearQuantileRegressor(LEVELS, method=method).fit(rows, (TIME, EVENT))
    without = LinearQuantileRegressor(LEVELS, method=method).fit(X[:, :1], (TIME, EVENT))
    np.testing.assert_array_equal(model.coef_[:, 1], 0)
    np.testing.assert_allclose(
        model.predict_quantiles(rows), without.predict_quantiles(X[:, :1]), rtol=1e-12
    )


@pytest.mark.parametrize("factor", [1e-300, 1e-200, 1e200, 1e300])
def test_predictions_do_not_depend_on_the_unit_of_a_feature_however_small_or_large(factor):
    plain = LinearQuantileRegressor(LEVELS).fit(X, (TIME, EVENT)).predict_quantiles(X)
    rows = scaled(factor)
    model = LinearQuantileRegressor(LEVELS).fit(rows, (TIME, EVENT))
    np.testing.assert_allclose(model.predict_quantiles(rows), plain, rtol=1e-8)


def test_coefficients_that_overflow_are_refused():
    message = (
        "X must have columns whose spread is not negligible beside that of the times, got "
        "coefficients that overflow: rescale the columns or the times."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        LinearQuantileRegressor(LEVELS).fit(scaled(1e-290), (1e30 * TIME, EVENT))


def test_features_whose_sums_overflow_are_refused_by_name():
    message = (
        "X and y must hold values below 7e+305 in size for 60 rows, got 1.7e+308 in column 'x1' of "
        "X: rescale it."
    )
    rows = X.copy()
    rows[3, 1] = 1.7e308
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        LinearQuantileRegressor(LEVELS).fit(rows, (TIME, EVENT))


def test_times_whose_sums_overflow_are_refused():
    message = (
        "X and y must hold values below 7e+305 in size for 60 rows, got 1.7e+308 in y: rescale it."
    )
    time = TIME.copy()
    time[3] = 1.7e308
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        LinearQuantileRegressor(LEVELS).fit(X, (time, EVENT))


@pytest.mark.parametrize("transform", [None, "log"])
@pytest.mark.parametrize(
    "ask", ["predict", "predict_quantiles", "predict_survival_function", "identified_level"]
)
def test_features_whose_prediction_overflows_are_refused_by_name(transform, ask):
    model = LinearQuantileRegressor(LEVELS, time_transform=transform).fit(X / 1000, (TIME, EVENT))
    message = (
        "X must not hold values so large that predictions overflow, got a value of size 1.7e+308 "
        "in column 'x0': check its unit."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        getattr(model, ask)(np.vstack([X, [[1.7e308, -1.0]]]))
