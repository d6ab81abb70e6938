"""Categories: one column of zeros and ones per level, and what happens to rare and unknown ones."""

import enum
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from censquant._rows._encoder import MOST_LEVELS, FrameEncoder, enough_rows
from censquant.exceptions import ExtrapolationWarning


def fitted(column, **options):
    return FrameEncoder.fit(pd.DataFrame({"a": column}), **options)


def rows(encoder, values):
    return encoder.transform(pd.DataFrame({"a": values})).tolist()


def test_three_levels_become_three_sorted_columns():
    encoder = fitted(["v", "w", "u", "v"])
    assert encoder.feature_names_out == ["a=u", "a=v", "a=w"]
    assert rows(encoder, ["v", "u", "w"]) == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]


def test_two_levels_become_one_column():
    encoder = fitted(["v", "u", "v"])
    assert encoder.feature_names_out == ["a=v"]
    assert rows(encoder, ["v", "u"]) == [[1], [0]]


def test_a_missing_value_is_a_level_where_it_occurs():
    encoder = fitted(["v", "u", None, "w"])
    assert encoder.feature_names_out == ["a=u", "a=v", "a=w", "a (missing)"]
    assert rows(encoder, [None, "w"]) == [[0, 0, 0, 1], [0, 0, 1, 0]]
    assert fitted(["v", "u", None]).feature_names_out == ["a=v", "a (missing)"]
    assert fitted(["v", "v", None]).feature_names_out == ["a (missing)"]


@pytest.mark.parametrize(("n_rows", "enough"), [(5, 1), (20, 2), (40, 4), (50, 5), (10**6, 5)])
def test_a_level_needs_five_rows_or_a_tenth_of_fewer_than_fifty(n_rows, enough):
    assert enough_rows(n_rows) == enough
    n_rows = min(n_rows, 1_000)
    column = ["u"] * enough + ["v"] * (enough - 1) + ["w"] * (n_rows - 2 * enough + 1)
    assert fitted(column).rules[0].levels == ("u", "w")


def test_rare_and_unknown_levels_share_a_column():
    encoder = fitted(["u"] * 50 + ["v"] * 40 + ["w"] * 4 + ["x"] * 3)
    assert encoder.feature_names_out == ["a=u", "a=v", "a (rare)"]
    assert rows(encoder, ["u", "w", "x", "never seen"]) == [[1, 0, 0]] + [[0, 0, 1]] * 3


def test_one_frequent_level_beside_rare_ones_becomes_one_column():
    encoder = fitted(["u"] * 90 + ["w"] * 4 + ["x"] * 3)
    assert encoder.feature_names_out == ["a (rare)"]
    assert rows(encoder, ["u", "w", "never seen"]) == [[0], [1], [1]]


def test_levels_beyond_the_most_frequent_are_rare():
    column = [f"{level:02d}!" for level in range(MOST_LEVELS + 5) for _ in range(5 + level)]
    encoder = fitted(column)
    assert len(encoder.rules[0].levels) == MOST_LEVELS
    most = sorted(level for level, _ in Counter(column).most_common(MOST_LEVELS))
    assert list(encoder.rules[0].levels) == most
    assert encoder.feature_names_out[-1] == "a (rare)"


def test_unknown_levels_are_zeros_with_one_warning_where_no_level_was_rare():
    encoder = fitted(["v", "w", "u", "v"])
    with pytest.warns(ExtrapolationWarning) as caught:
        assert rows(encoder, ["x", "v", "y"]) == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert [str(w.message) for w in caught] == [
        "X has levels in the columns 'a' that the fit did not have: they are predicted as if they "
        "were none of the known levels."
    ]


def test_a_value_that_is_missing_for_the_first_time_is_an_unknown_level():
    with pytest.warns(ExtrapolationWarning, match=r"^X has missing values in the columns 'a', w"):
        assert rows(fitted(["v", "w", "u"]), [None]) == [[0, 0, 0]]
    rare = fitted(["u"] * 50 + ["v"] * 40 + ["w"] * 2 + ["x"] * 2)
    with pytest.warns(ExtrapolationWarning, match=r"^X has missing values in the columns 'a', w"):
        assert rows(rare, [None]) == [[0, 0, 1]]


