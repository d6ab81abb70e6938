"""The differentiable D-calibration, and the levels that it is a function of."""

import numpy as np
import pytest
from scipy.stats import gumbel_l, gumbel_r, laplace_asymmetric, norm

from censquant._engine._families import GUMBEL, MIRRORED_GUMBEL, NORMAL
from censquant._engine.losses._likelihoods import (
    asymmetric_laplace_levels,
    calibration_penalty,
    location_scale_levels,
)

LAWS = {NORMAL: norm, GUMBEL: gumbel_l, MIRRORED_GUMBEL: gumbel_r}


def penalty(levels, event, weight=None, n_bins=20, sharpness=1e4):
    slopes = np.full(len(levels), np.nan)
    weight = np.ones(len(levels)) if weight is None else weight
    return calibration_penalty(levels, event, weight, n_bins, sharpness, slopes), slopes


def rows(seed=0, n=40):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.01, 0.98, n), rng.random(n) < 0.5, rng.uniform(0.5, 2.0, n)


def test_the_derivative_is_that_of_differences():
    levels, event, weight = rows()
    _, slopes = penalty(levels, event, weight)
    for i in range(len(levels)):
        shift = np.zeros(len(levels))
        shift[i] = 1e-7
        high, low = (penalty(levels + sign * shift, event, weight)[0] for sign in (1, -1))
        assert slopes[i] == pytest.approx((high - low) / 2e-7, rel=1e-4, abs=1e-6)


def test_sharp_bins_count_rows_as_the_metric_does():
    levels, event, weight = rows(1, 200)
    shares = np.zeros(10)
    for u, seen, w in zip(levels, event, weight, strict=True):
        for b in range(10):
            low, high = b / 10, (b + 1) / 10
            if seen:
                shares[b] += w * (low <= u < high)
            else:
                shares[b] += w * max(0.0, high - max(low, u)) / (1 - u)
    expected = ((shares / weight.sum() - 0.1) ** 2).sum()
    assert penalty(levels, event, weight, 10, 1e9)[0] == pytest.approx(expected, abs=1e-9)


def test_uniform_levels_cost_nothing_and_equal_ones_the_most():
    even, everybody = (np.arange(400) + 0.5) / 400, np.ones(400, dtype=bool)
    assert penalty(even, everybody)[0] < 1e-4
    assert penalty(np.full(400, 0.33), everybody)[0] == pytest.approx(0.95, abs=0.01)


def test_levels_at_the_ends_belong_to_the_outer_bins():
    levels, event = np.array([0.0, 1.0]), np.array([True, True])
    assert penalty(levels, event, n_bins=2)[0] == pytest.approx(0.0, abs=1e-9)


def test_a_row_censored_at_the_end_counts_there_and_has_a_finite_slope():
    value, slopes = penalty(np.array([1.0, 1.0]), np.array([False, True]))
    assert value == pytest.approx(0.95, abs=1e-6)
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("family", LAWS)
def test_levels_of_shifted_and_stretched_distributions_are_those_of_scipy(family):
    rng = np.random.default_rng(2)
    output, time = rng.normal(size=(30, 2)), rng.normal(scale=3.0, size=30)

    def at(values):
        levels, slopes = np.empty(30), np.empty((30, 2))
        location_scale_levels(values, time, family, levels, slopes)
        return levels, slopes

    levels, slopes = at(output)
    scale = np.logaddexp(0, output[:, 1]) + 1e-6
    np.testing.assert_allclose(levels, LAWS[family].cdf(time, output[:, 0], scale), atol=1e-12)
    for j in range(2):
        shift = np.eye(2)[j] * 1e-6
        difference = (at(output + shift)[0] - at(output - shift)[0]) / 2e-6
        np.testing.assert_allclose(slopes[:, j], difference, atol=1e-8)


def test_levels_of_asymmetric_laplace_distributions_are_those_of_scipy():
    rng = np.random.default_rng(3)
    output, time = rng.normal(size=(30, 3)), rng.normal(scale=2.0, size=30)

    def at(values):
        levels, slopes = np.empty(30), np.empty((30, 3))
        asymmetric_laplace_levels(values, time, levels, slopes)
        return levels, slopes

    levels, slopes = at(output)
    law = laplace_asymmetric(
        np.exp(output[:, 2]), loc=output[:, 0], scale=np.exp(output[:, 1]) / np.sqrt(2)
    )
    np.testing.assert_allclose(levels, law.cdf(time), atol=1e-12)
    for j in range(3):
        shift = np.eye(3)[j] * 1e-6
        difference = (at(output + shift)[0] - at(output - shift)[0]) / 2e-6
        np.testing.assert_allclose(slopes[:, j], difference, atol=1e-8)
