"""Odd columns are named in one warning."""

import numpy as np
import pandas as pd
import pytest

from censquant._rows._encoder import FrameEncoder
from censquant.exceptions import FeatureWarning

N = 60
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=N)
IDS = [f"patient {number}" for number in range(N)]


def warned(**columns):
    """Names that come out, and the text of the one warning, with a plain column beside."""
    with pytest.warns(FeatureWarning) as caught:
        encoder = FrameEncoder.fit(pd.DataFrame({"plain": NUMBERS, **columns}))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    return encoder.feature_names_out[1:], str(caught[0].message)


def silent(**columns):
    """Names that come out without a warning, which would be an error."""
    return FrameEncoder.fit(pd.DataFrame({"plain": NUMBERS, **columns})).feature_names_out[1:]


@pytest.mark.parametrize("value", [1.0, 0, "u", True])
def test_constant_columns_are_left_out(value):
    names, text = warned(a=[value] * N, b=[value] * N)
    assert names == []
    assert text == (
        "X has columns that are left out of the fit: 'a', 'b' (the same value in all rows)."
    )


@pytest.mark.parametrize("dtype", [float, object, "string", "category", "Int64"])
def test_columns_without_a_value_are_left_out(dtype):
    names, text = warned(a=pd.Series([None] * N, dtype=dtype))
    assert names == []
    assert text == "X has columns that are left out of the fit: 'a' (no value in any row)."


def test_text_of_which_every_value_is_rare_is_left_out():
    names, text = warned(a=IDS, b=[f"date {row // 4}" for row in range(N)])
    assert names == []
    assert text == (
        "X has columns that are left out of the fit: 'a', 'b' (every value in very few rows, as in "
        "identifiers, dates or free text)."
    )


def test_where_identifiers_are_missing_is_still_used():
    names, text = warned(a=[None] * 10 + IDS[10:])
    assert names == ["a (missing)"]
    assert "'a' (every value in very few rows" in text


def test_free_text_with_a_frequent_value_is_kept():
    assert silent(a=["none"] * 10 + IDS[10:]) == ["a (rare)"]


def test_identifiers_of_fewer_than_twenty_rows_are_kept():
    frame = pd.DataFrame({"a": IDS[:19]})
    assert len(FrameEncoder.fit(frame).feature_names_out) == 19


def test_columns_of_the_same_content_are_used_once():
    text = RNG.choice(["u", "v", "w"], N)
    names, message = warned(
        a=NUMBERS, b=-NUMBERS, c=text, d=pd.Categorical(text), e=pd.array(-NUMBERS, "Float64")
    )
    assert names == ["b", "c=u", "c=v", "c=w"]
    assert message == (
        "X has columns that are left out of the fit: 'a', 'd', 'e' (the same content as an earlier "
        "column)."
    )


def test_columns_that_differ_in_one_place_are_both_used():
    other = NUMBERS.copy()
    other[7] += 1e-9
    missing = other.copy()
    missing[3] = np.nan
    assert silent(a=other, b=missing) == ["a", "b", "b (missing)"]


def test_zero_is_the_same_with_either_sign():
    names, _ = warned(a=[0.0, 1.0] * 30, b=[-0.0, 1.0] * 30)
    assert names == ["a"]


@pytest.mark.parametrize(
    "numbers", [np.arange(N), 5_000 + RNG.permutation(N), RNG.choice(500, N, replace=False)]
)
def test_distinct_whole_numbers_are_kept_and_named(numbers):
    names, text = warned(a=numbers)
    assert names == ["a"]
    assert text == (
        "X has columns that are worth a look: 'a' (whole numbers that are all distinct, as in "
        "identifiers: drop them if they are)."
    )


def test_whole_numbers_that_are_distinct_by_chance_are_not_named():
    assert silent(a=RNG.choice(10**6, N, replace=False)) == ["a"]
    assert silent(a=np.append(np.arange(N - 1), 0)) == ["a"]
    assert silent(a=np.arange(N, dtype=float)) == ["a"]


def test_numbers_stored_as_text_are_named():
    ages = ["20"] * 20 + [str(20 + row) for row in range(40)]
    names, text = warned(a=ages, b=[f"{value:.3f}" for value in NUMBERS])
    assert names == ["a (rare)"]
    assert text == (
        "X has columns that are left out of the fit: 'b' (numbers stored as text, each in very few "
        "rows: convert them to numbers). X has columns that are worth a look: 'a' (numbers stored "
        "as text, used as categories: convert them if they are quantities)."
    )


def test_codes_stored_as_text_and_declared_categories_are_not_named():
    codes = [str(row % 4) for row in range(N)]
    rare = [*codes[:-3], "8", "8", "8"]
    assert silent(a=codes) == ["a=0", "a=1", "a=2", "a=3"]
    assert silent(a=pd.Categorical(rare))[-1] == "a (rare)"


def test_everything_is_said_in_one_warning():
    _, text = warned(a=1.0, b=None, c=IDS, d=NUMBERS, e=np.arange(N))
    assert text == (
        "X has columns that are left out of the fit: 'a' (the same value in all rows); 'b' (no "
        "value in any row); 'c' (every value in very few rows, as in identifiers, dates or free "
        "text); 'd' (the same content as an earlier column). X has columns that are worth a look: "
        "'e' (whole numbers that are all distinct, as in identifiers: drop them if they are)."
    )


def test_where_nothing_is_left_there_is_a_column_of_zeros():
    frame = pd.DataFrame({"a": [1.0, 1.0], "b": ["u", "u"]})
    with pytest.warns(FeatureWarning):
        encoder = FrameEncoder.fit(frame)
    np.testing.assert_array_equal(encoder.transform(frame), [[0.0], [0.0]])
    assert encoder.feature_names_out == ["(constant)"]
    assert encoder.origins.tolist() == [-1]
