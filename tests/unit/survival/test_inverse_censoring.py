import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sksurv.nonparametric import CensoringDistributionEstimator

from censquant.survival import Surv, censoring_kaplan_meier, kaplan_meier
from censquant.survival._kaplan_meier import follow_up_limit, inverse_censoring_weights
from oracles import loop_censoring_kaplan_meier, step_value
from strategies import repetitions, survival_data

few = settings(max_examples=40, deadline=None)


def simulate(n, seed):
    """Exponential times of mean 1 under uniform censoring that leaves every time a chance."""
    rng = np.random.default_rng(seed)
    target = np.minimum(rng.exponential(size=n), 3.0)
    censoring = rng.uniform(0, 6, size=n)
    return target, np.minimum(target, censoring), target <= censoring


def test_hand_computed_weights():
    weights = inverse_censoring_weights([1, 2, 2, 3, 4], [1, 0, 1, 0, 1])
    np.testing.assert_allclose(weights, [1, 0, 1, 0, 3], rtol=1e-15)


@few
@given(data=survival_data())
def test_weights_sum_to_the_number_of_rows_without_censoring(data):
    time, event = data
    np.testing.assert_array_equal(inverse_censoring_weights(time, np.ones_like(event)), 1.0)


@few
@given(data=survival_data())
def test_censored_rows_weigh_nothing_and_events_one_or_more(data):
    time, event = data
    weights = inverse_censoring_weights(time, event)
    assert not weights[~event].any()
    assert (weights[event] >= 1).all()


@few
@given(data=st.data())
def test_weights_divide_by_the_slow_curve_just_before_the_event(data):
    time, event = data.draw(survival_data())
    counts = data.draw(repetitions(len(time)))
    steps = loop_censoring_kaplan_meier(time, event, counts)
    chance = np.array([step_value(*steps, t, before=True) for t in time])
    weights = inverse_censoring_weights(time, event, floor=0.3, sample_weight=counts)
    np.testing.assert_allclose(weights, event / np.maximum(chance, 0.3), rtol=1e-12)


@few
@given(data=survival_data(min_events=1))
def test_weighted_events_rebuild_the_kaplan_meier_curve(data):
    time, event = data
    weights = inverse_censoring_weights(time, event, floor=0)
    curve = kaplan_meier(time, event)
    rebuilt = [weights[time <= t].sum() / len(time) for t in curve.time]
    np.testing.assert_allclose(rebuilt, 1 - curve.survival, atol=1e-12)


def test_scikit_survival_agrees_where_times_do_not_tie():
    _, time, event = simulate(200, seed=0)
    y = Surv.from_arrays(event, time)
    expected = CensoringDistributionEstimator().fit(y).predict_ipcw(y)
    np.testing.assert_allclose(
        inverse_censoring_weights(time, event, floor=0), expected, rtol=1e-12
    )


def test_the_mean_weight_is_close_to_one():
    _, time, event = simulate(20_000, seed=1)
    weights = inverse_censoring_weights(time, event, floor=0)
    assert abs(weights.mean() - 1) < 3 * weights.std() / np.sqrt(20_000)


def test_weighted_events_recover_the_mean_of_the_event_time():
    target, time, event = simulate(20_000, seed=2)
    weights = inverse_censoring_weights(time, event, floor=0)
    truth = 1 - np.exp(-3.0)
    error = 3 * (weights * time).std() / np.sqrt(20_000)
    assert abs((weights * time).mean() - truth) < error
    assert abs(time[event].mean() - truth) > 5 * error
    assert abs(target.mean() - truth) < error


def test_the_curve_of_other_rows_is_used_where_given():
    curve = censoring_kaplan_meier([1, 2, 3, 4], [0, 0, 1, 1])
    weights = inverse_censoring_weights([0.5, 1.5, 9.0, 9.0], [1, 1, 1, 0], curve=curve)
    np.testing.assert_allclose(weights, [1, 4 / 3, 2, 0], rtol=1e-15)


def test_the_floor_bounds_the_weights():
    curve = censoring_kaplan_meier([1, 2], [0, 0])
    weights = inverse_censoring_weights([1.5, 3.0], [1, 1], curve=curve, floor=0.1)
    np.testing.assert_array_equal(weights, [2.0, 10.0])


def test_the_default_floor_is_two_percent():
    curve = censoring_kaplan_meier([1], [0])
    assert inverse_censoring_weights([2.0], [1], curve=curve)[0] == 50.0


def test_an_infinite_weight_is_refused():
    curve = censoring_kaplan_meier([1, 2], [0, 0])
    message = (
        "floor must be positive where the censoring curve falls to 0, got 0 and 2 events past "
        "that point, the first in row 2."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        inverse_censoring_weights([3, 1, 4, 5], [0, 1, 1, 1], curve=curve, floor=0)


@pytest.mark.parametrize("floor", [-0.1, 1.5, np.nan])
def test_a_floor_that_is_no_chance_is_refused(floor):
    message = f"floor must be in [0, 1], got {floor!r}."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        inverse_censoring_weights([1], [1], floor=floor)


def test_weights_of_rows_cannot_go_with_a_ready_curve():
    message = (
        "sample_weight must be None where curve is given, since it only weights the rows that "
        "the curve is estimated from."
    )
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        inverse_censoring_weights(
            [1], [1], curve=censoring_kaplan_meier([1], [1]), sample_weight=[1]
        )


@few
@given(data=survival_data())
def test_follow_up_ends_with_the_last_row_of_either_kind(data):
    time, event = data
    assert follow_up_limit(time, event) == max(time)
    assert isinstance(follow_up_limit(time, event), float)


def test_the_limit_of_rows_that_are_no_target_is_refused():
    message = "time and event must have the same length, got 1 times and 2 events."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        follow_up_limit([1], [1, 0])
