"""Rows, columns and levels that the linear programmes see."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant.estimators.linear._design import Design, DistinctRows, independent_columns
from censquant.estimators.linear._fits import default_step, levels_of_path, step_of_crq
from censquant.survival import Target


def distinct(x, time, event, weight, limit=None):
    limit = np.full(len(time), np.inf) if limit is None else limit
    return DistinctRows.among(
        np.asarray(x, dtype=float),
        Target(np.asarray(time, dtype=float), np.asarray(event)),
        np.asarray(limit, dtype=float),
        np.asarray(weight, dtype=float),
    )


def test_equal_rows_become_one_with_all_their_weight():
    rows = distinct([[1], [2], [1]], [5, 4, 5], [True, True, True], [1, 1, 2])
    assert rows.x.tolist() == [[2], [1]]
    assert rows.target.time.tolist() == [4, 5]
    assert (rows.weight / rows.weight[0]).tolist() == [1, 3]
    assert rows.group_of_row.tolist() == [1, 0, 1]


@pytest.mark.parametrize("column", ["x", "time", "event", "limit"])
def test_rows_that_differ_in_anything_stay_apart(column):
    arguments = {"x": [[1], [1]], "time": [5, 5], "event": [True, True], "limit": [9, 9]}
    other = {"x": [[1], [2]], "time": [5, 6], "event": [True, False], "limit": [9, 8]}
    rows = distinct(**{**arguments, column: other[column]}, weight=[1, 1])
    assert len(rows.weight) == 2
    assert len(distinct(**arguments, weight=[1, 1]).weight) == 1


def test_a_row_of_weight_zero_belongs_to_no_distinct_row():
    rows = distinct([[1], [2]], [5, 4], [True, True], [1, 0])
    assert rows.group_of_row.tolist() == [0, -1]
    assert rows.x.tolist() == [[1]]


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_neither_order_nor_unit_of_weights_nor_repetition_changes_the_distinct_rows(seed):
    rng = np.random.default_rng(seed)
    x, time = rng.integers(0, 3, (12, 2)), rng.integers(1, 4, 12)
    event, count = rng.random(12) < 0.5, rng.integers(1, 4, 12)
    expected = distinct(x, time, event, count)
    again = np.repeat(rng.permutation(12), 1)
    long = np.repeat(np.arange(12), count)
    for rows in (
        distinct(x[again], time[again], event[again], count[again]),
        distinct(x, time, event, 8.0 * count),
        distinct(x[long], time[long], event[long], np.ones(len(long))),
    ):
        np.testing.assert_array_equal(rows.x, expected.x)
        np.testing.assert_array_equal(rows.target.time, expected.target.time)
        np.testing.assert_array_equal(rows.target.event, expected.target.event)
        np.testing.assert_array_equal(rows.weight, expected.weight)


def test_factors_multiply_the_weights_of_single_rows():
    rows = distinct([[1], [2], [1]], [5, 4, 5], [True] * 3, [1, 1, 1])
    # In the order of times: the row of time 4 first, then the two of time 5.
    weight = rows.weighted(np.array([0.0, 1.0, 3.0]))
    assert (weight / rows.single_weight[0]).tolist() == [0.0, 4.0]


def test_of_collinear_columns_the_first_are_kept():
    a, b = np.array([1.0, 2.0, 4.0, 8.0]), np.array([1.0, 0.0, 0.0, 3.0])
    matrix = np.column_stack((np.zeros(4), a, 2 * a, b, a - b, np.ones(4)))
    assert independent_columns(matrix).tolist() == [1, 3, 5]


def test_no_more_columns_are_independent_than_there_are_rows():
    assert independent_columns(np.arange(1.0, 11.0).reshape(2, 5)).tolist() == [0, 1]


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_the_size_of_columns_does_not_matter_to_their_independence(size):
    columns = size * np.array([[1.0, 1.0, 2.0], [1.0, 1.0 + 1e-6, 2.0]])
    assert independent_columns(columns).tolist() == [0, 1]


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=20, deadline=None)
def test_coefficients_in_the_users_units_predict_the_same(seed, intercept):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(20, 3)) * 10.0 ** rng.integers(-3, 4, 3) + rng.normal(size=3)
    y = rng.normal(size=20) * 10.0 ** rng.integers(-3, 4)
    design = Design.of(x, y, intercept=intercept)
    assert 0.4 < np.abs(design.response(y)).max() < 1.6
    beta = rng.normal(size=(2, design.X.shape[1]))
    table = design.original(beta)
    expected = design.X @ beta.T * design.y_scale + design.y_center
    np.testing.assert_allclose(table[:, 0] + x @ table[:, 1:].T, expected, rtol=1e-9, atol=1e-9)
    assert intercept or not table[:, 0].any()


def test_a_column_left_out_has_the_coefficient_zero():
    x = np.column_stack((np.arange(5.0), np.full(5, 0.1), np.arange(5.0) ** 2))
    design = Design.of(x, np.arange(5.0), intercept=True)
    assert design.left_out.tolist() == [1]
    assert design.original(np.ones((1, 3)))[0, 2] == 0.0


def test_a_column_far_from_zero_is_not_taken_for_a_constant():
    x = 1.7e9 + np.arange(10.0)[:, None]
    assert Design.of(x, np.arange(10.0), intercept=True).left_out.tolist() == []


def test_equal_times_are_left_in_their_unit():
    assert Design.of(np.arange(3.0)[:, None], np.full(3, 7.0), intercept=True).y_scale == 1.0


def test_zeros_without_an_intercept_are_refused():
    with pytest.raises(
        ValueError,
        match=r"^X must hold a value other than 0 for fit_intercept=False, got only zeros\.$",
    ):
        Design.of(np.zeros((3, 2)), np.arange(3.0), intercept=False)


def test_the_steps_of_crq_are_those_of_its_default_grids():
    assert step_of_crq("portnoy", 1000) == pytest.approx(1 / (5 + 3 * 1000**0.4))
    assert step_of_crq("peng-huang", 100) == 0.01
    assert step_of_crq("peng-huang", 1000) == pytest.approx(1 / (2 * 1000**0.7))


@pytest.mark.parametrize("method", ["portnoy", "peng-huang"])
def test_default_steps_are_fine_for_few_rows_and_never_coarser_than_those_of_crq(method):
    assert default_step(method, 20) == default_step(method, 1_000) == 0.001
    assert default_step(method, 50_000) == step_of_crq(method, 50_000)
    steps = np.array([default_step(method, n) for n in range(100, 50_000, 100)])
    assert (steps <= [step_of_crq(method, n) for n in range(100, 50_000, 100)]).all()


def test_data_augmentation_keeps_the_step_of_crq():
    assert default_step("data-augmentation", 200) == step_of_crq("portnoy", 200)


def test_the_path_holds_the_levels_asked_for_to_the_bit_and_none_above():
    asked = np.array([0.1, 0.3000000001, 0.7])
    levels = levels_of_path(asked, 0.05, n_rows=20)
    assert np.isin(asked, levels).all()
    assert levels[0] == 0.05
    assert levels[-1] == 0.7
    assert np.diff(levels).max() <= 0.05 + 1e-9
    # 0.3 itself would be a step of nothing.
    assert np.diff(levels).min() > 1e-6


def test_the_path_begins_at_a_low_level_asked_for():
    assert levels_of_path(np.array([0.01, 0.5]), 0.9, n_rows=10).tolist() == [0.01, 0.1, 0.5]
