import re

import numpy as np
import pytest

from censquant.metrics._reading import (
    censoring_curve,
    read_quantile_rows,
    read_survival,
    read_times,
    read_train,
)
from censquant.survival import read_target

Y = ([1.0, 2.0], [True, False])


def refused(error, message):
    return pytest.raises(error, match="^" + re.escape(message) + "$")


def test_quantile_rows_are_sorted_and_weights_are_ones_by_default():
    target, rows, levels, weight = read_quantile_rows(Y, [[3, 1], [1, 2]], [0.2, 0.8])
    np.testing.assert_array_equal(target.time, Y[0])
    np.testing.assert_array_equal(rows, [[1.0, 3.0], [1.0, 2.0]])
    assert rows.dtype == np.float64
    np.testing.assert_array_equal(levels, [0.2, 0.8])
    np.testing.assert_array_equal(weight, [1.0, 1.0])


def test_raw_quantile_rows_keep_their_order_and_sorting_leaves_the_argument_alone():
    predicted = np.array([[3.0, 1.0], [1.0, 2.0]])
    _, rows, _, _ = read_quantile_rows(Y, predicted, [0.2, 0.8], raw=True)
    np.testing.assert_array_equal(rows, [[3.0, 1.0], [1.0, 2.0]])
    read_quantile_rows(Y, predicted, [0.2, 0.8])
    np.testing.assert_array_equal(predicted, [[3.0, 1.0], [1.0, 2.0]])


@pytest.mark.parametrize(
    ("predicted", "taus", "options", "error", "message"),
    [
        (
            [[1.0], [2.0]],
            [0.5],
            {"at_least": 2},
            ValueError,
            "taus must hold two levels or more, since the level of a time is read between "
            "quantiles, got 1.",
        ),
        (
            [[1.0, 2.0]] * 3,
            [0.2, 0.8],
            {},
            ValueError,
            "predicted must have one row for each row of y and one column for each of taus, "
            "shape (2, 2), got shape (3, 2).",
        ),
        (
            [[1.0, np.nan], [1.0, np.inf]],
            [0.2, 0.8],
            {},
            ValueError,
            "predicted must be finite, got NaN or infinity in 2 of 2 rows, the first in row 0.",
        ),
        (
            [["a", "b"], ["c", "d"]],
            [0.2, 0.8],
            {},
            TypeError,
            "predicted must hold numbers, got dtype <U1.",
        ),
        (
            np.array([[1.0, "b"], [1.0, 2.0]], dtype=object),
            [0.2, 0.8],
            {},
            TypeError,
            "predicted must hold numbers, got dtype object with other things.",
        ),
        (
            [[1.0, 2.0], [1.0]],
            [0.2, 0.8],
            {},
            ValueError,
            "predicted must be a rectangular array, got a sequence of items of different lengths.",
        ),
        (
            [[1.0, 2.0]] * 2,
            [0.8, 0.2],
            {},
            ValueError,
            "taus must be strictly increasing and inside (0, 1), got (0.8, 0.2).",
        ),
        (
            [[1.0, 2.0]] * 2,
            [0.2, 0.8],
            {"sample_weight": [1.0]},
            ValueError,
            "sample_weight must have one value for each row, got 1 values for 2 rows.",
        ),
    ],
)
def test_what_is_no_matrix_of_quantiles_is_refused(predicted, taus, options, error, message):
    with refused(error, message):
        read_quantile_rows(Y, predicted, taus, **options)


def test_times_are_read_with_their_rows():
    target, times, weight = read_times(Y, [4, 5], [1, 2])
    assert len(target) == 2
    np.testing.assert_array_equal(times, [4.0, 5.0])
    np.testing.assert_array_equal(weight, [1.0, 2.0])


