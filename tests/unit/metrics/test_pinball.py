import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant.metrics._pinball import (
    crps_censored,
    pinball_loss_censored,
    pinball_loss_ipcw,
    right_censored_log_likelihood,
)
from censquant.quantiles import QuantileCurve
from oracles import loop_censoring_kaplan_meier, slow_marginal_pinball, step_value
from strategies import repetitions, survival_data

TAUS = np.arange(1, 20) / 20
SHORT = np.array([0.2, 0.5, 0.9])
CENSORED_SCORES = [pinball_loss_ipcw, pinball_loss_censored, crps_censored]
few = settings(max_examples=30, deadline=None)


def refused(message, error=ValueError):
    return pytest.raises(error, match="^" + re.escape(message) + "$")


def weibull_quantiles(scale, levels):
    return scale[:, None] * (-np.log1p(-np.asarray(levels))) ** (1 / 1.5)


def check(y, q, tau):
    return tau * (y - q) if y >= q else (1 - tau) * (q - y)


def slow_ipcw(time, event, predicted, taus, end, curve, weight):
    """Weighted check loss of rows whose cut time is known, by its definition."""
    total = 0.0
    for i, (t, e) in enumerate(zip(time, event, strict=True)):
        if e or t >= end:
            cut = min(t, end)
            chance = step_value(*curve, cut, before=True)
            row = [check(cut, min(q, end), tau) for q, tau in zip(predicted[i], taus, strict=True)]
            total += weight[i] * np.mean(row) / chance
    return total / sum(weight)


@st.composite
def judged(draw, **options):
    """Rows with predictions and whole weights."""
    time, event = draw(survival_data(min_events=1, **options))
    size = 3 * len(time)
    numbers = draw(st.lists(st.integers(0, 24), min_size=size, max_size=size))
    predicted = np.array(numbers).reshape(-1, 3) * time.max() / 20
    return time, event, predicted, draw(repetitions(len(time)))


@few
@given(rows=judged())
def test_without_censoring_all_check_losses_agree(rows):
    time, _, predicted, weight = rows
    ordered = np.sort(predicted, axis=1)
    error = time[:, None] - ordered
    plain = weight @ (error * (SHORT - (error < 0))).mean(axis=1) / sum(weight)
    assert pinball_loss_ipcw(time, predicted, SHORT, sample_weight=weight) == pytest.approx(plain)
    assert pinball_loss_censored(time, predicted, SHORT, sample_weight=weight) == pytest.approx(
        plain, abs=1e-12
    )


@few
@given(rows=judged(), train=survival_data(min_events=1))
def test_the_weighted_loss_is_that_of_its_definition(rows, train):
    time, event, predicted, weight = rows
    predicted = np.sort(predicted, axis=1)
    curve = [column.tolist() for column in loop_censoring_kaplan_meier(*train)]
    # A share of exactly a twentieth counts, though products round it down.
    reached = [t for t in curve[0] if step_value(*curve, t, before=True) >= 0.05 - 1e-12]
    end = np.inf if train[1].all() else max(reached)
    expected = slow_ipcw(time, event, predicted, SHORT, end, curve, weight)
    loss = pinball_loss_ipcw((time, event), predicted, SHORT, y_train=train, sample_weight=weight)
    assert loss == pytest.approx(expected)


def test_a_share_of_exactly_a_twentieth_is_enough_follow_up():
    # Three of twenty are not censored by time 1, one by time 2: products round 1 / 20 down.
    train = np.array([0.5] + [1.0] * 17 + [2.0] * 2 + [3.0]), np.arange(21) == 0
    judge = {"y": ([4.0], [True]), "predicted": [[0.0]], "taus": [0.5], "y_train": train}
    to_three = pinball_loss_ipcw(**judge, truncation=3.0)
    assert pinball_loss_ipcw(**judge) == to_three != pinball_loss_ipcw(**judge, truncation=2.0)


