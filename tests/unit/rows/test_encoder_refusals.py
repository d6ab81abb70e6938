"""What cannot be encoded is refused by the name of its column, in the fit and later."""

import datetime as dt
import re

import numpy as np
import pandas as pd
import pytest

from censquant._rows._encoder import FrameEncoder

OTHER = [1.0, 2.0, 4.0]
FINE = pd.DataFrame({"fine": OTHER, "odd": [3.0, 1.0, 2.0]})
DAY = dt.date(2024, 1, 1)


def refused(column, error, message, **options):
    frame = pd.DataFrame({"fine": OTHER, "odd": column})
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        FrameEncoder.fit(frame, **options)
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        FrameEncoder.fit(FINE).transform(frame)


@pytest.mark.parametrize(
    "column",
    [
        [1.0, np.inf, 3.0],
        [1.0, -np.inf, np.nan],
        [np.inf, -np.inf, 3.0],
        pd.Series([1, float("inf"), None], dtype=object),
        pd.Series([1, 10**400, 2], dtype=object),
        pd.array([1.0, np.inf, None], dtype="Float64"),
    ],
)
def test_infinity_is_refused(column):
    message = (
        "Input X contains infinity: X must be finite, got infinity in the columns 'odd'; replace "
        "them."
    )
    refused(column, ValueError, message)


@pytest.mark.parametrize("value", [np.inf, 10**400])
def test_infinity_is_no_level(value):
    column = pd.Series(["u", value, "v"], dtype=object)
    with pytest.raises(ValueError, match=r"^Input X contains infinity: .* in the columns 'a'"):
        FrameEncoder.fit(pd.DataFrame({"a": column}))


@pytest.mark.parametrize(
    "column",
    [
        pd.date_range("2024", periods=3),
        pd.date_range("2024", periods=3, tz="UTC"),
        pd.to_timedelta([1, 2, 3], unit="D"),
        pd.period_range("2024", periods=3, freq="M"),
        pd.array([DAY] * 3, dtype="date32[pyarrow]"),
        pd.array([pd.Timestamp("2024")] * 3, dtype="timestamp[ns][pyarrow]"),
        [DAY, None, DAY],
        [dt.time(3), "text", 1],
        pd.Series([np.timedelta64(1, "D")] * 3, dtype=object),
    ],
)
def test_dates_and_times_are_refused_with_a_remedy(column):
    message = (
        "X must hold numbers or categories, got dates or times in the columns 'odd': convert them "
        "to a number such as days since a reference date."
    )
    refused(column, TypeError, message)


def test_arrays_of_dates_are_refused():
    X = np.array([["2024-01-01"], ["2024-01-02"]], dtype="M8[D]")
    with pytest.raises(TypeError, match=r"^X must hold numbers or categories, .* columns 'x0'"):
        FrameEncoder.fit(X)


@pytest.mark.parametrize(
    ("value", "kind"),
    [([1, 2], "list"), ({"u": 1}, "dict"), ((1,), "tuple"), (b"u", "bytes"), (1j, "complex"),
     (np.zeros(2), "ndarray"), (object(), "object"), ({1}, "set")],
)  # fmt: skip
def test_nested_and_other_objects_are_refused(value, kind):
    message = (
        f"Each value of this argument must be a string or a number, got {kind} in the columns "
        "'odd' of X: convert it, or spread what it holds over columns of its own."
    )
    refused([1.0, value, None], TypeError, message)


def test_complex_numbers_are_refused():
    frame = pd.DataFrame({"a": [1j, 2j]})
    with pytest.raises(TypeError, match=r"got complex in the columns 'a' of X"):
        FrameEncoder.fit(frame)


@pytest.mark.parametrize("column", [["u", "v", "u"], pd.Categorical(["u", "v", None])])
def test_text_in_a_column_that_is_no_category_is_refused(column):
    message = (
        "X must hold numbers in the columns 'odd', got text: convert it to numbers, or list the "
        "columns in categorical_features before the fit."
    )
    refused(column, ValueError, message, categorical_features=None)


def test_all_columns_of_the_same_kind_are_named_up_to_five():
    frame = pd.DataFrame({f"day{i}": [DAY, DAY] for i in range(7)})
    named = r"'day0', 'day1', 'day2', 'day3', 'day4', \.\.\.: convert"
    with pytest.raises(TypeError, match=named):
        FrameEncoder.fit(frame)


def test_another_number_of_columns_is_refused():
    with pytest.raises(ValueError, match=r"^X must have the 2 columns of the fit, got 1\.$"):
        FrameEncoder.fit(FINE).transform(FINE[["fine"]])


def test_columns_that_were_left_out_may_hold_anything_later():
    with pytest.warns(UserWarning, match="'odd'"):
        encoder = FrameEncoder.fit(FINE.assign(odd=1.0))
    later = FINE.assign(odd=[DAY, {}, np.inf])
    np.testing.assert_array_equal(encoder.transform(later), np.array([OTHER]).T)
