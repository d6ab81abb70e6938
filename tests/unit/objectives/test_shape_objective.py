"""Distributions that bend a standard one, and the objective that fits them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gumbel_l, gumbel_r, norm

from censquant._engine.objectives._likelihoods import (
    LocationScaleDistribution,
    ShapeDistribution,
    ShapeLikelihood,
    average_of,
    shape_knots,
)
from censquant.quantiles._distribution_curve import DistributionCurve
from censquant.quantiles._grid import even_grid
from toys import censored_rows

LAWS = {"normal": norm, "gumbel": gumbel_l, "mirrored gumbel": gumbel_r}
LEVELS = np.array([1e-12, 0.001, 0.04, 0.05, 0.0501, 0.5, 0.77, 0.95, 0.96, 0.999])
bases = pytest.mark.parametrize("base", LAWS)


def bent(base, n=7, n_levels=19, seed=0, **options):
    rng = np.random.default_rng(seed)
    gaps = np.diff(shape_knots(base, n_levels)) * rng.uniform(0.2, 3.0, (n, n_levels - 1))
    start = rng.normal(size=(n, 1))
    values = np.hstack([start, start + np.cumsum(gaps, axis=1)])
    return ShapeDistribution(values, base, **options)


@bases
def test_knots_are_the_quantiles_of_the_base_at_even_levels(base):
    np.testing.assert_allclose(shape_knots(base, 19), LAWS[base].ppf(even_grid(19)), rtol=1e-12)


@bases
def test_values_are_the_quantiles_at_the_knots(base):
    distribution = bent(base)
    np.testing.assert_allclose(
        distribution.quantile(even_grid(19)), distribution.values, rtol=1e-12
    )


@bases
def test_quantile_and_cdf_are_inverse_to_each_other(base):
    distribution = bent(base)
    times = distribution.quantile(LEVELS)
    assert (np.diff(times) > 0).all()
    np.testing.assert_allclose(distribution.cdf(times), np.tile(LEVELS, (7, 1)), rtol=1e-9)
    np.testing.assert_allclose(distribution.quantile(distribution.cdf(times)), times, atol=1e-9)


@bases
def test_survival_and_its_inverse_are_exact_where_levels_round_to_one(base):
    distribution = bent(base)
    far = np.array([1e-30, 1e-12, 0.01, 0.5, 0.999])
    times = distribution.inverse_survival(far)
    np.testing.assert_allclose(distribution.survival(times), np.tile(far, (7, 1)), rtol=1e-9)
    middle = distribution.quantile(np.array([0.3]))
    np.testing.assert_allclose(distribution.survival(middle) + distribution.cdf(middle), 1.0)


@bases
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n_levels=st.integers(2, 25))
def test_curves_are_inverse_to_themselves(base, seed, n_levels):
    curve = DistributionCurve(bent(base, 3, n_levels, seed), even_grid(9))
    times = curve.at(LEVELS)
    np.testing.assert_allclose(curve.cdf(times), np.tile(LEVELS, (3, 1)), rtol=1e-9)


@bases
def test_levels_and_times_of_each_individual_are_taken_row_by_row(base):
    distribution = bent(base)
    levels = np.random.default_rng(1).uniform(0.001, 0.999, (7, 4))
    expected = [distribution.take([i]).quantile(levels[i])[0] for i in range(7)]
    np.testing.assert_array_equal(distribution.quantile(levels), expected)
    np.testing.assert_allclose(distribution.cdf(distribution.quantile(levels)), levels, rtol=1e-9)


def test_an_unbent_distribution_is_the_family_itself():
    location, scale = np.array([0.3, -2.0]), np.array([0.5, 2.0])
    for base, family in (
        ("normal", LocationScaleDistribution(location, scale, "normal")),
        ("gumbel", LocationScaleDistribution(location, scale, "gumbel")),
        ("mirrored gumbel", LocationScaleDistribution(location, scale, "mirrored gumbel")),
    ):
        same = ShapeDistribution(location[:, None] + scale[:, None] * shape_knots(base, 19), base)
        np.testing.assert_allclose(same.quantile(LEVELS), family.quantile(LEVELS), rtol=1e-10)
        times = np.array([-3.0, 0.1, 4.0])
        np.testing.assert_allclose(same.cdf(times), family.cdf(times), rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(same.survival(times), family.survival(times), rtol=1e-9)


def test_the_log_likelihood_of_an_unbent_distribution_is_scipys():
    time, event = np.array([0.4, -1.0]), np.array([True, False])
    for base, law in LAWS.items():
        distribution = ShapeDistribution(np.tile(shape_knots(base, 19), (2, 1)), base)
        expected = [law.logpdf(0.4), law.logsf(-1.0)]
        np.testing.assert_allclose(distribution.log_likelihood(time, event), expected, rtol=1e-10)


@bases
def test_averages_have_the_mean_of_the_quantiles_at_every_level(base):
    parts = [bent(base, seed=seed) for seed in range(3)]
    expected = np.mean([part.quantile(LEVELS) for part in parts], axis=0)
    np.testing.assert_allclose(average_of(parts).quantile(LEVELS), expected, rtol=1e-12, atol=1e-12)


def test_what_lies_above_the_cap_is_moved_to_it():
    free, capped = bent("normal"), bent("normal", cap=1.0)
    np.testing.assert_array_equal(capped.quantile(LEVELS), np.minimum(free.quantile(LEVELS), 1.0))
    below, above = np.array([0.999]), np.array([1.0, 1.001])
    np.testing.assert_array_equal(capped.cdf(below), free.cdf(below))
    np.testing.assert_array_equal(capped.cdf(above), 1.0)
    np.testing.assert_array_equal(capped.survival(above[:1]), free.survival(above[:1]))
    np.testing.assert_array_equal(capped.survival(above[1:]), 0.0)
    np.testing.assert_array_equal(capped.take([1]).quantile(LEVELS), capped.quantile(LEVELS)[1:2])
    assert len(capped.take(slice(2))) == 2


def test_the_ends_of_the_levels_are_the_ends_of_the_line():
    free, capped = bent("normal"), bent("normal", cap=9.0)
    ends = np.array([0.0, 1.0])
    np.testing.assert_array_equal(free.quantile(ends), np.tile([-np.inf, np.inf], (7, 1)))
    np.testing.assert_array_equal(capped.quantile(ends), np.tile([-np.inf, 9.0], (7, 1)))
    np.testing.assert_array_equal(free.cdf(np.array([-np.inf, np.inf])), np.tile(ends, (7, 1)))


def test_the_validation_loss_is_the_mean_log_likelihood():
    rows = censored_rows(20)
    objective = ShapeLikelihood("gumbel", n_outputs=5, pinball_weight=7.0)
    assert objective.bind(rows) is objective
    assert objective.prepare(rows) is rows
    output = bent("gumbel", 20, 5).values.astype(np.float32)
    time, event = rows.time.astype(float), rows.event
    expected = -objective.distribution(output).log_likelihood(time, event).mean()
    assert objective.validation_loss(output, rows) == pytest.approx(expected, rel=1e-6)


def test_weights_of_the_two_losses_add_up():
    rows = censored_rows(20)
    output = bent("normal", 20, 5).values.astype(np.float32)
    found = {}
    for likelihood, check in ((1.0, 0.0), (0.0, 1.0), (0.5, 2.0)):
        objective = ShapeLikelihood(
            "normal", 5, likelihood_weight=likelihood, pinball_weight=check, limit=3.0
        )
        out = np.empty_like(output)
        found[likelihood, check] = objective.gradient(output, rows, out), out
    loss = 0.5 * found[1.0, 0.0][0] + 2.0 * found[0.0, 1.0][0]
    gradient = 0.5 * found[1.0, 0.0][1] + 2.0 * found[0.0, 1.0][1]
    assert found[0.5, 2.0][0] == pytest.approx(loss, rel=1e-6)
    np.testing.assert_allclose(found[0.5, 2.0][1], gradient, atol=1e-6)
