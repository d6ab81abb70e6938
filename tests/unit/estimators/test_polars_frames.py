"""Frames of polars in, frames of polars out."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from censquant import CQRNN, LinearQuantileRegressor, make_quantile_pipeline
from censquant.datasets import load_gbsg2

X, Y = load_gbsg2()
FRAME = pl.DataFrame({name: X[name].to_numpy() for name in X.columns})
MODELS = {
    "network": CQRNN([0.1, 0.5, 0.9], max_epochs=2, random_state=0),
    "linear": LinearQuantileRegressor([0.1, 0.25]),
    "pipeline": make_quantile_pipeline(CQRNN([0.1, 0.5], max_epochs=2, random_state=0)),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@every_model
def test_a_frame_of_polars_is_fitted_as_one_of_pandas(model):
    predicted = model.fit(FRAME, Y).predict_quantiles(FRAME, beyond="extrapolate")
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    again = model.fit(X, Y).predict_quantiles(X, beyond="extrapolate")
    np.testing.assert_array_equal(again, predicted)


@every_model
def test_quantiles_come_back_as_a_frame_of_polars_with_named_levels(model):
    model.fit(FRAME, Y)
    for call in (
        lambda rows: model.predict_quantiles(rows, [0.1, 0.2], beyond="nan", output="frame"),
        lambda rows: model.predict_interval(rows, 0.8, beyond="nan", output="frame"),
        lambda rows: model.predict_remaining(rows, 100.0, [0.1], beyond="nan", output="frame"),
    ):
        frame, same = call(FRAME), call(X)
        assert isinstance(frame, pl.DataFrame)
        assert isinstance(same, pd.DataFrame)
        assert frame.columns == same.columns.tolist()
        np.testing.assert_array_equal(frame.to_numpy(), same.to_numpy())


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(["a", "b"] * 343),
        pl.Series(["a", "b"] * 343, dtype=pl.Categorical),
        pl.Series(["a", "b"] * 343, dtype=pl.Enum(["a", "b"])),
        pl.Series([None] * 686, dtype=pl.Date),
    ],
    ids=lambda column: str(column.dtype)[:11],
)
def test_a_column_of_text_is_refused_by_name(column):
    message = "X must hold numbers, got other values in the columns 'age': encode them, "
    with pytest.raises(ValueError, match=rf"^{re.escape(message)}"):
        CQRNN(max_epochs=1).fit(FRAME.with_columns(column.alias("age")), Y)


def test_missing_values_are_refused_by_name():
    missing = FRAME.with_columns(pl.Series([None, *FRAME["age"][1:]]).alias("age"))
    with pytest.raises(ValueError, match=r"^Input X contains NaN: .* in the columns 'age'; impute"):
        CQRNN(max_epochs=1).fit(missing, Y)


def test_columns_are_found_by_name_and_missing_ones_refused():
    model = CQRNN(max_epochs=1, random_state=0).fit(FRAME, Y)
    other = FRAME.with_columns(pl.lit("text").alias("more")).select(["more", *FRAME.columns[::-1]])
    np.testing.assert_array_equal(model.predict(other), model.predict(FRAME))
    with pytest.raises(ValueError, match=r"columns of the fit, got no column 'age'\.$"):
        model.predict(FRAME.rename({"age": "years"}))
