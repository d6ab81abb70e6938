import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from censquant.metrics import pit_band, pit_curve, pit_histogram
from strategies import survival_data

TAUS = np.arange(1, 20) / 20
few = settings(max_examples=40, deadline=None)


def weibull_quantiles(scale, levels):
    """Quantiles of a Weibull time of shape 1.5, one row for each scale."""
    return scale[:, None] * (-np.log1p(-np.asarray(levels))) ** (1 / 1.5)


def simulate(n, seed, censoring_mean):
    """Weibull times whose scale depends on a feature, under independent censoring."""
    rng = np.random.default_rng(seed)
    scale = np.exp(rng.uniform(-1, 1, size=n))
    target = scale * rng.weibull(1.5, size=n)
    censoring = rng.exponential(censoring_mean, size=n)
    return scale, np.minimum(target, censoring), target <= censoring


@pytest.mark.parametrize(("censoring_mean", "censored"), [(2.6, 0.3), (0.8, 0.6)])
def test_the_true_quantiles_are_calibrated_under_censoring(censoring_mean, censored):
    n = 4000
    scale, time, event = simulate(n, 7, censoring_mean)
    assert abs(1 - event.mean() - censored) < 0.05
    # Fine enough for the linear pieces between quantiles to be no error of their own.
    grid = np.arange(1, 200) / 200
    levels, observed = pit_curve(
        (time, event), weibull_quantiles(scale, grid), grid, levels=TAUS[:15]
    )
    # Censored rows carry less than a whole one; the events alone give a safe error.
    error = np.sqrt(levels * (1 - levels) / event.sum())
    assert (np.abs(observed - levels) < 3 * error).all()


def test_predictions_that_are_too_late_lie_above_the_diagonal():
    scale, time, event = simulate(4000, 8, 2.6)
    late = 1.5 * weibull_quantiles(scale, TAUS)
    levels, observed = pit_curve((time, event), late, TAUS)
    assert (observed[2:16] > levels[2:16] + 0.05).all()


def test_predictions_that_are_too_early_lie_below_the_diagonal():
    scale, time, event = simulate(4000, 9, 2.6)
    early = 0.6 * weibull_quantiles(scale, TAUS)
    levels, observed = pit_curve((time, event), early, TAUS)
    assert (observed[2:16] < levels[2:16] - 0.05).all()


@few
@given(data=survival_data(), seed=st.integers(0, 1000))
def test_without_censoring_the_share_below_each_quantile_is_counted(data, seed):
    time, _ = data
    taus = np.array([0.2, 0.5, 0.9])
    rng = np.random.default_rng(seed)
    predicted = np.cumsum(rng.uniform(0.1, 1, size=(len(time), 3)) * time.max() / 2, axis=1)
    _, observed = pit_curve(time, predicted, taus)
    counted = (time[:, None] <= predicted).mean(axis=0)
    np.testing.assert_allclose(observed, counted, atol=1e-12)


def test_a_time_equal_to_a_quantile_counts_as_reached():
    taus = np.array([0.1, 0.3, 0.7])
    _, observed = pit_curve([1.0, 2.0, 3.0, 4.0], [[1.0, 2.0, 3.0]] * 4, taus)
    np.testing.assert_allclose(observed, [0.25, 0.5, 0.75], rtol=1e-15)


