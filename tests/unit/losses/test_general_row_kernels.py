"""Likelihoods of rows (entry, lower, upper] against scipy, differences and those of plain rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant._engine._families import STANDARD
from censquant._engine.losses._likelihoods import location_scale, location_scale_rows
from censquant._engine.losses._shape import ShapeRows, ShapeTerms, shape_loss, shape_rows_loss
from censquant._engine.objectives._likelihoods import ShapeDistribution, shape_knots
from censquant.quantiles._grid import even_grid
from oracles import LAWS

INF = np.inf
LEARNED = [name for name, law in STANDARD.items() if hasattr(law, "code")]
families = pytest.mark.parametrize("family", LEARNED)
seeds = st.integers(0, 10**6)


def rows_of(rng, n=12):
    """Rows of every kind: time, event, lower, entry."""
    time = rng.normal(size=n)
    kind = np.arange(n) % 4  # exact, right, left, interval
    lower = np.select([kind == 2, kind == 3], [-INF, time - rng.uniform(0.01, 2, n)], time)
    before = np.where(np.isfinite(lower), lower, time)
    entry = np.where(rng.random(n) < 0.5, before - rng.uniform(0.01, 2, n), -INF)
    lower = np.where(kind == 2, np.maximum(lower, entry), lower)
    return time, kind != 1, lower, entry


def bent(rng, n, family, m=7):
    values = shape_knots(family, m) + rng.normal(0, 0.3, (n, 1))
    return np.sort(values + rng.normal(0, 0.1, (n, m)), axis=1), shape_knots(family, m)


def terms_of(knots, family, like=1.0, check=0.0, bounded=False):
    taus = even_grid(len(knots))
    return ShapeTerms(taus, knots, STANDARD[family].code, like, check, 2.03, bounded)


def shape(values, rows, weight, terms, floor=-INF):
    gradient = np.full_like(values, np.nan)
    return shape_rows_loss(values, ShapeRows(*rows, floor), weight, terms, gradient), gradient


def differences(loss_at, values, step=1e-6):
    slopes = np.empty_like(values)
    for place in np.ndindex(*values.shape):
        ends = []
        for side in (step, -step):
            moved = values.copy()
            moved[place] += side
            ends.append(loss_at(moved))
        slopes[place] = (ends[0] - ends[1]) / (2 * step)
    return slopes


@families
@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_gradients_of_stretched_laws_are_those_of_differences(family, seed):
    rng = np.random.default_rng(seed)
    rows, weight = rows_of(rng), rng.uniform(0.5, 2, 12)
    output, code = rng.normal(0, 0.7, (12, 2)), STANDARD[family].code

    def loss(values):
        return location_scale_rows(values, *rows, weight, code, np.empty_like(values))

    gradient = np.empty_like(output)
    # Of a large loss, as where a Gumbel time lies far out, a difference has few digits.
    slack = 1e-6 + 1e-5 * abs(location_scale_rows(output, *rows, weight, code, gradient))
    np.testing.assert_allclose(gradient, differences(loss, output), rtol=1e-4, atol=slack)


@families
@settings(max_examples=20, deadline=None)
@given(seed=seeds, floor=st.sampled_from([-INF, -2.5]))
def test_gradients_of_bent_laws_are_those_of_differences(family, seed, floor):
    rng = np.random.default_rng(seed)
    rows, weight = rows_of(rng), rng.uniform(0.5, 2, 12)
    if floor > -INF:
        rows = tuple(np.maximum(part, floor + 0.1) if k in (0, 2) else part
                     for k, part in enumerate(rows))  # fmt: skip
    values, knots = bent(rng, 12, family)
    terms = terms_of(knots, family)
    loss, gradient = shape(values, rows, weight, terms, floor)
    expected = differences(lambda v: shape(v, rows, weight, terms, floor)[0], values)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-6 + 1e-5 * abs(loss))


@families
def test_the_likelihood_is_that_of_scipy(family):
    rng = np.random.default_rng(0)
    time, event, lower, entry = rows = rows_of(rng, 40)
    law = LAWS[family]
    inside = np.where(event & (lower < time), law.cdf(time) - law.cdf(lower), law.sf(time))
    expected = np.where(event & (lower == time), law.logpdf(time), np.log(inside))
    expected = expected - np.log(law.sf(entry))
    softplus_of_one = np.log(np.expm1(1 - 1e-6))
    output = np.tile([0.0, softplus_of_one], (40, 1))
    loss = location_scale_rows(output, *rows, np.ones(40), STANDARD[family].code, output.copy())
    assert loss == pytest.approx(-expected.mean())
    knots = shape_knots(family, 9)
    values = np.tile(knots, (40, 1))
    terms = terms_of(knots, family)
    assert shape(values, rows, np.ones(40), terms)[0] == pytest.approx(-expected.mean())
    own = ShapeDistribution(values, family).rows_log_likelihood(*rows)
    np.testing.assert_allclose(own, expected, rtol=1e-9)


@families
@pytest.mark.parametrize("bounded", [False, True])
def test_plain_rows_are_scored_and_pulled_as_by_the_plain_loss(family, bounded):
    rng = np.random.default_rng(1)
    time, event = rng.normal(size=30), rng.random(30) < 0.6
    nothing = np.full(30, -INF)
    weight = rng.uniform(0.5, 2, 30)
    values, knots = bent(rng, 30, family)
    terms = terms_of(knots, family, check=0.3, bounded=bounded)
    expected = np.empty_like(values)
    plain = shape_loss(values, time, event, weight, terms, expected)
    loss, gradient = shape(values, (time, event, time, nothing), weight, terms)
    # Distances from a censored row's far end lack a constant where it is infinite.
    assert loss == pytest.approx(plain)
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)
    output, code = rng.normal(size=(30, 2)), STANDARD[family].code
    one, other = np.empty_like(output), np.empty_like(output)
    plain = location_scale(output, time, event, weight, code, one)
    rows = location_scale_rows(output, time, event, time, nothing, weight, code, other)
    assert rows == pytest.approx(plain)
    np.testing.assert_allclose(other, one, rtol=1e-12)


@families
def test_a_narrow_interval_has_its_density_and_a_wide_one_no_loss(family):
    code, output = STANDARD[family].code, np.array([[0.3, 0.1]])
    one, true, far = np.ones(1), np.array([True]), np.array([-INF])
    narrow = location_scale_rows(output, one, true, one - 1e-7, far, one, code, output.copy())
    exact = location_scale_rows(output, one, true, one, far, one, code, output.copy())
    assert narrow + np.log(1e-7) == pytest.approx(exact, rel=1e-5)
    wide = location_scale_rows(output, 60 * one, true, -60 * one, far, one, code, output.copy())
    assert wide == pytest.approx(0.0, abs=1e-9)


@families
def test_intervals_far_from_a_law_still_pull_it(family):
    code, one, true, far = STANDARD[family].code, np.ones(1), np.array([True]), np.array([-INF])
    for low, high in ((-60.0, -55.0), (14.0, 18.0), (-1e4, -9e3)):
        gradient = np.empty((1, 2))
        loss = location_scale_rows(
            np.array([[0.0, 0.5]]), one * high, true, one * low, far, one, code, gradient
        )
        assert np.isfinite(loss)
        assert np.isfinite(gradient).all()
        assert gradient[0, 0] * np.sign(low) < -0.5


def test_below_its_floor_a_law_has_nothing():
    rng = np.random.default_rng(2)
    values, _ = bent(rng, 5, "normal")
    values[4] -= 12.0  # nearly all of it lies below
    law, own = (ShapeDistribution(values, "normal", floor=end) for end in (-0.4, -INF))
    levels = np.array([[1e-6, 0.1, 0.5, 0.9, 1 - 1e-9]])
    times = law.quantile(levels)
    assert (times >= -0.4).all()
    np.testing.assert_allclose(law.cdf(times), np.repeat(levels, 5, axis=0), rtol=1e-6)
    np.testing.assert_allclose(law.survival(times) + law.cdf(times), 1.0)
    np.testing.assert_allclose(law.inverse_survival(1 - levels), times, rtol=1e-6)
    assert law.cdf(np.array([-0.4, -3.0])).max() == 0.0
    ratio = own.survival(np.array([0.7])) / own.survival(np.array([-0.4]))
    np.testing.assert_allclose(law.survival(np.array([0.7])), ratio)


def test_the_check_loss_given_entry_has_its_minimum_at_quantiles_given_entry():
    # Values of a normal law that are seen because they exceed -0.5: without their entries the
    # quantiles with the least loss would be those of what is seen.
    rng = np.random.default_rng(3)
    time = rng.normal(size=40_000)
    time = time[time > -0.5]
    knots = shape_knots("normal", 5)
    entry = np.full(time.size, -0.5)
    rows = (time, np.ones(time.size, bool), time, entry)
    terms = terms_of(knots, "normal", like=0.0, check=1.0)
    slopes = shape(np.tile(knots, (time.size, 1)), rows, np.ones(time.size), terms)[1].sum(axis=0)
    # The slope of the loss at a quantile is how far the share below it misses the level.
    np.testing.assert_allclose(slopes, 0.0, atol=0.01)
    unseen = shape_knots("normal", 5) < -0.5
    assert (slopes[unseen] == 0.0).all()
