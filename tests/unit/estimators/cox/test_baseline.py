"""Baseline hazards: inverses of each other, exposure counted by hand, tails that are finite."""

import numpy as np
import pytest

from censquant.estimators._cox import Baseline, PiecewiseHazard, ProportionalHazards

BASELINE = Baseline(np.array([0.0, 1.0, 1.5, 4.0]), np.array([0.0, 0.2, 1.0, 1.1]), 0.3)


def test_time_and_cumulative_hazard_are_inverse_to_each_other():
    times = np.linspace(0.0, 20.0, 101)
    np.testing.assert_allclose(BASELINE.time_at(BASELINE.cumulative(times)), times, atol=1e-12)


def test_the_hazard_is_constant_after_the_last_event():
    np.testing.assert_allclose(BASELINE.cumulative(np.array([4.0, 5.0, 14.0])), [1.1, 1.4, 4.1])


def test_infinite_times_have_all_or_nothing():
    np.testing.assert_array_equal(BASELINE.cumulative(np.array([-np.inf, np.inf])), [0.0, np.inf])


def test_an_event_at_the_start_is_a_point_mass():
    baseline = Baseline(np.array([-3.0, -3.0, 2.0]), np.array([0.0, 0.5, 1.0]), 1.0)
    np.testing.assert_array_equal(
        baseline.cumulative(np.array([-3.1, -3.0, -0.5])), [0.0, 0.5, 0.75]
    )
    np.testing.assert_array_equal(baseline.time_at(np.array([0.0, 0.3, 0.5])), [-3.0, -3.0, -3.0])


def test_quantiles_and_levels_of_individuals_are_inverse_to_each_other():
    distribution = ProportionalHazards(np.array([0.2, 1.0, 9.0]), BASELINE)
    levels = np.array([1e-9, 0.1, 0.5, 0.9, 0.999])
    np.testing.assert_allclose(
        distribution.cdf(distribution.quantile(levels)), np.tile(levels, (3, 1)), rtol=1e-9
    )
    np.testing.assert_array_equal(
        distribution.take(slice(1, 2)).quantile(levels), distribution.quantile(levels)[1:2]
    )


def test_rates_are_events_over_exposure_drawn_to_their_mean():
    time = np.array([1.0, 2.0, 3.0, 4.0, 6.0])
    event = np.array([True, True, False, True, False])
    weight, risk = np.array([1.0, 1.0, 2.0, 1.0, 1.0]), np.array([1.0, 2.0, 1.0, 0.5, 1.0])
    hazard = PiecewiseHazard.fit(0.0, time, event, weight, risk)
    # Two pieces, cut at the median event time 2, which belongs to the first.
    np.testing.assert_array_equal(hazard.edge, [0.0, 2.0])
    first = 1 * 1 + 2 * 2 + 2 * 2 + 0.5 * 2 + 1 * 2
    second = 2 * 1 + 0.5 * 2 + 1 * 4
    prior = 0.5 * (first + second) / 3
    np.testing.assert_allclose(hazard.rate, [2.5 / (first + prior), 1.5 / (second + prior)])
    np.testing.assert_array_equal(hazard.rate_at(np.array([2.0, 2.1])), hazard.rate)


@pytest.mark.parametrize(("n", "pieces"), [(3, 2), (44, 2), (45, 3), (300, 20), (900, 20)])
def test_there_are_fifteen_events_per_piece_and_two_to_twenty_pieces(n, pieces):
    time = np.random.default_rng(0).exponential(size=n)
    hazard = PiecewiseHazard.fit(0.0, time, np.ones(n, bool), np.ones(n), np.ones(n))
    assert len(hazard.rate) == pieces


def test_the_cumulative_hazard_is_the_integral_of_the_rate():
    rng = np.random.default_rng(1)
    time = rng.exponential(size=200)
    hazard = PiecewiseHazard.fit(0.0, time, rng.uniform(size=200) < 0.7, np.ones(200), np.ones(200))
    grid = np.linspace(0.0, 8.0, 400_001)
    middle = 0.5 * (grid[1:] + grid[:-1])
    integral = np.cumsum(hazard.rate_at(middle)) * (grid[1] - grid[0])
    np.testing.assert_allclose(hazard.cumulative(grid[1:]), integral, atol=1e-4)
    assert hazard.cumulative(np.array([-1.0]))[0] == 0.0


def test_rates_of_exponential_times_are_about_one():
    time = np.random.default_rng(2).exponential(size=20_000)
    end = np.random.default_rng(3).uniform(0.0, 3.0, size=20_000)
    seen, event = np.minimum(time, end), time <= end
    rate = PiecewiseHazard.fit(0.0, seen, event, np.ones(20_000), np.ones(20_000)).rate
    np.testing.assert_allclose(rate, 1.0, atol=0.15)


@pytest.mark.parametrize("now", [0.0, -3.0])
def test_times_that_are_all_at_the_start_have_finite_rates(now):
    hazard = PiecewiseHazard.fit(now, np.full(9, now), np.ones(9, bool), np.ones(9), np.ones(9))
    assert np.isfinite(hazard.rate).all()
    assert (hazard.rate > 0).all()
