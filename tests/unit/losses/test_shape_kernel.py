"""The mixed loss of bent quantiles against autograd, differences and scipy."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from censquant._engine._families import STANDARD
from censquant._engine.losses._shape import ShapeTerms, shape_log_likelihood, shape_loss
from censquant.quantiles._grid import even_grid
from oracles import LAWS, slow_shape_loss
from strategies import shape_rows

TOLERANCE = {np.float64: 1e-9, np.float32: 1e-4}
# The others are no loss of a network.
LEARNED = [name for name, law in STANDARD.items() if hasattr(law, "code")]
families = pytest.mark.parametrize("family", LEARNED)


def mixed(rows, family, *, likelihood=1.0, check=0.3, limit=3.03, bounded=False):
    """Loss and gradient of rows on the kernel's own grid."""
    predicted, time, event, weight = rows
    taus = even_grid(predicted.shape[1])
    gradient = np.full_like(predicted, np.nan)
    terms = ShapeTerms(
        taus.astype(predicted.dtype), LAWS[family].ppf(taus), STANDARD[family].code,
        likelihood, check, limit, bounded,
    )  # fmt: skip
    return shape_loss(predicted, time, event, weight, terms, gradient), gradient


def single(predicted, time, event, family, dtype=np.float64, **options):
    rows = np.array([predicted], dtype), np.array([time], dtype), np.array([event]), np.ones(1)
    loss, gradient = mixed(rows, family, **options)
    return loss, gradient[0]


@families
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("dtype", TOLERANCE)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_gradients_are_those_of_autograd(dtype, bounded, family, data):
    rows = data.draw(shape_rows(data.draw(st.integers(2, 6)), dtype=dtype))
    weights = data.draw(st.sampled_from([(1.0, 0.3), (0.3, 1.0), (1.0, 0.0), (0.0, 1.0)]))
    options = {"likelihood": weights[0], "check": weights[1], "limit": 3.03, "bounded": bounded}
    taus = even_grid(rows.predicted.shape[1])
    knots = LAWS[family].ppf(taus)
    loss, gradient = mixed(rows, family, **options)
    expected_loss, expected = slow_shape_loss(*rows, taus, knots, family, **options)
    assert gradient.dtype == dtype
    slack = TOLERANCE[dtype] * (1 + np.abs(expected).max() + abs(expected_loss))
    assert loss == pytest.approx(expected_loss, abs=slack)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=slack)


@families
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_gradient_of_the_likelihood_is_that_of_differences(family, data):
    # No gradient flows through the level of the check loss: it has no differences to compare with.
    rows = data.draw(shape_rows(data.draw(st.integers(2, 5))))
    options = {"likelihood": 1.0, "check": 0.0}
    loss, gradient = mixed(rows, family, **options)
    step = 1e-6
    for i, k in np.ndindex(*rows.predicted.shape):
        moved = []
        for side in (step, -step):
            predicted = rows.predicted.copy()
            predicted[i, k] += side
            moved.append(mixed(rows._replace(predicted=predicted), family, **options)[0])
        slope = (moved[0] - moved[1]) / (2 * step)
        # Losses around 1e5, where a Gumbel time lies far out, have few digits for a difference.
        assert gradient[i, k] == pytest.approx(slope, rel=1e-5, abs=1e-6 + 1e-9 * abs(loss) / step)


@families
def test_quantiles_of_the_family_itself_have_its_likelihood(family):
    law = LAWS[family](loc=0.5, scale=0.7)
    # The continued exponential starts beyond these times.
    time, event = np.tile([-3.0, -0.4, 0.1, 1.9], 2), np.repeat([True, False], 4)
    out, quantiles = np.empty(8), np.tile(law.ppf(even_grid(19)), (8, 1))
    knots = LAWS[family].ppf(even_grid(19))
    shape_log_likelihood(quantiles, time, event, knots, STANDARD[family].code, out)
    np.testing.assert_allclose(out, np.where(event, law.logpdf(time), law.logsf(time)), rtol=1e-10)


@families
def test_the_log_likelihood_of_rows_is_minus_their_loss(family):
    rng = np.random.default_rng(0)
    predicted = np.sort(rng.normal(size=(30, 19)), axis=1)
    time, event = rng.normal(size=30), rng.random(30) < 0.5
    out = np.empty(30)
    knots = LAWS[family].ppf(even_grid(19))
    shape_log_likelihood(predicted, time, event, knots, STANDARD[family].code, out)
    loss, _ = mixed((predicted, time, event, np.ones(30)), family, check=0.0)
    assert out.mean() == pytest.approx(-loss, rel=1e-12)


