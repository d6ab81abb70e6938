import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from censquant.survival._columns import read_events, read_numbers, read_times, read_weights


@pytest.mark.parametrize(
    "values",
    [
        [1, 2],
        (1.0, 2.0),
        np.array([1, 2], dtype=np.uint8),
        np.array([1, 2], dtype=np.float32),
        np.array([1, 2], dtype=object),
        np.array([Decimal(1), np.float32(2)], dtype=object),
        np.ma.array([1.0, 2.0]),
        pd.Series([1, 2], index=[7, 3]),
        pd.Series([1, 2], dtype="Int64"),
    ],
)
def test_every_kind_of_number_is_read_as_float64(values):
    numbers = read_numbers(values, name="predicted")
    assert numbers.dtype == np.float64
    np.testing.assert_array_equal(numbers, [1.0, 2.0])


def test_numbers_are_contiguous_even_from_a_strided_field():
    strided = np.zeros(4, dtype=[("a", bool), ("b", float)])["b"]
    assert not strided.flags.c_contiguous
    assert read_numbers(strided, name="b").flags.c_contiguous


def test_float64_numbers_are_not_copied():
    values = np.arange(3.0)
    assert np.shares_memory(read_numbers(values, name="values"), values)


@pytest.mark.parametrize(
    "values",
    [
        [1.0, None],
        [1.0, np.nan],
        pd.Series([1, None], dtype="Int64"),
        np.array([1.0, pd.NaT], dtype=object),
        np.ma.array([1.0, 2.0], mask=[False, True]),
    ],
)
def test_missing_numbers_become_nan(values):
    np.testing.assert_array_equal(read_numbers(values, name="predicted"), [1.0, np.nan])


