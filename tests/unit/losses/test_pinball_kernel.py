import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant._engine.losses._grid import pinball
from oracles import slow_pinball
from strategies import loss_rows

TOLERANCE = {np.float64: 1e-10, np.float32: 1e-5}


@pytest.mark.parametrize("dtype", TOLERANCE)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_value_and_gradient_are_those_of_the_definition(dtype, data):
    rows = data.draw(loss_rows(dtype=dtype))
    gradient = np.full_like(rows.predicted, np.nan)
    loss = pinball(rows.predicted, rows.time, rows.weight, rows.taus, gradient)
    expected_loss, expected_gradient = slow_pinball(
        rows.predicted, rows.time, rows.weight, rows.taus
    )
    assert gradient.dtype == dtype
    assert loss == pytest.approx(expected_loss, rel=TOLERANCE[dtype], abs=TOLERANCE[dtype])
    np.testing.assert_allclose(
        gradient, expected_gradient, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
    )


def test_a_prediction_that_hits_the_time_costs_nothing_and_is_pushed_up():
    gradient = np.empty((1, 1))
    loss = pinball(np.array([[2.0]]), np.array([2.0]), np.ones(1), np.array([0.25]), gradient)
    assert loss == 0
    np.testing.assert_array_equal(gradient, [[-0.25]])


def test_the_mean_divides_by_the_number_of_rows_and_not_by_the_weights():
    gradient = np.empty((2, 1))
    loss = pinball(
        np.array([[1.0], [1.0]]),
        np.array([3.0, 3.0]),
        np.array([3.0, 0.0]),
        np.array([0.5]),
        gradient,
    )
    assert loss == pytest.approx(1.5)
    np.testing.assert_allclose(gradient, [[-0.75], [0.0]])


def test_the_constant_with_the_lowest_loss_is_the_sample_quantile():
    time = np.random.default_rng(0).gamma(2.0, size=101)
    losses = [
        pinball(np.full((101, 1), value), time, np.ones(101), np.array([0.3]), np.empty((101, 1)))
        for value in np.sort(time)
    ]
    assert np.argmin(losses) == 30
