"""Pipelines whose predictions are those of their last step."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from censquant import (
    CQRNN,
    LinearQuantileRegressor,
    QuantilePipeline,
    load_model,
    make_quantile_pipeline,
)
from censquant.datasets import make_norm_linear
from censquant.metrics import evaluate

DATA = make_norm_linear(150, random_state=0)
TABLE = pd.DataFrame({"age": DATA.X[:, 0], "site": np.tile(["north", "south", "west"], 50)})
Y = DATA.y
LEVELS = [0.1, 0.3, 0.5]


def encoded(**options):
    return make_column_transformer(
        (StandardScaler(), ["age"]), (OneHotEncoder(**options), ["site"])
    )


def pipeline(model=None, **options):
    model = model or CQRNN(LEVELS, max_epochs=5, hidden_layer_sizes=(8,), random_state=0)
    return make_quantile_pipeline(encoded(**options), model)


FITTED = pipeline().fit(TABLE, Y)


def test_every_prediction_is_that_of_the_last_step():
    transform, model = FITTED[0], FITTED[-1]
    rows = transform.transform(TABLE)
    options = {"beyond": "extrapolate"}
    for name, arguments in {
        "predict_quantiles": ([0.2, 0.4],),
        "predict_interval": (0.5,),
        "predict_remaining": (9.0, [0.5]),
    }.items():
        np.testing.assert_array_equal(
            getattr(FITTED, name)(TABLE, *arguments, **options),
            getattr(model, name)(rows, *arguments, **options),
        )
    for name in ("predict", "predict_restricted_mean", "identified_level"):
        np.testing.assert_array_equal(getattr(FITTED, name)(TABLE), getattr(model, name)(rows))
    for name in ("predict_survival_function", "predict_cumulative_hazard_function"):
        np.testing.assert_array_equal(
            getattr(FITTED, name)(TABLE, return_array=True, **options),
            getattr(model, name)(rows, return_array=True, **options),
        )
    assert FITTED.score(TABLE, Y) == model.score(rows, Y)
    np.testing.assert_array_equal(
        FITTED.predict_curve(TABLE).values, model.predict_curve(rows).values
    )
    assert FITTED.quantiles_.tolist() == LEVELS
    assert FITTED.follow_up_ == model.follow_up_


def test_an_encoder_may_give_sparse_rows():
    dense = pipeline(sparse_output=False).fit(TABLE, Y)
    np.testing.assert_array_equal(
        FITTED.predict_quantiles(TABLE, beyond="nan"), dense.predict_quantiles(TABLE, beyond="nan")
    )


def test_a_frame_comes_back_with_the_index_of_the_frame_that_was_passed():
    table = TABLE.set_axis([f"p{row}" for row in range(150)])
    frame = FITTED.predict_quantiles(table, beyond="nan", output="frame")
    assert frame.index.tolist() == table.index.tolist()


def test_the_best_of_a_search_predicts_quantiles():
    search = GridSearchCV(
        pipeline(LinearQuantileRegressor(LEVELS), drop="first"),
        {"linearquantileregressor__time_transform": [None, "log"]},
        cv=3,
    ).fit(TABLE, Y)
    assert isinstance(search.best_estimator_, QuantilePipeline)
    assert search.best_estimator_.predict_quantiles(TABLE, beyond="nan").shape == (150, 3)
    assert search.best_estimator_.score(TABLE, Y) > 0.5


def test_it_is_cloned_and_set_like_any_pipeline():
    twin = clone(FITTED).set_params(cqrnn__max_epochs=1)
    assert type(twin) is QuantilePipeline
    with pytest.raises(NotFittedError):
        twin.predict_quantiles(TABLE)
    assert twin.fit(TABLE, Y)[-1].max_epochs == 1


def test_weights_reach_the_last_step():
    weight = np.r_[np.ones(75), np.zeros(75)]
    model = pipeline(LinearQuantileRegressor(LEVELS), drop="first")
    weighted = clone(model).fit(TABLE, Y, linearquantileregressor__sample_weight=weight)[-1].coef_
    assert not np.allclose(weighted, model.fit(TABLE, Y)[-1].coef_)


def test_a_regressor_alone_is_a_pipeline_too():
    model = make_quantile_pipeline(LinearQuantileRegressor(LEVELS)).fit(DATA.X, Y)
    np.testing.assert_array_equal(
        model.predict_quantiles(DATA.X, beyond="nan"),
        LinearQuantileRegressor(LEVELS).fit(DATA.X, Y).predict_quantiles(DATA.X, beyond="nan"),
    )


def test_it_is_evaluated_like_an_estimator():
    result = evaluate(FITTED, Y, TABLE, Y, n_resamples=5, random_state=0)
    assert result["concordance_index"].value > 0.5


def test_a_last_step_without_quantiles_is_refused():
    message = (
        "^The last step must be a BaseQuantileRegressor, got LinearRegression: wrap another "
        "library's "
        "model by censquant.adapt, or use scikit-learn's Pipeline.$"
    )
    with pytest.raises(TypeError, match=message):
        QuantilePipeline([("model", LinearRegression())]).fit(DATA.X, [1.0] * 150)


def test_scikit_learns_own_pipeline_is_left_alone():
    assert not hasattr(Pipeline, "predict_quantiles")


MODELS = {
    "network": CQRNN(LEVELS, max_epochs=2, hidden_layer_sizes=(4,), random_state=0),
    "linear": LinearQuantileRegressor(LEVELS),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_saved_pipeline_predicts_the_same_bits(model, tmp_path):
    fitted = pipeline(clone(model), drop="first").fit(TABLE, Y)
    fitted.save(tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    assert type(loaded) is QuantilePipeline
    assert [name for name, _ in loaded.steps] == [name for name, _ in fitted.steps]
    np.testing.assert_array_equal(
        loaded.predict_quantiles(TABLE, beyond="inf"), fitted.predict_quantiles(TABLE, beyond="inf")
    )
    assert loaded.score(TABLE, Y) == fitted.score(TABLE, Y)


def test_a_pipeline_that_was_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        pipeline().save(tmp_path / "model.safetensors")


def test_columns_are_found_by_name_where_the_first_step_would_refuse_them():
    frame = pd.DataFrame(np.column_stack([DATA.X, DATA.X[::-1]]), columns=["age", "dose"])
    model = make_quantile_pipeline(StandardScaler(), LinearQuantileRegressor(LEVELS)).fit(frame, Y)
    expected = model.predict_quantiles(frame, LEVELS, beyond="extrapolate")
    other = frame.assign(more="text")[["more", "dose", "age"]]
    np.testing.assert_array_equal(
        model.predict_quantiles(other, LEVELS, beyond="extrapolate"), expected
    )


def test_what_a_mask_hides_is_missing_to_the_first_step():
    X = np.column_stack([DATA.X, DATA.X[::-1]])
    hidden = np.zeros(X.shape, dtype=bool)
    hidden[::7, 0] = True
    masked = np.ma.array(np.where(hidden, 1e9, X), mask=hidden)
    model = make_quantile_pipeline(SimpleImputer(), LinearQuantileRegressor(LEVELS)).fit(masked, Y)
    plain = np.where(hidden, np.nan, X)
    expected = make_quantile_pipeline(SimpleImputer(), LinearQuantileRegressor(LEVELS)).fit(
        plain, Y
    )
    np.testing.assert_array_equal(model.predict(masked), expected.predict(plain))
