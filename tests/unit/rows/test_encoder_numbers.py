"""Columns of numbers: imputed, with a column that says where; fast where nothing is to be done."""

import tracemalloc
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from censquant._rows._encoder import FrameEncoder
from censquant.exceptions import ExtrapolationWarning

RNG = np.random.default_rng(0)


def encoded(column, **options):
    """Names and values of what a single column becomes."""
    frame = pd.DataFrame({"a": column})
    encoder = FrameEncoder.fit(frame, **options)
    return encoder.feature_names_out, encoder.transform(frame)


def test_an_array_of_finite_floats_is_returned_itself():
    X = RNG.normal(size=(30, 3))
    assert FrameEncoder.fit(X).transform(X) is X


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint64, bool])
def test_other_arrays_of_numbers_become_float64(dtype):
    X = RNG.integers(0, 2, size=(30, 3)).astype(dtype)
    Z = FrameEncoder.fit(X).transform(X)
    assert Z.dtype == np.float64
    np.testing.assert_array_equal(Z, X)


def test_arrays_in_columns_order_come_out_in_rows_order():
    X = np.asfortranarray(RNG.normal(size=(30, 3)))
    Z = FrameEncoder.fit(X).transform(X)
    assert Z.flags.c_contiguous
    np.testing.assert_array_equal(Z, X)


def test_finite_numbers_whose_sum_overflows_are_no_infinity():
    X = np.array([[1e308, 1.0], [1.5e308, 2.0], [1.7e308, 3.0]])
    np.testing.assert_array_equal(FrameEncoder.fit(X).transform(X), X)


def test_missing_numbers_become_the_median_and_a_column_says_where():
    names, Z = encoded([1.0, np.nan, 3.0, 8.0])
    assert names == ["a", "a (missing)"]
    np.testing.assert_array_equal(Z, [[1, 0], [3, 1], [3, 0], [8, 0]])


def test_the_median_of_two_huge_numbers_is_finite():
    _, Z = encoded([1e308, np.nan, 1.6e308])
    assert Z[1, 0] == pytest.approx(1.3e308)


def test_a_column_that_is_constant_or_missing_becomes_the_column_that_says_which():
    names, Z = encoded([2.0, np.nan, 2.0])
    assert names == ["a (missing)"]
    np.testing.assert_array_equal(Z, [[0], [1], [0]])


def test_numbers_that_are_missing_for_the_first_time_become_the_median_with_one_warning():
    X = pd.DataFrame({"a": [1.0, 2.0, 9.0], "b": [1.0, 0.0, 2.0], "c": [True, False, True]})
    encoder = FrameEncoder.fit(X)
    new = pd.DataFrame({"a": [np.nan, 5.0], "b": [np.nan, 5.0], "c": [None, True]})
    with pytest.warns(ExtrapolationWarning) as caught:
        Z = encoder.transform(new)
    assert [str(w.message) for w in caught] == [
        "X has missing values in the columns 'a', 'b', 'c', which had none in the fit: numbers are "
        "replaced by the median of the fit, categories count as unknown levels."
    ]
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(Z, [[2, 1, 1], [5, 5, 1]])


@pytest.mark.parametrize(
    "column",
    [
        pd.array([4, None, 7], dtype="Int64"),
        pd.array([4, None, 7], dtype="UInt8"),
        pd.array([4.0, pd.NA, 7.0], dtype="Float64"),
        pd.array([4.0, None, 7.0], dtype="double[pyarrow]"),
        pd.array([4, None, 7], dtype="int32[pyarrow]"),
        pd.arrays.SparseArray([4.0, np.nan, 7.0]),
        pd.Categorical([4, None, 7]),
        pd.Series([4, None, 7], dtype=object),
        pd.Series([4, pd.NA, 7.0], dtype=object),
        pd.Series([Decimal(4), pd.NaT, Fraction(7)], dtype=object),
        [np.float32(4), np.nan, np.int8(7)],
    ],
    ids=str,
)
def test_every_type_of_numbers_is_read(column):
    names, Z = encoded(column, categorical_features=None)
    assert names == ["a", "a (missing)"]
    np.testing.assert_array_equal(Z, [[4, 0], [5.5, 1], [7, 0]])


