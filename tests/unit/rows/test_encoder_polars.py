"""Frames of polars are encoded as those of pandas."""

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant import CensoredQuantileRegressor, CoxQuantileRegressor
from censquant._rows._encoder import FrameEncoder
from censquant.exceptions import ExtrapolationWarning, FeatureWarning

DAY = dt.date(2024, 1, 1)


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt64, pl.Float32, pl.Float64, pl.Decimal(10, 2)])
def test_numbers_and_their_missing_values_are_read(dtype):
    frame = pl.DataFrame({"a": pl.Series([4, None, 7], dtype=dtype)})
    encoder = FrameEncoder.fit(frame)
    assert encoder.feature_names_out == ["a", "a (missing)"]
    np.testing.assert_array_equal(encoder.transform(frame), [[4, 0], [5.5, 1], [7, 0]])


def test_numbers_that_are_nan_and_null_are_both_missing():
    frame = pl.DataFrame({"a": [4.0, None, float("nan"), 7.0]})
    Z = FrameEncoder.fit(frame).transform(frame)
    np.testing.assert_array_equal(Z, [[4, 0], [5.5, 1], [5.5, 1], [7, 0]])


def test_booleans_are_zero_and_one():
    frame = pl.DataFrame({"a": [True, False, False], "b": [True, None, False]})
    encoder = FrameEncoder.fit(frame)
    assert encoder.feature_names_out == ["a", "b", "b (missing)"]
    np.testing.assert_array_equal(encoder.transform(frame)[:, :1], [[1], [0], [0]])


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["w", "z", "u", "v"])])
def test_text_and_categories_are_read(dtype):
    frame = pl.DataFrame({"a": pl.Series(["u", "v", None, "w"], dtype=dtype)})
    encoder = FrameEncoder.fit(frame)
    assert encoder.feature_names_out == ["a=u", "a=v", "a=w", "a (missing)"]
    np.testing.assert_array_equal(encoder.transform(frame), np.eye(4)[[0, 1, 3, 2]])
    with pytest.warns(ExtrapolationWarning, match="levels in the columns 'a'"):
        assert not encoder.transform(pl.DataFrame({"a": ["never seen"]})).any()


def test_a_column_without_a_value_is_left_out():
    frame = pl.DataFrame({"a": [1.0, 2.0], "b": [None, None]})
    with pytest.warns(FeatureWarning, match=r"'b' \(no value in any row\)"):
        assert FrameEncoder.fit(frame).feature_names_out == ["a"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([DAY, DAY], r"got dates or times in the columns 'a'"),
        ([dt.datetime(2024, 1, 1)] * 2, r"got dates or times in the columns 'a'"),
        ([dt.timedelta(1)] * 2, r"got dates or times in the columns 'a'"),
        ([[1], [2]], r"got list in the columns 'a'"),
        ([{"u": 1}, {"u": 2}], r"got dict in the columns 'a'"),
        ([b"u", b"v"], r"got bytes in the columns 'a'"),
    ],
)
def test_dates_and_nested_values_are_refused(values, message):
    with pytest.raises(TypeError, match=message):
        FrameEncoder.fit(pl.DataFrame({"a": values}))


def test_infinity_is_refused():
    with pytest.raises(ValueError, match=r"^Input X contains infinity: .* in the columns 'a'"):
        FrameEncoder.fit(pl.DataFrame({"a": [1.0, float("inf")]}))


def test_text_is_refused_where_it_is_no_category():
    frame = pl.DataFrame({"a": pl.Series(["u", "v"], dtype=pl.Categorical)})
    with pytest.raises(ValueError, match=r"^X must hold numbers in the columns 'a', got text"):
        FrameEncoder.fit(frame, categorical_features=None)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(allow_infinity=False),
            st.none() | st.integers(-9, 9),
            st.none() | st.booleans(),
            st.none() | st.sampled_from(["u", "v", "w"]),
        ),
        min_size=2,
        max_size=40,
    )
)
@pytest.mark.filterwarnings("ignore::censquant.exceptions.FeatureWarning")
def test_frames_of_both_libraries_are_encoded_the_same(rows):
    schema = {"f": pl.Float64, "i": pl.Int64, "b": pl.Boolean, "t": pl.String}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    twin = frame.to_pandas()
    encoder = FrameEncoder.fit(frame)
    assert FrameEncoder.fit(twin).rules == encoder.rules
    np.testing.assert_array_equal(encoder.transform(twin), encoder.transform(frame))


def test_decimals_are_read_as_objects_too():
    frame = pl.DataFrame({"a": pl.Series([Decimal(1), None, Decimal(4)], dtype=pl.Object)})
    encoder = FrameEncoder.fit(frame)
    assert encoder.transform(frame)[:, 0].tolist() == [1, 2.5, 4]


def one_candidate():
    return CensoredQuantileRegressor(candidates=[("cox", CoxQuantileRegressor())])


def test_an_estimator_knows_the_names_of_the_columns():
    frame = pl.DataFrame({"a": [1.0, 2.0, 4.0] * 4, "t": ["u", "v", "w", "u"] * 3})
    model = one_candidate().fit(frame, np.arange(1.0, 13.0))
    assert model.feature_names_in_.tolist() == ["a", "t"]
    encoded = model._encode_features(frame)
    np.testing.assert_array_equal(model._encode_features(frame.to_pandas()), encoded)
    message = r"^X must have the columns of the fit, got no column 'a' \(is it 'A'\?\)\.$"
    with pytest.raises(ValueError, match=message):
        model.predict_curve(frame.rename({"a": "A"}))


def test_a_lazy_frame_is_refused_with_a_remedy():
    message = r"^X must be a table in memory, got a LazyFrame: call its collect\(\) first\.$"
    with pytest.raises(TypeError, match=message):
        one_candidate().fit(pl.LazyFrame({"a": [1.0, 2.0]}), [1.0, 2.0])