@few
@given(rows=judged(max_size=10), train=survival_data(min_events=1))
def test_the_marginal_loss_is_that_of_its_definition(rows, train):
    time, event, predicted, weight = rows
    predicted = np.sort(predicted, axis=1)
    curve = [column.tolist() for column in loop_censoring_kaplan_meier(*train)]
    # Rows past the training rows are censored where these end, if any of them is censored.
    late = (time > train[0].max()) & ~train[1].all()
    seen, known = np.where(late, train[0].max(), time), event & ~late
    losses = [
        np.mean(
            [slow_marginal_pinball(q, t, e, tau, *curve) for q, tau in zip(row, SHORT, strict=True)]
        )
        for row, t, e in zip(predicted, seen, known, strict=True)
    ]
    loss = pinball_loss_censored(
        (time, event), predicted, SHORT, y_train=train, sample_weight=weight
    )
    assert loss == pytest.approx(np.average(losses, weights=weight), abs=1e-12)


@pytest.mark.parametrize("score", CENSORED_SCORES)
@few
@given(rows=judged())
def test_a_weight_counts_a_row_as_many_equal_rows(score, rows):
    time, event, predicted, weight = rows
    again = np.repeat(np.arange(len(time)), weight)
    weighted = score((time, event), predicted, SHORT, sample_weight=weight)
    repeated = score((time[again], event[again]), predicted[again], SHORT)
    assert weighted == pytest.approx(repeated, abs=1e-12)


@pytest.mark.parametrize("score", CENSORED_SCORES)
def test_crossed_predictions_score_as_sorted_ones(score):
    y = ([1.0, 2.0, 3.0], [1, 0, 1])
    crossed = score(y, [[3.0, 1.0, 2.0]] * 3, SHORT)
    assert crossed == score(y, [[1.0, 2.0, 3.0]] * 3, SHORT)


@pytest.mark.parametrize("score", CENSORED_SCORES)
def test_scores_scale_with_the_unit_of_time(score):
    rng = np.random.default_rng(0)
    time, event = rng.gamma(2.0, size=30), rng.random(30) < 0.6
    predicted = rng.gamma(2.0, size=(30, 3))
    hours = score((24 * time, event), 24 * predicted, SHORT)
    assert hours == pytest.approx(24 * score((time, event), predicted, SHORT))


def test_a_hand_computed_weighted_loss():
    # Half of the rows escape the censoring at 2, so that the event at 3 counts twice.
    y = ([1.0, 2.0, 3.0], [1, 0, 1])
    loss = pinball_loss_ipcw(y, [[2.0]] * 3, [0.25])
    assert loss == pytest.approx((0.75 * 1 + 2 * 0.25 * 1) / 3)


def test_errors_past_the_truncation_time_cost_nothing():
    y = ([1.0, 2.0, 3.0, 8.0], [1, 0, 1, 0])
    near = pinball_loss_ipcw(y, [[1.0, 2.5]] * 4, [0.25, 0.75], truncation=2.5)
    far = pinball_loss_ipcw(y, [[1.0, 99.0]] * 4, [0.25, 0.75], truncation=2.5)
    assert near == far
    # The rows at 3 and 8 are known to outlive 2.5; two thirds escape the censoring at 2.
    known = [check(1.0, 1.0, 0.25) + check(1.0, 2.5, 0.75)] + 2 * [1.5 * 0.25 * 1.5]
    assert near == pytest.approx(sum(known) / 8)


def test_without_truncation_late_errors_count_in_full():
    y = ([1.0, 2.0, 3.0], [1, 0, 1])
    loss = pinball_loss_ipcw(y, [[9.0]] * 3, [0.5], truncation=np.inf)
    assert loss == pytest.approx((0.5 * 8 + 2 * 0.5 * 6) / 3)


def test_a_test_time_past_the_training_rows_is_cut_at_the_last_of_them():
    train = ([1.0, 2.0, 4.0], [1, 0, 1])
    far = pinball_loss_ipcw(([9.0], [1]), [[5.0]], [0.5], y_train=train)
    near = pinball_loss_ipcw(([4.0], [0]), [[3.0]], [0.5], y_train=train)
    assert far == 0
    assert near == pytest.approx(2 * 0.5 * 1)