@families
def test_the_likelihood_has_no_jump_where_a_quantile_passes_the_time(family):
    predicted = np.array([-1.0, -0.2, 0.3, 1.7])
    for event in (True, False):
        for knot in predicted:
            below, above = (
                single(predicted, knot + side, event, family, check=0.0)[0]
                for side in (-1e-9, 1e-9)
            )
            assert below == pytest.approx(above, abs=1e-7)


def test_quantiles_above_the_limit_have_no_check_loss_in_family_mode():
    predicted = [0.0, 1.0, 2.0]
    for event in (True, False):
        _, free = single(predicted, 0.5, event, "normal", likelihood=0.0, check=1.0, limit=9.0)
        _, cut = single(predicted, 0.5, event, "normal", likelihood=0.0, check=1.0, limit=1.5)
        np.testing.assert_array_equal(cut[:2], free[:2])
        assert free[2] != 0
        assert cut[2] == 0


def test_in_bounded_mode_a_quantile_beyond_the_limit_is_called_back():
    predicted = [0.0, 1.0, 2.0]
    options = {"likelihood": 0.0, "check": 1.0, "bounded": True}
    _, below = single(predicted, -1.0, False, "normal", limit=9.0, **options)
    _, beyond = single(predicted, -1.0, False, "normal", limit=1.5, **options)
    assert below[2] < 0 < beyond[2]
    # The whole row lies below the limit then: an event would say the same.
    assert beyond[2] == pytest.approx(1 - 0.75)


def test_an_event_pulls_at_all_quantiles_by_the_plain_check_loss():
    _, gradient = single([0.0, 1.0, 2.0], 0.5, True, "gumbel", likelihood=0.0, check=1.0)
    np.testing.assert_allclose(gradient, [-0.25, 0.5, 0.25])


@families
def test_a_row_of_weight_two_counts_as_two_rows(family):
    rng = np.random.default_rng(0)
    predicted = np.sort(rng.normal(size=(3, 5)), axis=1)
    time, event = rng.normal(size=3), np.array([True, False, True])
    loss, gradient = mixed((predicted, time, event, np.array([2.0, 2.0, 0.0])), family)
    twice = np.array([0, 0, 1, 1])
    rows = predicted[twice], time[twice], event[twice], np.ones(4)
    expected, parts = mixed(rows, family)
    # The mean divides by the number of rows, not by the sum of their weights.
    assert loss == pytest.approx(4 * expected / 3)
    np.testing.assert_allclose(gradient[0], 4 * (parts[0] + parts[1]) / 3)
    np.testing.assert_allclose(gradient[1], 4 * (parts[2] + parts[3]) / 3)
    np.testing.assert_array_equal(gradient[2], 0)


@families
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("bounded", [True, False])
def test_extreme_rows_have_finite_losses_and_gradients(family, bounded, dtype):
    cases = list(product([-1e6, -40.0, 40.0, 1e6], [1e-3, 1.0, 1e3], [True, False]))
    time, gap, event = (np.array(column) for column in zip(*cases, strict=True))
    predicted = (gap[:, None] * np.arange(5)).astype(dtype)
    rows = predicted, time.astype(dtype), event, np.ones(len(time))
    loss, gradient = mixed(rows, family, limit=1e30, bounded=bounded)
    assert np.isfinite(loss)
    assert np.isfinite(gradient).all()


@families
def test_quantiles_that_rounding_made_equal_give_finite_gradients(family):
    for event in (True, False):
        loss, gradient = single([1.0, 1.0, 1.0], 1.0, event, family, np.float32)
        assert np.isfinite(loss)
        assert np.isfinite(gradient).all()


@families
def test_far_events_pull_all_quantiles_towards_themselves(family):
    for u in (-40.0, 40.0):
        _, gradient = single([-1.0, 0.0, 1.0], u, True, family, limit=1e30)
        # A step goes against the gradient.
        assert np.sign(-gradient.sum()) == np.sign(u)


@families
def test_a_row_censored_far_below_says_nothing_of_the_likelihood(family):
    loss, gradient = single([-1.0, 0.0, 1.0], -60.0, False, family, check=0.0)
    assert loss == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(gradient, 0, atol=1e-12)