def test_infinite_times_are_read_where_they_are_allowed():
    _, times, _ = read_times(Y, [np.inf, 5], infinite=True)
    np.testing.assert_array_equal(times, [np.inf, 5.0])


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        ([1.0], "bound must have one time for each row of y, got 1 times for 2 rows."),
        ([1.0, np.nan], "bound contains NaN: 1 of 2 times are missing, the first in row 1."),
        (
            [1.0, np.inf],
            "bound must be finite, got infinity in 1 of 2 rows, the first in row 1.",
        ),
    ],
)
def test_what_are_no_times_are_refused(predicted, message):
    with refused(ValueError, message):
        read_times(Y, predicted, name="bound")


def test_survival_is_read_and_rounding_is_taken_back():
    _, survival, times, weight = read_survival(Y, [[1 + 1e-8, 0.5], [0.9, -1e-8]], [1, 2])
    np.testing.assert_array_equal(survival, [[1.0, 0.5], [0.9, 0.0]])
    np.testing.assert_array_equal(times, [1.0, 2.0])
    np.testing.assert_array_equal(weight, [1.0, 1.0])


@pytest.mark.parametrize(
    ("survival", "times", "message"),
    [
        (
            [[0.9, 0.5]] * 2,
            [2.0, 1.0],
            "times must be one or more finite numbers in strictly increasing order, got 2, 1.",
        ),
        (
            [[0.9, 0.5]] * 2,
            [1.0, np.nan],
            "times must be one or more finite numbers in strictly increasing order, got 1, nan.",
        ),
        (
            [[0.9] * 6] * 2,
            [1.0, 2.0, 3.0, 4.0, 5.0, 5.0],
            "times must be one or more finite numbers in strictly increasing order, "
            "got 1, 2, 3, 4, 5, ....",
        ),
        (
            np.ones((2, 0)),
            np.ones(0),
            "times must be one or more finite numbers in strictly increasing order, got none.",
        ),
        (
            [[0.9, 0.5]],
            [1.0, 2.0],
            "survival must have one row for each row of y and one column for each of times, "
            "shape (2, 2), got shape (1, 2).",
        ),
        (
            [[9.0, 0.5]] * 2,
            [1.0, 2.0],
            "survival must hold probabilities in [0, 1], got values from 0.5 to 9: "
            "pass P(T > t), not a time or a risk.",
        ),
        (
            [[0.9, -0.5]] * 2,
            [1.0, 2.0],
            "survival must hold probabilities in [0, 1], got values from -0.5 to 0.9: "
            "pass P(T > t), not a time or a risk.",
        ),
        (
            [[0.9, 0.5], [0.1, 0.5]],
            [1.0, 2.0],
            "survival must not rise along a row, but 1 of 2 rows do, the first of them row 1: "
            "pass P(T > t), not P(T <= t).",
        ),
    ],
)
def test_what_are_no_survival_probabilities_is_refused(survival, times, message):
    with refused(ValueError, message):
        read_survival(Y, survival, times)


def test_the_rows_judged_stand_in_for_training_rows_that_are_not_given():
    target = read_target(Y)
    assert read_train(None, target) is target
    np.testing.assert_array_equal(read_train([3.0, 4.0, 5.0], target).time, [3.0, 4.0, 5.0])


def test_the_censoring_curve_takes_weights_only_from_the_rows_judged():
    target = read_target(([1.0, 2.0], [False, True]))
    weight = np.array([3.0, 1.0])
    np.testing.assert_array_equal(censoring_curve(None, target, weight).survival, [0.25, 0.25])
    curve = censoring_curve(([1.0, 2.0], [False, True]), target, weight)
    np.testing.assert_array_equal(curve.survival, [0.5, 0.5])


@pytest.mark.parametrize(
    ("y_train", "message"),
    [
        (
            ([1.0, np.nan], [True, False]),
            "y_train contains NaN: 1 of 2 times are missing, the first in row 1.",
        ),
        (([], []), "y_train must hold at least one row, got none."),
    ],
)
def test_messages_on_training_rows_call_them_so(y_train, message):
    with refused(ValueError, message):
        read_train(y_train, read_target(Y))
