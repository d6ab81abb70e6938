import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant._engine.losses._grid import pinball, powell
from oracles import slow_powell
from strategies import loss_rows

TOLERANCE = {np.float64: 1e-10, np.float32: 1e-5}
NEVER = 1e30


def value_and_gradient(rows, limit):
    gradient = np.full_like(rows.predicted, np.nan)
    loss = powell(rows.predicted, rows.time, limit, rows.weight, rows.taus, gradient)
    return loss, gradient


@pytest.mark.parametrize("dtype", TOLERANCE)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_value_and_gradient_are_those_of_the_cut_prediction(dtype, data):
    rows = data.draw(loss_rows(dtype=dtype))
    longer = data.draw(
        st.lists(st.integers(0, 8), min_size=len(rows.time), max_size=len(rows.time))
    )
    limit = np.where(rows.event, rows.time + dtype(0.25) * np.array(longer), rows.time)
    limit = limit.astype(dtype)
    loss, gradient = value_and_gradient(rows, limit)
    expected_loss, expected = slow_powell(rows.predicted, rows.time, limit, rows.weight, rows.taus)
    assert gradient.dtype == dtype
    assert loss == pytest.approx(expected_loss, rel=TOLERANCE[dtype], abs=TOLERANCE[dtype])
    np.testing.assert_allclose(gradient, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@settings(max_examples=30, deadline=None)
@given(rows=loss_rows(dtype=np.float32))
def test_without_any_censoring_it_is_the_check_loss(rows):
    loss, gradient = value_and_gradient(rows, np.full_like(rows.time, NEVER))
    plain = np.empty_like(gradient)
    expected = pinball(rows.predicted, rows.time, rows.weight, rows.taus, plain)
    assert loss == pytest.approx(expected, rel=1e-6, abs=1e-6)
    np.testing.assert_array_equal(gradient, plain)


def test_a_censored_row_pushes_up_until_the_prediction_reaches_it():
    predicted = np.array([[2.0], [2.75], [3.0], [7.0]])
    time = limit = np.full(4, 3.0)
    gradient = np.full((4, 1), np.nan)
    loss = powell(predicted, time, limit, np.ones(4), np.array([0.25]), gradient)
    np.testing.assert_array_equal(gradient[:, 0], [-0.0625, -0.0625, 0.0, 0.0])
    assert loss == pytest.approx(0.25 * (1.0 + 0.25) / 4)


def test_an_event_pulls_down_below_its_limit_and_not_beyond():
    predicted = np.array([[4.0], [5.5]])
    time, limit, gradient = np.full(2, 1.0), np.full(2, 5.0), np.full((2, 1), np.nan)
    loss = powell(predicted, time, limit, np.ones(2), np.array([0.25]), gradient)
    np.testing.assert_array_equal(gradient[:, 0], [0.375, 0.0])
    # The second prediction costs what one at its limit would.
    assert loss == pytest.approx(0.75 * (3.0 + 4.0) / 2)


def test_the_mean_divides_by_the_number_of_rows_and_not_by_the_weights():
    gradient = np.empty((2, 1))
    loss = powell(
        np.ones((2, 1)),
        np.array([3.0, 3.0]),
        np.array([9.0, 9.0]),
        np.array([3.0, 0.0]),
        np.array([0.5]),
        gradient,
    )
    assert loss == pytest.approx(1.5)
    np.testing.assert_allclose(gradient, [[-0.75], [0.0]])
