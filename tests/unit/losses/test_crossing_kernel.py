import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant._engine.losses._grid import add_crossing_penalty
from oracles import slow_crossing_penalty
from strategies import loss_rows

TOLERANCE = {np.float64: 1e-10, np.float32: 1e-5}


@pytest.mark.parametrize("dtype", TOLERANCE)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_value_and_gradient_are_those_of_the_definition(dtype, data):
    rows = data.draw(loss_rows(dtype=dtype))
    # A margin off the grid of the values: at the kink both slopes would be right.
    margin = data.draw(st.sampled_from([0.0625, 0.9375]))
    before = np.full_like(rows.predicted, 0.5)
    gradient = before.copy()
    penalty = add_crossing_penalty(rows.predicted, rows.weight, margin, 2.5, gradient)
    expected_penalty, expected = slow_crossing_penalty(rows.predicted, rows.weight, margin, 2.5)
    assert penalty == pytest.approx(expected_penalty, rel=TOLERANCE[dtype], abs=TOLERANCE[dtype])
    np.testing.assert_allclose(
        gradient - before, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
    )


def test_quantiles_that_keep_their_distance_cost_nothing():
    gradient = np.zeros((1, 3))
    predicted = np.array([[1.0, 1.25, 3.0]])
    assert add_crossing_penalty(predicted, np.ones(1), 0.25, 9.0, gradient) == 0
    np.testing.assert_array_equal(gradient, 0)