@pytest.mark.parametrize("dtype", ["boolean", "bool[pyarrow]", object])
def test_booleans_are_zero_and_one(dtype):
    names, Z = encoded(pd.Series([True, None, False, False], dtype=dtype))
    assert names == ["a", "a (missing)"]
    np.testing.assert_array_equal(Z, [[1, 0], [0, 1], [0, 0], [0, 0]])
    names, Z = encoded([True, False, False])
    assert names == ["a"]
    np.testing.assert_array_equal(Z, [[1], [0], [0]])


def test_arrays_of_objects_are_read_column_by_column():
    X = np.array([[1, "u", True], [2.5, "v", None], [None, "w", False]], dtype=object)
    encoder = FrameEncoder.fit(X)
    assert encoder.feature_names_out == [
        *("x0", "x0 (missing)", "x1=u", "x1=v", "x1=w", "x2", "x2 (missing)")
    ]
    assert encoder.transform(X)[:, 0].tolist() == [1, 2.5, 1.75]


def test_lists_keep_numbers_beside_text():
    rows = [[1, "u"], [2, "v"], [4, "v"]]
    encoder = FrameEncoder.fit(rows)
    np.testing.assert_array_equal(encoder.transform(rows), [[1, 0], [2, 1], [4, 1]])


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_rows_are_encoded_as_dense_ones(make):
    X = np.where(RNG.random((30, 3)) < 0.7, 0.0, RNG.normal(size=(30, 3)))
    X[4, 1] = np.nan
    expected = FrameEncoder.fit(X)
    encoder = FrameEncoder.fit(make(X))
    assert encoder.rules == expected.rules
    np.testing.assert_array_equal(encoder.transform(make(X)), expected.transform(X))


def test_the_input_is_not_changed():
    X = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, 5.0]])
    before = X.copy()
    X.flags.writeable = False
    FrameEncoder.fit(X).transform(X)
    np.testing.assert_array_equal(X, before)


def test_memory_beyond_the_result_stays_that_of_a_few_columns():
    n_rows = 100_000
    X = RNG.normal(size=(n_rows, 20))
    X[::7, 3] = np.nan
    frame = pd.DataFrame(X).assign(text=RNG.choice(["u", "v", "w"], n_rows)).rename(columns=str)
    column = 8 * n_rows
    tracemalloc.start()
    encoder = FrameEncoder.fit(frame)
    fitting = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    Z = encoder.transform(frame)
    encoding = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert fitting < 6 * column
    assert encoding < Z.nbytes + 6 * column


class TestWeights:
    X = pd.DataFrame(
        {
            "a": [1.0, np.nan, 4.0, 9.0, 2.0, 7.0],
            "b": ["u", "v", "v", "w", None, "u"],
            "c": [1.0, 2.0, 3.0, 4.0, 5.0, np.inf],
        }
    ).iloc[:, :2]

    def test_whole_weights_are_repeated_rows(self):
        weight = np.array([3.0, 1.0, 0.0, 2.0, 11.0, 40.0])
        repeated = self.X.loc[np.repeat(self.X.index, weight.astype(int))]
        assert FrameEncoder.fit(self.X, weight=weight).rules == FrameEncoder.fit(repeated).rules

    def test_equal_weights_change_nothing(self):
        expected = FrameEncoder.fit(self.X).rules
        assert FrameEncoder.fit(self.X, weight=np.full(6, 1.0)).rules == expected
        assert FrameEncoder.fit(self.X, weight=np.full(6, 0.3)).rules == expected

    def test_what_occurs_in_rows_of_weight_zero_only_is_unknown(self):
        rules = FrameEncoder.fit(self.X, weight=np.array([1.0, 0.0, 0.0, 1.0, 0.0, 1.0])).rules
        assert not rules[0].has_missing
        assert rules[1].levels == ("u", "w")
        assert not rules[1].has_missing
