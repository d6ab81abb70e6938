import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter
from scipy.stats import binomtest
from sksurv.nonparametric import CensoringDistributionEstimator, kaplan_meier_estimator

from censquant.survival import KaplanMeier, Surv, censoring_kaplan_meier, kaplan_meier
from censquant.survival._kaplan_meier import default_horizon, inverse_censoring_weights
from oracles import loop_censoring_kaplan_meier, loop_kaplan_meier, step_value
from strategies import repetitions, survival_data

CURVES = {kaplan_meier: loop_kaplan_meier, censoring_kaplan_meier: loop_censoring_kaplan_meier}
few = settings(max_examples=40, deadline=None)


def test_a_hand_computed_curve():
    curve = kaplan_meier([3, 1, 4, 1, 2, 3], [1, 1, 0, 0, 1, 1])
    np.testing.assert_array_equal(curve.time, [1, 2, 3, 4])
    np.testing.assert_array_equal(curve.n_at_risk, [6, 4, 3, 1])
    np.testing.assert_array_equal(curve.n_events, [1, 1, 2, 0])
    np.testing.assert_array_equal(curve.n_censored, [1, 0, 0, 1])
    expected = [5 / 6, 5 / 6 * 3 / 4, 5 / 6 * 3 / 4 / 3, 5 / 6 * 3 / 4 / 3]
    np.testing.assert_allclose(curve.survival, expected, rtol=1e-15)


def test_a_hand_computed_censoring_curve():
    curve = censoring_kaplan_meier([3, 1, 4, 1, 2, 3], [1, 1, 0, 0, 1, 1])
    np.testing.assert_array_equal(curve.n_at_risk, [5, 3, 1, 1])
    np.testing.assert_array_equal(curve.n_events, [1, 0, 0, 1])
    np.testing.assert_array_equal(curve.n_censored, [1, 1, 2, 0])
    np.testing.assert_allclose(curve.survival, [4 / 5, 4 / 5, 4 / 5, 0], rtol=1e-15)


def test_a_row_censored_at_the_time_of_an_event_is_at_risk_for_it():
    assert kaplan_meier([2, 2], [1, 0])(2.0) == 0.5


def test_an_event_at_the_time_of_a_censoring_is_not_at_risk_for_it():
    assert censoring_kaplan_meier([2, 2, 3], [1, 0, 1])(2.0) == 0.5


@pytest.mark.parametrize("estimate", CURVES)
@few
@given(data=st.data())
def test_fast_and_slow_versions_agree(estimate, data):
    time, event = data.draw(survival_data())
    weight = data.draw(repetitions(len(time))) * 0.7
    for weights in (None, weight):
        curve = estimate(time, event, weights)
        times, survival = CURVES[estimate](time, event, weights)
        np.testing.assert_array_equal(curve.time, times)
        np.testing.assert_allclose(curve.survival, survival, rtol=1e-12, atol=1e-15)


