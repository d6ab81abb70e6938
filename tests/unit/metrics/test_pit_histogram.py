import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from censquant.metrics import pit_curve, pit_histogram

TAUS = np.arange(1, 20) / 20


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