def test_an_integer_too_large_for_a_float_is_infinite():
    assert read_numbers([10**400], name="y")[0] == np.inf


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (
            [1 + 2j],
            ValueError,
            "Complex data not supported: y must hold real numbers, got dtype complex128.",
        ),
        (
            [True, False],
            TypeError,
            "y must hold numbers, got booleans, which are the values of an event column.",
        ),
        (
            ["a", "bc"],
            TypeError,
            "y must hold numbers, got dtype <U2: convert the column to float.",
        ),
        (
            np.array(["2020-01-01"], dtype="datetime64[D]"),
            TypeError,
            "y must hold numbers, got dtype datetime64[D]: divide the time since the start by a "
            "unit, as in (end - start) / one_day.",
        ),
        (
            np.array([1.0, "2"], dtype=object),
            TypeError,
            "y must hold numbers, got '2' (str) in row 1.",
        ),
        (
            np.array([1.0, True], dtype=object),
            TypeError,
            "y must hold numbers, got True (bool) in row 1.",
        ),
        ([[1.0], [2.0]], ValueError, "y must be one-dimensional, got shape (2, 1)."),
        (3.0, ValueError, "y must be one-dimensional, got shape ()."),
        (
            [[1.0], [2.0, 3.0]],
            ValueError,
            "y must be a rectangular array, got a sequence of items of different lengths.",
        ),
    ],
)
def test_what_is_no_column_of_numbers_is_refused(values, error, message):
    with pytest.raises(error, match="^" + re.escape(message) + "$"):
        read_numbers(values, name="y")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "y must hold at least one row, got none."),
        (
            [1.0, np.nan, 2.0, None],
            "y contains NaN: 2 of 4 times are missing, the first in row 1.",
        ),
        (
            [1.0, 2.0, -np.inf],
            "y contains infinity: 1 of 3 times are infinite, the first in row 2; "
            "give the last observed time and event=False instead.",
        ),
    ],
)
def test_times_that_cannot_be_used_are_refused(values, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        read_times(values, name="y")


def test_negative_times_are_read():
    np.testing.assert_array_equal(read_times([-1, 0], name="y"), [-1.0, 0.0])


@pytest.mark.parametrize(
    "values",
    [
        [True, False],
        [1, 0],
        [1.0, 0.0],
        np.array([1, 0], dtype=np.uint8),
        np.array([True, 0], dtype=object),
        np.array([np.True_, 0.0], dtype=object),
        np.ma.array([True, False]),
        pd.Series([True, False], dtype="boolean"),
        pd.Series([1, 0], dtype="category"),
    ],
)
def test_booleans_and_zero_one_codes_are_events(values):
    events = read_events(values)
    assert events.dtype == np.bool_
    np.testing.assert_array_equal(events, [True, False])


_COMPARE = "compare the column with the value that means the event."
_RISKS = (
    "codes above 1 usually mean competing risks, which CompetingRisksRegressor takes; write event "
    "== 1 for the "
    "first cause, and rows with another cause count as censored, so that the predictions are those "
    "for that cause alone, as if the others did not occur."
)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [1, 2, 2],
            "event must be boolean or 0 and 1, got the values 1, 2: "
            "2 usually means the event, write event == 2; "
            "kinds of events are 0, 1 and 2 for CompetingRisksRegressor, "
            "with 0 where none was seen.",
        ),
        (
            np.array([1.0, 2.0]),
            "event must be boolean or 0 and 1, got the values 1, 2: "
            "2 usually means the event, write event == 2; "
            "kinds of events are 0, 1 and 2 for CompetingRisksRegressor, "
            "with 0 where none was seen.",
        ),
        (
            [0, 1, 2],
            f"event must be boolean or 0 and 1, got the values 0, 1, 2: {_RISKS}",
        ),
        (
            [0.5, -1.0],
            f"event must be boolean or 0 and 1, got the values -1, 0.5: {_COMPARE}",
        ),
        (
            list(range(9)),
            f"event must be boolean or 0 and 1, got the values 0, 1, 2, 3, 4, ...: {_RISKS}",
        ),
        (
            np.array([0, 3], dtype=object),
            f"event must be boolean or 0 and 1, got the values 0, 3: {_RISKS}",
        ),
        (
            np.array([0.0, 1.0, np.inf]),
            f"event must be boolean or 0 and 1, got the values 0, 1, inf: {_COMPARE}",
        ),
        (
            ["dead", "alive", "dead"],
            f"event must be boolean or 0 and 1, got the values 'alive', 'dead': {_COMPARE}",
        ),
        (
            np.array(["dead", 1, []], dtype=object),
            f"event must be boolean or 0 and 1, got the values 'dead', 1, []: {_COMPARE}",
        ),
        (
            np.array(["2020-01-01"], dtype="datetime64[ns]"),
            "event must be boolean or 0 and 1, got the values '2020-01-01T00:00:00.000000000': "
            f"{_COMPARE}",
        ),
        (
            [1.0, np.nan, 0.0],
            "event contains missing values: 1 of 3 are missing, the first in row 1; "
            "drop those rows.",
        ),
        (
            [None, True, None],
            "event contains missing values: 2 of 3 are missing, the first in row 0; "
            "drop those rows.",
        ),
        (
            pd.Series([True, None], dtype="boolean"),
            "event contains missing values: 1 of 2 are missing, the first in row 1; "
            "drop those rows.",
        ),
        ([[True]], "event must be one-dimensional, got shape (1, 1)."),
    ],
)
def test_event_codes_are_never_guessed(values, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        read_events(values)


def test_no_weights_are_ones():
    np.testing.assert_array_equal(read_weights(None, 3), np.ones(3))


def test_whole_weights_are_read_as_floats():
    assert read_weights([1, 0, 2], 3).dtype == np.float64


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "sample_weight must have one value for each row, got 1 values for 2 rows."),
        ([1.0, -2.0], "sample_weight must be finite and not negative, got -2 in row 1."),
        ([np.nan, 1.0], "sample_weight must be finite and not negative, got nan in row 0."),
        ([1.0, np.inf], "sample_weight must be finite and not negative, got inf in row 1."),
        ([0.0, 0.0], "sample_weight must hold a positive value, got only zeros."),
        ([[1.0, 1.0]], "sample_weight must be one-dimensional, got shape (1, 2)."),
    ],
)
def test_weights_that_cannot_count_rows_are_refused(weights, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        read_weights(weights, 2)