@few
@given(data=survival_data(min_events=1))
def test_lifelines_agrees(data):
    time, event = data
    curve = kaplan_meier(time, event)
    fitter = KaplanMeierFitter().fit(time, event)
    expected = fitter.survival_function_at_times(curve.time).to_numpy()
    np.testing.assert_allclose(curve.survival, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("estimate", CURVES)
@few
@given(data=survival_data(min_events=1))
def test_scikit_survival_agrees_at_ties(estimate, data):
    time, event = data
    curve = estimate(time, event)
    times, survival = kaplan_meier_estimator(
        event, time, reverse=estimate is censoring_kaplan_meier
    )
    np.testing.assert_array_equal(curve.time, times)
    np.testing.assert_allclose(curve.survival, survival, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("estimate", CURVES)
@few
@given(data=st.data())
def test_a_weight_counts_as_that_many_rows(estimate, data):
    time, event = data.draw(survival_data())
    counts = data.draw(repetitions(len(time)))
    weighted = estimate(time, event, counts)
    repeated = estimate(np.repeat(time, counts), np.repeat(event, counts))
    for field in ("time", "survival", "n_at_risk", "n_events", "n_censored"):
        np.testing.assert_array_equal(getattr(weighted, field), getattr(repeated, field))


@few
@given(data=survival_data())
def test_the_two_curves_multiply_to_the_share_still_followed(data):
    time, event = data
    at = np.unique(time)
    followed = (time[None] > at[:, None]).mean(axis=1)
    product = kaplan_meier(time, event)(at) * censoring_kaplan_meier(time, event)(at)
    np.testing.assert_allclose(product, followed, atol=1e-12)


@few
@given(data=survival_data())
def test_without_censoring_the_curve_is_the_empirical_one(data):
    time, event = data
    curve = kaplan_meier(time, np.ones_like(event))
    share = (time[None] > curve.time[:, None]).mean(axis=1)
    np.testing.assert_allclose(curve.survival, share, atol=1e-14)
    assert curve.survival[-1] == 0


@pytest.mark.parametrize("side", ["left", "right"])
@few
@given(data=survival_data())
def test_evaluation_follows_the_steps(side, data):
    time, event = data
    curve = kaplan_meier(time, event)
    at = np.concatenate([curve.time, curve.time + 0.01, [-1.0, 0.0, 1e9]])
    expected = [step_value(curve.time, curve.survival, t, before=side == "left") for t in at]
    np.testing.assert_array_equal(curve(at, side=side), expected)


def test_evaluation_keeps_any_shape():
    curve = kaplan_meier([1, 2, 3, 4], [1, 1, 1, 1])
    np.testing.assert_array_equal(curve([[0.0, 1.0], [2.5, 9.0]]), [[1.0, 0.75], [0.5, 0.0]])
    assert curve(2.5).shape == ()
    assert curve([]).shape == (0,)


def test_the_curve_at_a_missing_time_is_missing():
    np.testing.assert_array_equal(kaplan_meier([1.0], [1])([np.nan, 2.0]), [np.nan, 0.0])


def test_infinite_times_are_before_and_after_all_steps():
    curve = kaplan_meier([1, 2], [1, 0])
    np.testing.assert_array_equal(curve([-np.inf, np.inf]), [1.0, 0.5])


@few
@given(data=st.data())
def test_a_quantile_is_the_first_time_that_reaches_its_level(data):
    time, event = data.draw(survival_data())
    level = data.draw(st.sampled_from([0.01, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.75, 0.9, 0.99]))
    times, survival = loop_kaplan_meier(time, event)
    reached = [t for t, s in zip(times, survival, strict=True) if 1 - s >= level - 1e-9]
    assert kaplan_meier(time, event).quantile(level) == (reached[0] if reached else np.inf)


@pytest.mark.parametrize("n", [3, 7, 10, 49, 1000])
def test_rounding_never_skips_a_level_that_is_reached_exactly(n):
    curve = kaplan_meier(np.arange(1, n + 1), np.ones(n))
    levels = np.arange(1, n) / n
    np.testing.assert_array_equal(curve.quantile(levels), np.arange(1, n))


def test_a_quantile_that_follow_up_did_not_reach_is_infinite():
    curve = kaplan_meier([1, 2, 3, 4], [1, 0, 1, 0])
    np.testing.assert_array_equal(curve.quantile([[0.25, 0.6], [0.7, 0.9]]), [[1, 3], [np.inf] * 2])


def test_a_zero_weight_leaves_the_row_out():
    curve = kaplan_meier([1, 2, 9], [1, 1, 1], [1, 1, 0])
    np.testing.assert_array_equal(curve.time, [1, 2])


def test_the_tail_of_a_weighted_curve_falls_to_zero_exactly():
    rng = np.random.default_rng(0)
    time, weight = np.sort(rng.exponential(size=500)), rng.uniform(0.1, 3, size=500)
    assert kaplan_meier(time, np.ones(500), weight).survival[-1] == 0.0
    assert censoring_kaplan_meier(time, np.zeros(500), weight).survival[-1] == 0.0


@pytest.mark.parametrize("levels", [0.0, 1.0, -0.5, np.nan])
def test_levels_outside_the_unit_interval_are_refused(levels):
    message = f"levels must be inside (0, 1), got {levels:g}."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        kaplan_meier([1], [1]).quantile([0.5, levels])


def test_an_unknown_side_is_refused():
    message = "side must be 'right' or 'left', got 'both'."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        kaplan_meier([1], [1])(1.0, side="both")


@pytest.mark.parametrize("estimate", CURVES)
def test_rows_are_checked_as_targets_are(estimate):
    message = "time and event must have the same length, got 2 times and 1 events."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        estimate([1, 2], [1])
    message = "sample_weight must hold a positive value, got only zeros."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        estimate([1, 2], [1, 0], [0, 0])


def test_a_curve_cannot_be_changed():
    curve = kaplan_meier([1], [1])
    assert isinstance(curve, KaplanMeier)
    with pytest.raises(AttributeError):
        curve.time = curve.survival


def test_the_standard_error_is_lifelines_greenwood():
    rng = np.random.default_rng(3)
    time, event = rng.integers(1, 30, size=80).astype(float), rng.random(80) < 0.6
    curve = kaplan_meier(time, event)
    fitted = KaplanMeierFitter().fit(time, event)
    terms = fitted.event_table
    left = terms["at_risk"] - terms["observed"]
    steps = np.where(left > 0, terms["observed"] / (terms["at_risk"] * left.replace(0, 1)), 0.0)
    expected = fitted.survival_function_.iloc[:, 0].to_numpy() * np.sqrt(np.cumsum(steps))
    np.testing.assert_allclose(curve.standard_error(fitted.timeline), expected)


def test_the_standard_error_without_censoring_is_that_of_a_share():
    curve = kaplan_meier([1, 2, 3, 4], [1, 1, 1, 1])
    np.testing.assert_allclose(
        curve.standard_error([0.5, 1.0, 2.5, 4.0, np.nan]),
        [0.0, np.sqrt(0.75 * 0.25 / 4), 0.25, 0.0, np.nan],
    )


@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_limits_are_those_of_lifelines_and_close_where_nothing_is_uncertain(confidence):
    rng = np.random.default_rng(3)
    time, event = rng.weibull(1.5, 80).round(2) + 0.01, rng.uniform(size=80) < 0.6
    curve, other = kaplan_meier(time, event), KaplanMeierFitter(alpha=1 - confidence)
    expected = other.fit(time, event).confidence_interval_.to_numpy()[1:]
    inside = (curve.survival > 0) & (curve.survival < 1)
    low, high = curve.limits(curve.time, confidence)
    np.testing.assert_allclose(np.column_stack((low, high))[inside], expected[inside], rtol=1e-9)
    assert curve.limits(0.0) == (1.0, 1.0)


def test_limits_without_events_are_the_exact_binomial_ones_of_the_rows_at_risk():
    time, event = np.arange(1.0, 31.0), np.zeros(30, dtype=bool)
    low, high = kaplan_meier(time, event).limits([10.0, 30.0, 40.0])
    # At 10 days 21 of 30 rows are at risk; none had the event.
    expected = [binomtest(21, 21).proportion_ci().low, binomtest(1, 1).proportion_ci().low, 0.0]
    np.testing.assert_allclose(low, expected, rtol=1e-9)
    assert high.tolist() == [1.0, 1.0, 1.0]
    # All rows had the event at once.
    low, high = kaplan_meier([5.0] * 12, [True] * 12).limits([5.0, 6.0])
    assert low.tolist() == [0.0, 0.0]
    np.testing.assert_allclose(high, binomtest(0, 12).proportion_ci().high, rtol=1e-9)


def test_limits_of_few_events_cover_the_truth():
    rng, inside = np.random.default_rng(0), []
    for _ in range(500):
        life, end = rng.exponential(100.0, 40), rng.uniform(0.0, 6.0, 40)
        low, high = kaplan_meier(np.minimum(life, end), life <= end).limits(3.0)
        assert high - low > 0.05
        inside.append(low <= np.exp(-0.03) <= high)
    assert np.mean(inside) > 0.92


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
