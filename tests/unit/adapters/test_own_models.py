"""Estimators of this library and objects with quantiles, through the same functions."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import censquant.adapters
from censquant import LinearQuantileRegressor
from censquant.adapters import predict_quantiles_of, survival_of
from censquant.adapters._libraries import accepts
from censquant.adapters._predictions import (
    adapted_curve,
    final_model,
    follow_up_end,
    is_supported,
    predicted_curve,
    restricted_mean_of,
    survival_curves_of,
)
from censquant.quantiles import QuantileCurve
from censquant.survival import Surv

LEVELS = [0.25, 0.5, 0.75]


def sample(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    time, end = X[:, 0] + rng.uniform(size=n), rng.uniform(0, 2, size=n)
    return X, Surv.from_arrays(time <= end, np.minimum(time, end))


X, Y = sample(200, 0)
LINEAR = LinearQuantileRegressor(LEVELS).fit(X, Y)


class Plain:
    """Uniform times on [x, x + 1], by the one method that is asked for."""

    def predict_quantiles(self, X, quantiles):
        assert (np.diff(quantiles) > 0).all()
        return np.asarray(X) + np.asarray(quantiles)


class Constant:
    """Returns what it was made with."""

    def __init__(self, values):
        self.values = np.array(values)

    def predict_quantiles(self, X, quantiles):
        return self.values


def test_estimators_are_asked_for_their_extrapolation():
    values = predict_quantiles_of(LINEAR, X, [0.5, 0.9])
    expected = LINEAR.predict_quantiles(X, [0.5, 0.9], beyond="extrapolate")
    np.testing.assert_array_equal(values, expected)


def test_no_option_is_demanded_of_an_object_with_quantiles():
    assert is_supported(Plain())
    levels = np.array([0.9, 0.1, 0.9])
    np.testing.assert_array_equal(predict_quantiles_of(Plain(), X, levels), X + levels)


def test_a_function_that_does_not_show_its_signature_is_called_plainly():
    assert not accepts(max, "beyond")
    assert accepts(LINEAR.predict_quantiles, "beyond")


def test_crossed_quantiles_are_sorted():
    found = predict_quantiles_of(Constant([[2.0, 1.0]]), X[:1], [0.2, 0.8])
    np.testing.assert_array_equal(found, [[1.0, 2.0]])


@pytest.mark.parametrize(
    ("values", "given"),
    [
        ([[1.0, np.inf], [1.0, 2.0]], "NaN or infinity in 1 of 2 rows"),
        ([[1.0, 2.0, 3.0]], "shape (1, 3)"),
        ([1.0, 2.0], "shape (2,)"),
    ],
)
def test_predictions_that_are_no_quantiles_are_refused(values, given):
    message = (
        "predict_quantiles of Constant must return finite times, one column for each of 2 levels, "
        f"got {given}."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        predict_quantiles_of(Constant(values), X, [0.2, 0.8])


def test_the_reach_of_an_estimator_is_its_identified_level():
    curve, reach = adapted_curve(LINEAR, X, LEVELS)
    np.testing.assert_array_equal(reach, LINEAR.identified_level(X))
    np.testing.assert_array_equal(predicted_curve(LINEAR, X, LEVELS).values, curve.values)


def test_a_curve_starts_at_zero_unless_a_quantile_is_negative_or_the_start_is_given():
    assert predicted_curve(Constant([[0.0, 2.0]]), X, [0.2, 0.8]).lower == 0.0
    assert predicted_curve(Constant([[-1.0, 2.0]]), X, [0.2, 0.8]).lower == -np.inf
    curve = predicted_curve(Constant([[-1.0, 2.0]]), X, [0.2, 0.8], lower=1.0)
    np.testing.assert_array_equal(curve.values, [[1.0, 2.0]])


def test_an_object_with_quantiles_cannot_say_its_reach():
    assert adapted_curve(Plain(), X, LEVELS)[1] is None
    assert follow_up_end(Plain()) is None


def test_survival_of_an_estimator_is_its_own():
    times = np.array([0.3, 1.1])
    expected = LINEAR.predict_survival_function(X, times, return_array=True)
    np.testing.assert_array_equal(survival_of(LINEAR, X, times), expected)


def test_survival_of_an_object_is_read_from_its_quantiles():
    found = survival_of(Plain(), np.array([[0.0], [0.5]]), [0.25, 0.6])
    np.testing.assert_allclose(found, [[0.75, 0.4], [1.0, 0.9]], atol=1e-12)


def test_restricted_means_are_those_of_the_curve():
    values = LINEAR.predict_quantiles(X, LEVELS, beyond="extrapolate")
    expected = QuantileCurve(values, LEVELS, 0.0).restricted_mean(1.2)
    np.testing.assert_allclose(restricted_mean_of(LINEAR, X, 1.2), expected)
    # Of a uniform distribution on [0, 1], cut at 1/2.
    assert restricted_mean_of(Plain(), np.zeros((1, 1)), 0.5)[0] == pytest.approx(0.375)


def test_a_curve_of_the_model_itself_is_preferred():
    class Curved(Constant):
        def predict_curve(self, X):
            return QuantileCurve([[1.0, 2.0]], [0.25, 0.75])

    model = Curved([[7.0, 8.0]])
    assert survival_of(model, X[:1], [1.5])[0, 0] == 0.5
    assert restricted_mean_of(model, X[:1], 1.0) == model.predict_curve(X).restricted_mean(1.0)


def test_searches_and_pipelines_are_opened():
    pipeline = make_pipeline(StandardScaler(), LinearQuantileRegressor(LEVELS)).fit(X, Y)
    scaled = pipeline[0].transform(X)
    expected = pipeline[1].predict_quantiles(scaled, LEVELS, beyond="extrapolate")
    np.testing.assert_array_equal(predict_quantiles_of(pipeline, X, LEVELS), expected)
    grid = GridSearchCV(pipeline, {"linearquantileregressor__method": ["portnoy"]}, cv=2).fit(X, Y)
    model, features = final_model(grid, X)
    assert model is grid.best_estimator_[-1]
    np.testing.assert_array_equal(features, scaled)
    assert follow_up_end(grid) == follow_up_end(LINEAR)


def test_a_pipeline_of_one_step_takes_the_features_as_they_are():
    assert final_model(make_pipeline(LINEAR), X) == (LINEAR, X)


UNSUPPORTED = (
    "model must have the method predict_quantiles or be a fitted model of scikit-survival, "
    "lifelines, pycox or hazardous that predicts survival curves, got LinearRegression."
)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: predict_quantiles_of(model, X, LEVELS),
        lambda model: adapted_curve(model, X, LEVELS),
        lambda model: survival_of(model, X, [1.0]),
        lambda model: survival_curves_of(model, X),
        lambda model: restricted_mean_of(model, X, 1.0),
    ],
)
def test_a_model_without_a_distribution_is_refused(ask):
    assert not is_supported(LinearRegression())
    assert follow_up_end(LinearRegression()) is None
    with pytest.raises(TypeError, match="^" + re.escape(UNSUPPORTED) + "$"):
        ask(LinearRegression())


def test_a_horizon_must_be_finite():
    with pytest.raises(ValueError, match=r"^horizon must be finite"):
        restricted_mean_of(LINEAR, X, np.inf)


LIBRARIES = ("sksurv", "lifelines", "pycox", "hazardous", "torch", "sklearn", "pandas")


def test_no_other_library_is_loaded_to_recognise_its_models():
    source = str(Path(censquant.adapters.__file__).parents[2])
    code = (
        "import sys\n"
        "from censquant.adapters._predictions import is_supported, predict_quantiles_of\n"
        "class Plain:\n"
        "    def predict_quantiles(self, X, quantiles): return [[1.0]]\n"
        "assert is_supported(Plain()) and not is_supported(object())\n"
        "predict_quantiles_of(Plain(), [[0.0]], 0.5)\n"
        f"print(*sorted(set({LIBRARIES}) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": source},
    )
    assert done.stdout.strip() == ""