class Text(str, enum.Enum):  # noqa: UP042
    U = "u"
    V = "v"
    W = "w"


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["u", "v", None, "w"], dtype=object),
        pd.Series(["u", "v", np.nan, "w"], dtype=object),
        pd.Series(["u", "v", pd.NA, "w"], dtype=object),
        pd.array(["u", "v", None, "w"], dtype="string"),
        pd.array(["u", "v", None, "w"], dtype="string[pyarrow]"),
        pd.Categorical(["u", "v", None, "w"]),
        pd.Categorical(["u", "v", None, "w"], categories=["z", "w", "v", "u"], ordered=True),
        pd.Series([Text.U, Text.V, None, Text.W], dtype=object),
    ],
    ids=lambda column: str(column.dtype),
)
def test_every_type_of_text_is_read(column):
    encoder = fitted(column)
    assert encoder.feature_names_out == ["a=u", "a=v", "a=w", "a (missing)"]
    assert rows(encoder, column) == np.eye(4)[[0, 1, 3, 2]].tolist()
    assert rows(encoder, ["u", "v", None, "w"]) == np.eye(4)[[0, 1, 3, 2]].tolist()


# pandas 3 always infers it.
@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated")
def test_text_of_the_type_that_pandas_3_infers_is_read():
    with pd.option_context("future.infer_string", True):
        column = pd.Series(["u", "v", None, "w"])
    assert column.dtype != object
    assert fitted(column).feature_names_out == ["a=u", "a=v", "a=w", "a (missing)"]


def test_declared_levels_that_do_not_occur_are_no_levels():
    encoder = fitted(pd.Categorical(["u", "v", "w"], categories=list("tuvwx")))
    assert encoder.feature_names_out == ["a=u", "a=v", "a=w"]
    new = pd.Categorical(["v"], categories=list("tuvwx"))
    assert rows(encoder, new) == [[0, 1, 0]]


def test_numbers_are_the_same_levels_whatever_their_type():
    encoder = fitted([3, 1, 2, 10], categorical_features=["a"])
    assert encoder.feature_names_out == ["a=1", "a=10", "a=2", "a=3"]
    for column in (
        np.array([3.0, 1.0]),
        np.array([3, 1], dtype=np.uint8),
        pd.array([3, 1], dtype="Int64"),
        pd.Categorical([3, 1]),
        ["3", 1.0],
    ):
        assert rows(encoder, column) == [[0, 0, 0, 1], [1, 0, 0, 0]]
    assert fitted([0.5, 1e30, -2.0], categorical_features=[0]).feature_names_out == [
        *("a=-2", "a=0.5", "a=1e+30")
    ]


def test_booleans_are_the_same_levels_whatever_their_type():
    encoder = fitted([True, False, True], categorical_features=[True])
    assert encoder.feature_names_out == ["a=True"]
    for column in ([True, False], pd.array([True, False], "boolean"), ["True", False]):
        assert rows(encoder, column) == [[1], [0]]


@pytest.mark.parametrize("column", [[True, 1, "u", 1.0], ["u", 1.0, 1, True], [1, "u", True, 1]])
def test_true_is_another_level_than_one_in_any_order(column):
    assert fitted(column).feature_names_out == ["a=1", "a=True", "a=u"]


def test_intervals_of_pandas_are_levels():
    encoder = fitted(pd.cut([1.0, 15.0, 25.0], [0, 10, 20, 30]))
    assert encoder.feature_names_out == ["a=(0, 10]", "a=(10, 20]", "a=(20, 30]"]


