"""The arithmetic of pools against slow and obvious versions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from censquant.estimators.ensemble._mixture import (
    LEVELS,
    Bounds,
    Mixture,
    Prediction,
    level_of,
    quantile_of,
    survival_on_grid,
)
from censquant.quantiles import QuantileCurve
from censquant.quantiles._distribution_curve import TailLimit

FAR = TailLimit(1e9)


def increasing_rows(seed, n=3, scale=1.0):
    rng = np.random.default_rng(seed)
    steps = rng.exponential(scale, size=(n, len(LEVELS))) * np.diff(LEVELS, prepend=0.0)
    return np.cumsum(steps, axis=1)


@given(seed=st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_levels_and_quantiles_of_a_row_are_those_of_its_curve(seed):
    values = increasing_rows(seed)
    curve = QuantileCurve(values, LEVELS, 0.0)
    rng = np.random.default_rng(seed)
    times = rng.uniform(0, 1.5 * values.max(), size=20)
    levels = rng.uniform(1e-5, 0.9999, size=20)
    for row in range(len(values)):
        own = [level_of(values[row], LEVELS, 0.0, t) for t in times]
        np.testing.assert_allclose(own, 1 - curve.survival(times)[row], atol=1e-12)
        own = [quantile_of(values[row], LEVELS, 0.0, p) for p in levels]
        np.testing.assert_allclose(own, curve.at(levels)[row], rtol=1e-9)


def test_survival_on_a_grid_is_that_of_the_curve():
    values = increasing_rows(0, n=5)
    grid = np.linspace(0, 2 * values.max(), 40)
    out = np.empty((5, 40))
    survival_on_grid(values, LEVELS, 0.0, grid, out)
    np.testing.assert_allclose(out, QuantileCurve(values, LEVELS, 0.0).survival(grid), atol=1e-12)


def pooled(parts, weights, wanted, limit=FAR, reference=None):
    predictions = [
        part if isinstance(part, Prediction) else Prediction(part, None) for part in parts
    ]
    reference = np.zeros(len(parts)) if reference is None else np.asarray(reference)
    mixture = Mixture(np.asarray(weights), reference, Bounds(0.0, -np.inf, limit))
    return mixture.quantiles(predictions, np.asarray(wanted))


@given(seed=st.integers(0, 1000), share=st.floats(0.05, 0.95))
@settings(max_examples=40, deadline=None)
def test_quantiles_of_a_pool_solve_the_equation_that_defines_them(seed, share):
    first, second = increasing_rows(seed), increasing_rows(seed + 1, scale=3.0)
    wanted = np.array([0.003, 0.05, 0.31, 0.5, 0.9, 0.985])
    found = pooled([first, second], [share, 1 - share], wanted)
    curves = QuantileCurve(first, LEVELS, 0.0), QuantileCurve(second, LEVELS, 0.0)
    for row in range(len(found)):
        for level, quantile in zip(wanted, found[row], strict=True):

            def excess(t, row=row, level=level):
                levels = [1 - curve.survival([t])[row, 0] for curve in curves]
                return share * levels[0] + (1 - share) * levels[1] - level

            exact = brentq(excess, 0.0, 10 * max(first.max(), second.max()), xtol=1e-14)
            assert quantile == pytest.approx(exact, rel=1e-9, abs=1e-12)


@given(seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_quantiles_of_a_pool_never_cross_and_lie_between_those_of_its_parts(seed):
    parts = [increasing_rows(seed + k, scale=k + 1.0) for k in range(4)]
    weights = np.random.default_rng(seed).dirichlet(np.ones(4))
    found = pooled(parts, weights, LEVELS)
    assert (np.diff(found, axis=1) >= 0).all()
    stacked = np.stack(parts)
    assert (found >= stacked.min(axis=0) - 1e-12).all()
    assert (found <= stacked.max(axis=0) + 1e-12).all()


@st.composite
def awkward_parts(draw):
    """Quantiles of candidates with ties, jumps, copies of each other and very different scales."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_parts = draw(st.integers(1, 5))
    steps = rng.exponential(size=(n_parts, 2, len(LEVELS))) * np.diff(LEVELS, prepend=0.0)
    steps[rng.random(steps.shape) < draw(st.sampled_from([0.0, 0.3, 0.9]))] = 0.0
    parts = np.cumsum(steps, axis=2) * np.exp(3.0 * rng.normal(size=(n_parts, 1, 1)))
    if draw(st.booleans()):
        parts = np.round(parts * 4.0) / 4.0
    if draw(st.booleans()):
        parts[-1] = parts[0]
    # No sum of some weights is a level by chance: the quantile there may be anywhere in a gap.
    return list(parts), rng.dirichlet(np.ones(n_parts))