def test_the_default_truncation_stops_where_a_twentieth_escapes_censoring():
    # After the censorings at 1, two of a hundred rows are left: less than a twentieth.
    train = (np.array([1.0] * 98 + [2.0, 4.0]), np.array([False] * 98 + [True, True]))
    assert pinball_loss_ipcw(([4.0], [1]), [[3.0]], [0.5], y_train=train) == 0
    assert pinball_loss_ipcw(
        ([4.0], [1]), [[3.0]], [0.5], y_train=train, truncation=4.0
    ) == pytest.approx(0.5 / 0.02)


@pytest.mark.parametrize(
    ("truncation", "message", "error"),
    [
        (
            9.0,
            "truncation must be a time until which some training row escapes censoring, got 9, "
            "but all are censored before the time of row 1.",
            ValueError,
        ),
        (np.nan, "truncation must be finite and inside (-inf, inf), got nan.", ValueError),
        ("3", "truncation must be a number, got '3'.", TypeError),
    ],
)
def test_a_truncation_that_nobody_reaches_is_refused(truncation, message, error):
    train = ([1.0, 2.0], [True, False])
    with refused(message, error):
        pinball_loss_ipcw(
            ([1.0, 5.0], [1, 1]), [[1.0]] * 2, [0.5], y_train=train, truncation=truncation
        )


def test_all_rows_censored_still_give_a_finite_score():
    y = ([1.0, 2.0, 3.0], [0, 0, 0])
    scores = [score(y, [[1.0, 2.0, 5.0]] * 3, SHORT) for score in CENSORED_SCORES]
    assert np.isfinite(scores).all()


def test_the_crps_without_censoring_is_the_area_between_distribution_and_step():
    grid = np.arange(1, 1000) / 1000
    rng = np.random.default_rng(1)
    time = rng.gamma(2.0, size=20)
    scale = rng.uniform(0.5, 2.0, size=20)
    # CRPS of an exponential distribution, from the integral of its squared distance to a step.
    expected = time + scale * (2 * np.exp(-time / scale) - 1.5)
    predicted = -scale[:, None] * np.log1p(-grid)
    score = crps_censored(time, predicted, grid, n_levels=2000)
    assert score == pytest.approx(expected.mean(), rel=2e-3)


def test_the_crps_is_twice_the_loss_at_even_levels():
    y, taus = ([1.0, 2.0, 3.0], [1, 0, 1]), (np.arange(10) + 0.5) / 10
    predicted = np.sort(np.random.default_rng(0).gamma(2.0, size=(3, 10)), axis=1)
    score = crps_censored(y, predicted, taus, n_levels=10)
    assert score == pytest.approx(2 * pinball_loss_censored(y, predicted, taus))


def test_the_crps_reads_between_quantiles_and_needs_two():
    with refused(
        "taus must hold two levels or more, since the level of a time is read between "
        "quantiles, got 1."
    ):
        crps_censored([1.0], [[1.0]], [0.5])
    with refused("n_levels must be at least 1, got 0."):
        crps_censored([1.0], [[1.0, 2.0]], [0.5, 0.6], n_levels=0)


