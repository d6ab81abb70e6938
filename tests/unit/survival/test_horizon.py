import numpy as np
import pytest

from censquant.survival._kaplan_meier import default_horizon


def test_one_in_twenty_is_still_at_risk_at_the_horizon_and_fewer_past_it():
    time = np.random.default_rng(0).exponential(size=997)
    horizon = default_horizon(time)
    assert np.mean(time >= horizon) >= 0.05
    assert np.mean(time > horizon) < 0.05


def test_a_share_that_is_met_exactly_is_enough():
    assert default_horizon(np.arange(1.0, 41.0)) == 39.0


def test_few_individuals_are_followed_to_the_last_time():
    assert default_horizon([3.0, 1.0]) == 3.0


def test_a_weight_counts_as_equal_individuals():
    time, weight = np.array([1.0, 2.0, 3.0, 4.0]), np.array([10, 30, 0, 1])
    assert default_horizon(time, weight) == default_horizon(np.repeat(time, weight)) == 2.0


def test_missing_times_are_refused():
    with pytest.raises(ValueError, match=r"^time contains NaN"):
        default_horizon([1.0, np.nan])


def test_left_censored_times_have_their_horizon_at_the_other_end():
    time = np.random.default_rng(0).exponential(size=300)
    assert default_horizon(time, left=True) == -default_horizon(-time)
