"""Families of bounds: increasing, and past the ends of a curve too."""

import numpy as np
import pytest

from censquant._calibration._family import INDICES, BoundFamily, Recalibration
from censquant.quantiles import QuantileCurve
from censquant.survival import Target
from conformal_rows import LEVELS, Simulation, lognormal_curve

CURVE = lognormal_curve(np.array([-1.0, 0.0, 2.0]), 0.7)
SIGNED = QuantileCurve(np.tile(np.linspace(-3, 5, len(LEVELS)), (3, 1)), LEVELS)


@pytest.mark.parametrize("elapsed", [None, 0.5])
@pytest.mark.parametrize("curve", [CURVE, SIGNED], ids=["durations", "signed"])
def test_bounds_increase_with_the_index(curve, elapsed):
    age = None if elapsed is None else np.full(3, elapsed)
    bounds = BoundFamily(curve, age).at(INDICES)
    assert (np.diff(bounds, axis=1) >= 0).all()
    assert np.isfinite(bounds).all()


def test_inside_the_levels_the_index_is_a_level():
    np.testing.assert_array_equal(BoundFamily(CURVE).at([0.1, 0.5]), CURVE.at([0.1, 0.5]))


@pytest.mark.parametrize("curve", [CURVE, SIGNED], ids=["durations", "signed"])
def test_trivial_bounds_do_not_overflow(curve):
    large = QuantileCurve(1e6 * curve.values, curve.taus, curve.lower)
    low, high = BoundFamily(large).at([-np.inf, np.inf]).T
    assert (low == curve.lower).all()
    assert (high == np.inf).all()


def test_below_the_lowest_level_a_unit_of_the_index_divides_by_e():
    low = CURVE.at([LEVELS[0]])
    np.testing.assert_allclose(BoundFamily(CURVE).at([LEVELS[0] - 1.0]), low / np.e)


def test_survivors_have_the_levels_of_survivors():
    age = np.full(3, 0.4)
    expected = CURVE.remaining(age, [0.1, 0.5]) + 0.4
    np.testing.assert_allclose(BoundFamily(CURVE, age).at([0.1, 0.5]), expected, rtol=1e-9)


@pytest.mark.parametrize("elapsed", [None, 0.2])
@pytest.mark.parametrize("curve", [CURVE, SIGNED], ids=["durations", "signed"])
def test_the_index_of_a_bound_is_found_again(curve, elapsed):
    age = None if elapsed is None else np.full(3, elapsed)
    family = BoundFamily(curve, age)
    for index in (-2.0, -0.5, 0.01, 0.3, 0.9, 1.2, 3.0):
        bound = family.at_each(np.full(3, index))
        np.testing.assert_allclose(family.index_of(bound), index, atol=1e-6)


def test_recalibrated_levels_are_those_of_the_events():
    simulation = Simulation(n=6000, seed=1, rate=0.15)
    curve = lognormal_curve(simulation.x + 0.6, 0.5)
    recalibration = Recalibration.fit(curve, simulation.target, np.ones(6000))
    new = recalibration.curve(curve)
    for level in (0.1, 0.3, 0.5, 0.7):
        assert simulation.miscoverage(new.at([level])[:, 0]) == pytest.approx(level, abs=0.02)


def test_levels_that_the_rows_do_not_reach_are_not_identified():
    simulation = Simulation(n=2000, seed=2, rate=1.5)
    curve = lognormal_curve(simulation.x, 1.0)
    recalibration = Recalibration.fit(curve, simulation.target, np.ones(2000))
    assert recalibration.highest < 0.95
    assert (recalibration.curve(curve).reach <= recalibration.highest).all()


def test_a_reach_moves_with_the_levels():
    simulation = Simulation(n=4000, seed=3, rate=0.05)
    late = lognormal_curve(simulation.x + 1.0, 1.0)
    recalibration = Recalibration.fit(late, simulation.target, np.ones(4000))
    reach = recalibration.curve(late.with_reach(np.full(4000, 0.3))).reach
    # What the model calls 30 % has happened to 69 % (a shift of one standard deviation).
    np.testing.assert_allclose(reach, 0.68, atol=0.03)


def test_without_events_a_curve_stays_as_it_is():
    target = Target(np.ones(3), np.zeros(3, dtype=bool))
    recalibration = Recalibration.fit(CURVE, target, np.ones(3))
    np.testing.assert_allclose(recalibration.curve(CURVE).values, CURVE.values)
    assert (recalibration.curve(CURVE).reach == 0).all()
