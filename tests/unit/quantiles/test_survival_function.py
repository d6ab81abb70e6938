import pickle
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from censquant.quantiles import QuantileCurve, SurvivalFunction

CURVE = QuantileCurve([[1.0, 2.0, 4.0], [2.0, 3.0, 4.0]], [0.25, 0.5, 0.75], lower=0.0)


def test_it_is_listed_at_the_quantiles_by_default():
    function = SurvivalFunction(CURVE, 1)
    assert_array_equal(function.x, [2.0, 3.0, 4.0])
    assert_array_equal(function.y, [0.75, 0.5, 0.25])


def test_it_is_listed_at_given_times():
    function = SurvivalFunction(CURVE, 0, times=[0.0, 6.0])
    assert_array_equal(function.x, [0.0, 6.0])
    assert_allclose(function.y, [1.0, 0.125])


def test_it_is_evaluated_from_the_curve_and_not_by_steps():
    function = SurvivalFunction(CURVE, 0, times=[1.0, 4.0])
    assert_array_equal(function([1.5, 3.0]), [0.625, 0.375])


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
def test_it_keeps_the_shape_of_the_times(shape):
    assert SurvivalFunction(CURVE, 0)(np.ones(shape)).shape == shape


def test_it_agrees_with_the_curve_on_every_row():
    times = np.linspace(-1, 20, 50)
    functions = [SurvivalFunction(CURVE, row) for row in range(len(CURVE))]
    assert_array_equal([function(times) for function in functions], CURVE.survival(times))


def test_it_does_not_keep_the_other_rows_alive():
    assert SurvivalFunction(CURVE, 0).x.base is None or len(SurvivalFunction(CURVE, 0).x.base) == 1


def test_pickling_keeps_the_function():
    function = pickle.loads(pickle.dumps(SurvivalFunction(CURVE, 0)))
    assert function(2.0) == 0.5


def test_it_shows_its_times_and_values():
    function = SurvivalFunction(CURVE, 0, times=[1.0])
    assert repr(function) == "SurvivalFunction(x=array([1.]), y=array([0.75]))"


@pytest.mark.parametrize("row", [-1, 2])
def test_a_row_that_is_not_there_is_refused(row):
    with pytest.raises(IndexError, match=re.escape(f"row must be in 0 to 1, got {row}.")):
        SurvivalFunction(CURVE, row)