@given(given_parts=awkward_parts(), wanted=st.sampled_from([LEVELS, LEVELS[3:-2] + 1e-4]))
@settings(max_examples=150, deadline=None)
def test_quantiles_of_awkward_pools_are_where_their_mean_level_is_reached(given_parts, wanted):
    parts, weights = given_parts
    found = pooled(parts, weights, wanted)
    assert (np.diff(found, axis=1) >= 0.0).all()
    last = np.max(parts, axis=(0, 2))

    def mean_level(row, t):
        levels = [level_of(part[row], LEVELS, 0.0, t) for part in parts]
        return float(np.dot(weights, levels))

    for row in range(2):
        highest = mean_level(row, last[row])
        for level, t in zip(wanted, found[row], strict=True):
            if level > highest - 1e-9:  # behind all candidates' quantiles
                continue
            room = 1e-9 * max(t, 1e-9)
            assert mean_level(row, t + room) >= level - 1e-12
            assert mean_level(row, t - room) <= level + 1e-12


def test_one_candidate_is_its_own_pool():
    values = increasing_rows(4)
    np.testing.assert_allclose(pooled([values], [1.0], LEVELS), values, rtol=1e-12)


def test_a_jump_of_a_candidate_stays_a_jump_of_the_pool():
    steps = np.repeat([1.0, 2.0], [14, len(LEVELS) - 14])[None]
    found = pooled([steps], [1.0], LEVELS)
    np.testing.assert_array_equal(found, steps)


def test_a_candidate_that_ends_is_continued_by_the_reference_given_survival():
    rate = 0.7
    exact = -np.log1p(-LEVELS)[None] / rate
    ended = exact.copy()
    level = 1 - np.exp(-rate * 1.0)
    ended[:, level < LEVELS] = 99.0
    predictions = [Prediction(ended, (np.array([1.0]), np.array([level]))), Prediction(exact, None)]
    mixture = Mixture(np.array([1.0, 0.0]), np.array([0.0, 1.0]), Bounds(0.0, -np.inf, FAR))
    # The same law before and after: continuing it changes nothing, up to straight segments.
    np.testing.assert_allclose(mixture.continue_tails(predictions)[0], exact, rtol=0.02)


def test_a_continued_candidate_does_not_fall_back_behind_its_own_quantiles():
    own = np.linspace(1.0, 9.0, len(LEVELS))[None]
    reference = own / 10.0
    # A mean of several models: some end before quantiles that the mean still has.
    ends = np.array([4.0]), np.array([LEVELS[-4]])
    mixture = Mixture(np.array([0.5, 0.5]), np.array([0.0, 1.0]), Bounds(0.0, -np.inf, FAR))
    predictions = [Prediction(own.copy(), ends), Prediction(reference, None)]
    continued = mixture.continue_tails(predictions)[0, 0]
    np.testing.assert_array_equal(continued[:-3], own[0, :-3])
    np.testing.assert_array_equal(continued[-3:], own[0, -4])


def test_after_the_last_time_a_pool_falls_at_least_as_fast_as_its_law():
    parts = [increasing_rows(0, scale=0.1), 1e6 * increasing_rows(1), increasing_rows(2, scale=3.0)]
    tail = TailLimit(end=0.5)
    found = QuantileCurve(pooled(parts, [0.3, 0.4, 0.3], LEVELS, tail), LEVELS, 0.0)
    late = 1.0 - found.survival(np.array([0.5, 1.0, 2.0, 3.0, 4.0]))
    limit = 1.0 - (1.0 - late[:, :1]) * np.array([2.0, 4.0, 6.0, 8.0]) ** (-4.0 / 3.0)
    # Straight segments between levels are within one of them.
    assert (late[:, 1:] >= limit - 0.05).all()
    assert (found.at([0.5]) <= 0.5 * 2.0**0.75).all()


def test_tails_before_the_last_time_are_left_alone():
    parts = [increasing_rows(k) for k in range(3)]
    last = max(part.max() for part in parts)
    found = pooled(parts, [0.5, 0.3, 0.2], LEVELS, TailLimit(last, 0.999 * last))
    np.testing.assert_array_equal(found, pooled(parts, [0.5, 0.3, 0.2], LEVELS))


def test_no_candidate_goes_far_below_the_observed_times():
    values = [np.sort(increasing_rows(k), axis=1) for k in range(3)]
    values[2][:, :4] = -1e12
    predictions = [Prediction(part, None) for part in values]
    mixture = Mixture(np.array([0.3, 0.4, 0.3]), np.zeros(3), Bounds(-np.inf, -5.0, FAR))
    assert mixture.quantiles(predictions, LEVELS).min() >= -5.0
    free = Mixture(np.array([0.3, 0.4, 0.3]), np.zeros(3), Bounds(-np.inf, -np.inf, FAR))
    assert free.quantiles(predictions, LEVELS).min() < -1e11