def test_censored_rows_count_until_they_leave():
    # The row censored at 1.5 is at risk for the event at 0.5 and not for the one at 2.5.
    y = ([0.5, 1.5, 2.5, 9.0], [1, 0, 1, 1])
    _, observed = pit_curve(y, [[1.0, 2.0, 3.0]] * 4, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(observed, [0.25, 0.25, 1 - 0.75 * 0.5], rtol=1e-15)


def test_crossed_predictions_are_sorted():
    y = ([0.5, 1.5, 2.5], [1, 1, 0])
    straight = pit_curve(y, [[1.0, 2.0, 3.0]] * 3, [0.25, 0.5, 0.75])
    crossed = pit_curve(y, [[3.0, 1.0, 2.0]] * 3, [0.25, 0.5, 0.75])
    np.testing.assert_array_equal(straight, crossed)


def test_events_past_the_last_quantile_are_not_counted_at_its_level():
    _, observed = pit_curve([1.0, 5.0, 6.0, 7.0], [[2.0, 3.0]] * 4, [0.5, 0.8])
    np.testing.assert_array_equal(observed, [0.25, 0.25])


def test_events_on_a_last_quantile_that_repeats_count_at_its_level():
    _, observed = pit_curve([3.0, 5.0], [[2.0, 3.0, 3.0]] * 2, [0.2, 0.5, 0.8])
    np.testing.assert_array_equal(observed, [0.0, 0.0, 0.5])


def test_times_before_the_first_quantile_are_read_on_the_prolonged_segment():
    # The first segment, 0.2 a unit, meets level 0 at time 1: 1.5 is at level 0.1.
    levels, observed = pit_curve([0.0, 1.5, 9.0], [[2.0, 3.0]] * 3, [0.2, 0.4], levels=[0.05, 0.1])
    np.testing.assert_array_equal(levels, [0.05, 0.1])
    np.testing.assert_allclose(observed, [1 / 3, 2 / 3], rtol=1e-15)


def test_levels_may_come_in_any_order():
    levels, observed = pit_curve([1.0, 2.5, 9.0], [[2.0, 3.0]] * 3, [0.2, 0.4], levels=[0.4, 0.2])
    np.testing.assert_array_equal(levels, [0.4, 0.2])
    np.testing.assert_allclose(observed, [2 / 3, 1 / 3], rtol=1e-15)


def test_a_level_that_follow_up_did_not_reach_is_unknown():
    y = ([0.5, 1.5, 1.5], [1, 0, 0])
    _, observed = pit_curve(y, [[1.0, 2.0, 3.0]] * 3, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(observed, [1 / 3, np.nan, np.nan], rtol=1e-15)


def test_all_events_before_a_level_make_it_certain():
    _, observed = pit_curve([0.5, 0.6], [[1.0, 2.0]] * 2, [0.25, 0.5])
    np.testing.assert_array_equal(observed, [1.0, 1.0])


@few
@given(data=survival_data(), seed=st.integers(0, 1000))
def test_the_curve_never_falls(data, seed):
    rng = np.random.default_rng(seed)
    time, event = data
    predicted = rng.uniform(0, 1.5 * time.max(), size=(len(time), TAUS.size))
    _, observed = pit_curve((time, event), predicted, TAUS)
    known = observed[~np.isnan(observed)]
    assert (np.diff(known) >= 0).all()
    assert ((known >= 0) & (known <= 1)).all()
    assert np.isnan(observed[len(known) :]).all()


@pytest.mark.parametrize(
    ("predicted", "taus", "options", "message"),
    [
        (
            [[1.0], [2.0]],
            [0.5],
            {},
            "taus must hold two levels or more, since the level of a time is read between "
            "quantiles, got 1.",
        ),
        (
            [[1.0, 2.0]] * 3,
            [0.2, 0.8],
            {},
            "predicted must have one row for each row of y and one column for each of taus, "
            "shape (2, 2), got shape (3, 2).",
        ),
        (
            [1.0, 2.0],
            [0.2, 0.8],
            {},
            "predicted must have one row for each row of y and one column for each of taus, "
            "shape (2, 2), got shape (2,).",
        ),
        (
            [[1.0, 2.0], [1.0, np.inf]],
            [0.2, 0.8],
            {},
            "predicted must be finite, got NaN or infinity in 1 of 2 rows, the first in row 1.",
        ),
        (
            [[1.0, 2.0]] * 2,
            [0.2, 0.8],
            {"levels": [0.5, 0.9]},
            "levels must not exceed 0.8, the highest of taus, got 0.9.",
        ),
        (
            [[1.0, 2.0]] * 2,
            [0.8, 0.2],
            {},
            "taus must be strictly increasing and inside (0, 1), got (0.8, 0.2).",
        ),
    ],
)
def test_what_makes_no_curve_is_refused(predicted, taus, options, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        pit_curve([1.0, 2.0], predicted, taus, **options)


def test_the_band_is_greenwoods_and_holds_the_shares_of_the_true_model():
    rng = np.random.default_rng(0)
    inside = np.zeros(3)
    for _ in range(200):
        event_time, censoring = rng.uniform(size=300), rng.uniform(0, 1.5, size=300)
        y = np.minimum(event_time, censoring), event_time <= censoring
        low, high = pit_band(y, np.tile([0.2, 0.5, 0.8], (300, 1)), [0.2, 0.5, 0.8])
        inside += (low <= [0.2, 0.5, 0.8]) & (high >= [0.2, 0.5, 0.8])
    # Three standard errors of a share of 0.95 among 200.
    assert_allclose(inside / 200, 0.95, atol=0.047)


def test_without_censoring_the_band_is_that_of_a_share():
    time = np.arange(1, 101) / 100
    low, high = pit_band(time, np.tile([0.3, 0.6], (100, 1)), [0.3, 0.6], confidence=0.9)
    half = 1.6448536 * np.sqrt(np.array([0.3, 0.6]) * [0.7, 0.4] / 100)
    assert_allclose(low, np.array([0.3, 0.6]) - half)
    assert_allclose(high, np.array([0.3, 0.6]) + half)


def test_the_band_is_unknown_where_the_shares_are():
    y = [1.0, 1.5], [True, False]
    _, observed = pit_curve(y, [[2.0, 3.0]] * 2, [0.5, 0.8])
    low, high = pit_band(y, [[2.0, 3.0]] * 2, [0.5, 0.8])
    assert_array_equal(np.isnan(low), np.isnan(observed))
    assert_array_equal(np.isnan(high), np.isnan(observed))


def exponential(n, seed, factor=1.0, end=np.inf):
    """Times with their true quantiles, the times multiplied by a factor, censored at random."""
    rng = np.random.default_rng(seed)
    scale = rng.uniform(0.5, 2.0, size=n)
    time = factor * scale * rng.exponential(size=n)
    censoring = end * rng.exponential(size=n) if np.isfinite(end) else np.full(n, np.inf)
    y = np.minimum(time, censoring), time <= censoring
    return y, np.outer(scale, -np.log1p(-TAUS))


def test_densities_are_the_increments_of_the_curve_of_levels():
    y, predicted = exponential(300, 0, end=2.0)
    found = pit_histogram(y, predicted, TAUS)
    _, observed = pit_curve(y, predicted, TAUS, levels=found.edges[1:])
    assert_allclose(found.density, np.diff(np.append(0.0, observed)) / np.diff(found.edges))


def test_bins_end_at_the_last_level():
    y, predicted = exponential(100, 0)
    assert_allclose(pit_histogram(y, predicted, TAUS).edges, [*np.arange(10) / 10, 0.95])
    assert_allclose(pit_histogram(y, predicted, TAUS, n_bins=20).edges, np.arange(20) / 20)


def test_without_censoring_the_band_is_that_of_a_binomial_share():
    y, predicted = exponential(250, 0)
    found = pit_histogram(y, predicted, TAUS, n_bins=20)
    share = 1 / 20
    reach = 1.959964 * np.sqrt(share * (1 - share) / 250) / share
    assert_allclose(found.upper, 1 + reach, rtol=1e-6)
    assert_allclose(found.lower, 1 - reach, rtol=1e-6)


@pytest.mark.parametrize("end", [np.inf, 1.5])
def test_bars_of_the_true_model_lie_in_the_band_as_often_as_stated(end):
    inside = []
    for seed in range(150):
        found = pit_histogram(*exponential(400, seed, end=end), TAUS)
        inside.append((found.density >= found.lower) & (found.density <= found.upper))
    shares = np.mean(inside, axis=0)
    # 150 draws of a share of 0.95 have a standard error of 0.018.
    assert np.abs(shares - 0.95).max() < 0.06
    assert abs(np.mean(inside) - 0.95) < 0.015


def test_events_that_come_too_early_fill_the_first_bin():
    found = pit_histogram(*exponential(400, 0, factor=0.5), TAUS)
    assert found.density[0] > found.upper[0]
    assert found.density[-2] < found.lower[-2]


def test_a_weight_of_two_is_a_row_twice():
    y, predicted = exponential(80, 0, end=2.0)
    weight = 1 + np.arange(80) % 2
    weighted = pit_histogram(y, predicted, TAUS, sample_weight=weight)
    twice = tuple(np.repeat(column, weight) for column in y)
    repeated = pit_histogram(twice, np.repeat(predicted, weight, axis=0), TAUS)
    assert_allclose(weighted.density, repeated.density)
    assert_allclose(weighted.upper, repeated.upper)


def test_bins_that_follow_up_did_not_reach_have_no_density():
    y, predicted = exponential(200, 0)
    limit = predicted[:, 9]  # the median
    cut = np.minimum(y[0], limit), y[0] <= limit
    found = pit_histogram(cut, predicted, TAUS)
    assert_array_equal(np.isnan(found.density), np.arange(10) >= 5)
    assert_array_equal(np.isnan(found.upper), np.isnan(found.density))


def test_a_lower_confidence_narrows_the_band():
    y, predicted = exponential(200, 0)
    wide, narrow = (pit_histogram(y, predicted, TAUS, confidence=c).upper for c in (0.95, 0.5))
    assert (narrow < wide).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 1}, "n_bins must be at least 2, got 1."),
        ({"confidence": 1.0}, "confidence must be finite and inside (0, 1), got 1.0."),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    y, predicted = exponential(20, 0)
    with pytest.raises(ValueError, match=re.escape(message)):
        pit_histogram(y, predicted, TAUS, **options)