def test_each_output_column_knows_its_input_column():
    X = pd.DataFrame({"t": ["u", "v", "w"], "n": [1.0, None, 2.0], "k": [1, 1, 1], "b": [1, 2, 9]})
    with pytest.warns(UserWarning, match="'k'"):
        encoder = FrameEncoder.fit(X)
    assert encoder.origins.tolist() == [0, 0, 0, 1, 1, 3]
    assert len(encoder.feature_names_out) == encoder.transform(X).shape[1] == 6


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("from_dtype", ["n", "t=u", "t=v", "t=w"]),
        (["n", "t"], ["n=1", "n=2", "n=5", "t=u", "t=v", "t=w"]),
        (np.array([0, 1]), ["n=1", "n=2", "n=5", "t=u", "t=v", "t=w"]),
        (pd.Index(["t"]), ["n", "t=u", "t=v", "t=w"]),
        ([False, True], ["n", "t=u", "t=v", "t=w"]),
        ((1,), ["n", "t=u", "t=v", "t=w"]),
    ],
)
def test_categories_are_chosen_by_type_name_index_or_mask(chosen, expected):
    X = pd.DataFrame({"n": [1.0, 2.0, 5.0], "t": ["u", "v", "w"]})
    assert FrameEncoder.fit(X, categorical_features=chosen).feature_names_out == expected


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("t", "categorical_features must be 'from_dtype', None or a list of columns, got 't': put "
         "a single name into a list."),
        (["T"], "categorical_features must name columns of X, got 'T', which is none: did you mean "
         "'t'?"),
        (["other"], "categorical_features must name columns of X, got 'other', which is none."),
        ([2], "categorical_features must hold indices from 0 to 1, got 2."),
        ([-1], "categorical_features must hold indices from 0 to 1, got -1."),
        ([True], "categorical_features must have one boolean for each of the 2 columns of X, got "
         "1."),
        ([[0]], "categorical_features must be a list of names, indices or one boolean per column, "
         "got an array of shape (1, 1)."),
    ],
)  # fmt: skip
def test_a_wrong_choice_of_categories_is_refused_in_one_sentence(chosen, message):
    X = pd.DataFrame({"n": [1.0, 2.0, 5.0], "t": ["u", "v", "w"]})
    with pytest.raises(ValueError) as error:  # noqa: PT011
        FrameEncoder.fit(X, categorical_features=chosen)
    assert str(error.value) == message


def test_a_choice_of_categories_by_other_types_is_refused():
    message = (
        r"^categorical_features must be a list of names, .*, got entries of the types float\.$"
    )
    with pytest.raises(TypeError, match=message):
        FrameEncoder.fit([[1.0], [2.0]], categorical_features=[0.0])


def test_no_columns_are_categories_where_none_are_chosen():
    X = np.array([[1.0, 2.0], [2.0, 5.0], [3.0, 3.0]])
    for chosen in (None, []):
        assert FrameEncoder.fit(X, categorical_features=chosen).transform(X) is X


@pytest.mark.parametrize(
    "as_column",
    [list, np.array, pd.Categorical, lambda values: pd.array(values, dtype="string")],
    ids=["list", "array", "categorical", "string"],
)
def test_an_empty_text_is_a_missing_value(as_column):
    texts = ["a", "b", "", "a", "b", ""]
    encoder = FrameEncoder.fit(pd.DataFrame({"t": as_column(texts)}))
    assert encoder.feature_names_out == ["t=b", "t (missing)"]
    missing = pd.DataFrame({"t": [text or None for text in texts]})
    expected = FrameEncoder.fit(missing).transform(missing)
    np.testing.assert_array_equal(encoder.transform(missing), expected)
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"t": texts})), expected)


def test_an_empty_text_among_numbers_is_a_missing_number():
    frame = pd.DataFrame({"n": pd.Series([1.0, "", 3.0, 5.0], dtype=object)})
    encoder = FrameEncoder.fit(frame)
    assert encoder.feature_names_out == ["n", "n (missing)"]
    np.testing.assert_array_equal(encoder.transform(frame)[1], [3.0, 1.0])
