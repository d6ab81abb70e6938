import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant.metrics._pinball import right_censored_log_likelihood
from censquant.quantiles import QuantileCurve

TAUS = np.arange(1, 20) / 20
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