def simulated(seed, *, dependent, n=3000):
    """Weibull times by a feature, about 40 % censored, and quantiles of a few models."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=n)
    target = np.exp(x) * rng.weibull(1.5, size=n)
    censoring = rng.exponential(1.5 * np.exp(0.8 * x) if dependent else 1.5, size=n)
    true = weibull_quantiles(np.exp(x), TAUS)
    wrong = {
        "too early": 0.7 * true,
        "too late": 1.4 * true,
        "no feature": np.tile(np.quantile(target, TAUS), (n, 1)),
        "too narrow": weibull_quantiles(np.exp(x), 0.5 + (TAUS - 0.5) / 2),
    }
    return (np.minimum(target, censoring), target <= censoring), true, wrong


@pytest.mark.parametrize("dependent", [False, True])
@pytest.mark.parametrize("score", CENSORED_SCORES)
def test_a_true_model_beats_grossly_wrong_ones(score, dependent):
    y, true, wrong = simulated(3, dependent=dependent)
    best = score(y, true, TAUS)
    assert all(score(y, predicted, TAUS) > best for predicted in wrong.values())


@pytest.mark.parametrize("score", CENSORED_SCORES[:2])
def test_a_slightly_wrong_model_can_win_where_censoring_depends_on_the_features(score):
    rng = np.random.default_rng(0)
    n = 4000
    early = rng.integers(0, 2, size=n) == 0
    target = rng.weibull(1.5, size=n)
    censoring = rng.exponential(np.where(early, 0.6, 10.0))
    time, event = np.minimum(target, censoring), target <= censoring
    true = weibull_quantiles(np.ones(n), TAUS)
    wrong = weibull_quantiles(np.where(early, 0.8, 1.0), TAUS)
    assert score((time, event), wrong, TAUS) < score((time, event), true, TAUS)
    # Scored apart, with a censoring curve of its own, the group tells them apart.
    apart = (time[early], event[early])
    assert score(apart, wrong[early], TAUS) > score(apart, true[early], TAUS)


@pytest.mark.parametrize("score", CENSORED_SCORES)
@pytest.mark.parametrize("end", [0.5, 1.0])
def test_a_true_model_wins_also_where_the_training_rows_were_followed_less_long(score, end):
    rng = np.random.default_rng(1)
    scale = rng.uniform(0.5, 1.5, size=12_000)
    latent, censoring = scale * rng.exponential(size=12_000), rng.uniform(0, 3.2, size=12_000)
    time, event = np.minimum(latent, censoring), latent <= censoring
    y, rest = (time[:8000], event[:8000]), slice(8000, None)
    y_train = np.minimum(time[rest], end), event[rest] & (time[rest] <= end)
    true = scale[:8000, None] * -np.log1p(-TAUS)
    scores = [score(y, factor * true, TAUS, y_train=y_train) for factor in (1.0, 0.8, 1.3, 2, 4)]
    assert np.argmin(scores) == 0


QUARTERS = [0.25, 0.5, 0.75]


def one(time, event, predicted, taus=QUARTERS, **options):
    """Log-likelihood of one row, with a range of training times of 1."""
    return right_censored_log_likelihood(
        ([time], [event]), [predicted], taus, y_train=[0.0, 1.0], **options
    )


def test_between_quantiles_the_density_is_constant():
    assert one(1.2, True, [1.0, 2.0, 4.0]) == pytest.approx(np.log(0.25))
    assert one(3.0, True, [1.0, 2.0, 4.0]) == pytest.approx(np.log(0.125))
    assert one(2.0, True, [1.0, 2.0, 4.0]) == pytest.approx(np.log(0.125))


def test_a_censored_row_is_judged_by_its_survival():
    assert one(3.0, False, [1.0, 2.0, 4.0]) == pytest.approx(np.log(0.375))


def test_below_the_first_quantile_its_segment_is_prolonged():
    assert one(0.5, True, [1.0, 2.0, 4.0]) == pytest.approx(np.log(0.25))
    assert one(-0.5, True, [1.0, 2.0, 4.0]) == pytest.approx(np.log(0.01))


def test_the_smallest_possible_time_holds_the_mass_below_the_first_quantile():
    assert one(0.2, True, [0.5, 1.5, 4.0], lower=0.0) == pytest.approx(np.log(0.5))
    assert one(0.2, True, [-1.0, 1.0, 3.0], lower=0.0) == pytest.approx(np.log(0.25))


def test_above_the_last_quantile_the_tail_is_exponential():
    rate = np.log(0.5 / 0.25) / 2
    survival = 0.25 * np.exp(-rate * 3)
    assert one(7.0, True, [1.0, 2.0, 4.0]) == pytest.approx(np.log(rate * survival))
    assert one(7.0, False, [1.0, 2.0, 4.0]) == pytest.approx(np.log(survival))


def test_what_the_model_thinks_impossible_pays_the_floor():
    assert one(5.0, True, [1.0, 2.0, 2.0]) == pytest.approx(np.log(0.01))
    assert one(5.0, False, [1.0, 2.0, 2.0]) == pytest.approx(np.log(0.01))


def test_a_point_mass_wins_no_more_than_the_ceiling():
    assert one(2.0, True, [1.0, 2.0, 2.0]) == pytest.approx(np.log(1e6))
    assert one(2.0, True, [2.0, 2.0, 3.0]) == pytest.approx(np.log(1e6))
    assert one(2.0, True, [2.0 - 1e-9, 2.0 + 1e-9, 3.0]) == pytest.approx(np.log(1e6))


def test_equal_training_times_set_a_range_of_one():
    y = ([5.0, 5.0], [True, True])
    score = right_censored_log_likelihood(y, [[1.0, 2.0]] * 2, [0.25, 0.75])
    tail = np.log(3.0) * 0.25 * np.exp(-3 * np.log(3.0))
    assert score == pytest.approx(np.log(max(tail, 0.01)))


def test_weights_average_the_rows():
    y, predicted = ([1.2, 3.0], [True, False]), [[1.0, 2.0, 4.0]] * 2
    score = right_censored_log_likelihood(y, predicted, QUARTERS, sample_weight=[3, 1])
    assert score == pytest.approx((3 * np.log(0.25) + np.log(0.375)) / 4)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n_levels=st.integers(2, 6))
def test_the_density_is_the_slope_of_the_distribution_function(seed, n_levels):
    rng = np.random.default_rng(seed)
    taus = np.sort(rng.choice(np.arange(1, 20), n_levels, replace=False)) / 20
    predicted = np.cumsum(rng.uniform(0.2, 1.0, size=(8, n_levels)), axis=1)
    time = rng.uniform(0.0, 1.3 * predicted.max(), size=8)
    curve = QuantileCurve(predicted, taus, lower=0.0)
    step = 1e-7
    slope = (curve.cdf(time + step) - curve.cdf(time)) / step
    unit = np.ptp(time)
    expected = np.log(np.maximum(slope * unit, 0.01) / unit)
    score = right_censored_log_likelihood(time, predicted, taus, lower=0.0)
    assert score == pytest.approx(expected.mean(), abs=1e-5)


@pytest.mark.parametrize("unit", [0.01, 365.25])
def test_a_change_of_unit_moves_it_by_the_logarithm_for_each_event(unit):
    rng = np.random.default_rng(0)
    time, event = rng.gamma(2.0, size=40), rng.random(40) < 0.6
    predicted = np.sort(rng.gamma(2.0, size=(40, 3)), axis=1)
    score = right_censored_log_likelihood((time, event), predicted, QUARTERS)
    moved = right_censored_log_likelihood((unit * time, event), unit * predicted, QUARTERS)
    assert moved == pytest.approx(score - event.mean() * np.log(unit))


def quantiles(scale):
    return scale[:, None] * (-np.log1p(-TAUS)) ** (1 / 1.5)


def test_a_true_model_beats_wrong_ones_also_where_censoring_depends_on_the_features():
    rng = np.random.default_rng(0)
    n = 4000
    early = rng.integers(0, 2, size=n) == 0
    target = rng.weibull(1.5, size=n)
    censoring = rng.exponential(np.where(early, 0.6, 10.0))
    y = (np.minimum(target, censoring), target <= censoring)
    best = right_censored_log_likelihood(y, quantiles(np.ones(n)), TAUS)
    for factor in (0.8, 1.2):
        wrong = quantiles(np.where(early, factor, 1.0))
        assert right_censored_log_likelihood(y, wrong, TAUS) < best


@pytest.mark.parametrize(
    ("taus", "options", "message"),
    [
        (
            [0.5],
            {},
            "taus must hold two levels or more, since the level of a time is read between "
            "quantiles, got 1.",
        ),
        (
            [0.5, 0.6],
            {"lower": np.nan},
            "lower must be finite and inside (-inf, inf), got nan.",
        ),
    ],
)
def test_what_has_no_density_is_refused(taus, options, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        right_censored_log_likelihood([1.0], [[1.0] * len(taus)], taus, **options)
