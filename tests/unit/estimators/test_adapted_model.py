"""Other libraries' models with every prediction of this one."""

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.ensemble import RandomSurvivalForest

from censquant import BaseQuantileRegressor, LinearQuantileRegressor, adapt
from censquant.datasets import make_weibull
from censquant.metrics import evaluate, get_scorer

DATA = make_weibull(200, random_state=0)
X, Y = DATA.X, DATA.y
FOREST = RandomSurvivalForest(n_estimators=20, min_samples_leaf=20, random_state=0).fit(X, Y)
TABLE = pd.DataFrame({"x": X[:, 0], "time": Y["time"], "event": Y["event"]})
COX = CoxPHFitter().fit(TABLE, "time", "event")


@pytest.mark.parametrize(
    ("model", "rows"), [(FOREST, X), (COX, TABLE[["x"]])], ids=["forest", "cox"]
)
def test_a_foreign_model_answers_like_ones_own(model, rows):
    adapted = adapt(model)
    assert isinstance(adapted, BaseQuantileRegressor)
    quantiles = adapted.predict_quantiles(rows, [0.1, 0.5], beyond="extrapolate")
    assert (np.diff(quantiles) >= 0).all()
    assert (adapted.predict_remaining(rows, 0.5, [0.5], beyond="extrapolate") >= 0).all()
    assert adapted.predict_restricted_mean(rows, 1.0).max() <= 1.0
    assert adapted.score(rows, Y) > 0.55


def test_its_survival_function_is_the_models_own():
    times = np.quantile(Y["time"], [0.2, 0.5, 0.8])
    ours = adapt(FOREST).predict_survival_function(
        X, times, return_array=True, beyond="extrapolate"
    )
    theirs = np.array([f(times) for f in FOREST.predict_survival_function(X)])
    assert np.abs(ours - theirs).max() < 0.03


def test_it_knows_where_the_model_stops():
    forest = RandomSurvivalForest(n_estimators=5, min_samples_leaf=50, random_state=0).fit(X, Y)
    last = np.array([f.y[-1] for f in forest.predict_survival_function(X)])
    np.testing.assert_allclose(adapt(forest).identified_level(X), 1 - last, atol=1e-12)


def test_a_model_of_scikit_survival_can_be_fitted_again():
    again = adapt(FOREST).fit(X[:100], (Y["time"][:100], Y["event"][:100]))
    assert again.model_ is not FOREST
    expected = RandomSurvivalForest(n_estimators=20, min_samples_leaf=20, random_state=0)
    np.testing.assert_array_equal(
        again.predict_quantiles(X, beyond="extrapolate"),
        adapt(expected.fit(X[:100], Y[:100])).predict_quantiles(X, beyond="extrapolate"),
    )
    assert again.predict_survival_function(X, return_array=True).shape[1] > 1


def test_a_pipeline_of_scikit_learn_around_a_model_is_adapted_whole():
    pipeline = make_pipeline(StandardScaler(), LinearQuantileRegressor([0.25, 0.5])).fit(X, Y)
    np.testing.assert_allclose(
        adapt(pipeline).predict_quantiles(X, [0.25, 0.5], beyond="extrapolate"),
        pipeline[-1].predict_quantiles(pipeline[0].transform(X), [0.25, 0.5], beyond="extrapolate"),
    )


def test_metrics_take_the_model_as_it_is():
    result = evaluate(FOREST, Y, X, Y, n_resamples=5, random_state=0)
    assert result["concordance_index"].value > 0.55
    assert get_scorer("neg_crps")(FOREST, X, Y) < 0


def test_a_quantile_regressor_is_returned_as_it_is():
    model = LinearQuantileRegressor()
    assert adapt(model) is model


def test_a_model_without_survival_curves_is_refused():
    message = (
        "^model must have the method predict_quantiles or be a fitted model of scikit-survival, "
        "lifelines, pycox or hazardous that predicts survival curves, got LinearRegression.$"
    )
    with pytest.raises(TypeError, match=message):
        adapt(LinearRegression())


def test_columns_of_a_foreign_model_are_found_by_name():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[::-1, 0]})
    forest = RandomSurvivalForest(n_estimators=5, min_samples_leaf=50, random_state=0)
    model = adapt(forest.fit(frame, Y))
    other = frame.assign(c="text")[["c", "b", "a"]]
    np.testing.assert_array_equal(model.predict(other), model.predict(frame))
