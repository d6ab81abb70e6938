from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr
from scipy.stats import gumbel_l, gumbel_r, laplace_asymmetric, norm

from censquant._engine._families import (
    GUMBEL,
    MIRRORED_GUMBEL,
    NORMAL,
    _exponential,
    _mirrored_gumbel_survival,
    _normal_hazard,
)
from censquant._engine.losses._likelihoods import (
    SMALLEST_SCALE,
    _softplus,
    asymmetric_laplace,
    location_scale,
)
from oracles import precise_asymmetric_laplace, slow_asymmetric_laplace, slow_location_scale
from strategies import likelihood_rows

TOLERANCE = {np.float64: 1e-9, np.float32: 2e-5}
FAMILIES = {"normal": NORMAL, "gumbel": GUMBEL, "mirrored gumbel": MIRRORED_GUMBEL}
LAWS = {"normal": norm, "gumbel": gumbel_l, "mirrored gumbel": gumbel_r}


def stretched(output, time, event, weight, family):
    gradient = np.full_like(output, np.nan)
    return location_scale(output, time, event, weight, FAMILIES[family], gradient), gradient


def laplace(output, time, event, weight):
    gradient = np.full_like(output, np.nan)
    return asymmetric_laplace(output, time, event, weight, gradient), gradient


def one_row(kernel, output, time, event, *family, dtype=np.float64):
    output = np.array([output], dtype=dtype)
    loss, gradient = kernel(
        output, np.array([time], dtype=dtype), np.array([event]), np.ones(1, dtype), *family
    )
    return loss, gradient[0]


# Against scipy and autograd


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=60, deadline=None)
@given(rows=likelihood_rows(2))
def test_stretched_likelihoods_are_those_of_scipy(family, rows):
    loss, _ = stretched(*rows, family)
    scale = np.logaddexp(0, rows.output[:, 1]) + SMALLEST_SCALE
    law = LAWS[family](loc=rows.output[:, 0], scale=scale)
    values = np.where(rows.event, law.logpdf(rows.time), law.logsf(rows.time))
    assert loss == pytest.approx(-np.mean(rows.weight * values), rel=1e-10, abs=1e-10)


@settings(max_examples=60, deadline=None)
@given(rows=likelihood_rows(3))
def test_the_asymmetric_laplace_likelihood_is_that_of_scipy(rows):
    loss, _ = laplace(*rows)
    location, log_scale, log_kappa = rows.output.T
    law = laplace_asymmetric(np.exp(log_kappa), loc=location, scale=np.exp(log_scale) / np.sqrt(2))
    values = np.where(rows.event, law.logpdf(rows.time), law.logsf(rows.time))
    assert loss == pytest.approx(-np.mean(rows.weight * values), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype", TOLERANCE)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_gradients_of_stretched_likelihoods_are_those_of_autograd(dtype, family, data):
    rows = data.draw(likelihood_rows(2, dtype=dtype))
    loss, gradient = stretched(*rows, family)
    expected_loss, expected = slow_location_scale(*rows, family)
    assert gradient.dtype == dtype
    assert loss == pytest.approx(expected_loss, rel=TOLERANCE[dtype], abs=TOLERANCE[dtype])
    np.testing.assert_allclose(gradient, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_gradient_of_the_asymmetric_laplace_is_that_of_autograd(dtype, data):
    rows = data.draw(likelihood_rows(3, dtype=dtype))
    loss, gradient = laplace(*rows)
    expected_loss, expected = slow_asymmetric_laplace(*rows)
    assert gradient.dtype == dtype
    assert loss == pytest.approx(expected_loss, rel=TOLERANCE[dtype], abs=TOLERANCE[dtype])
    np.testing.assert_allclose(gradient, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


KERNELS = {
    "normal": (lambda *rows: stretched(*rows, "normal"), 2),
    "gumbel": (lambda *rows: stretched(*rows, "gumbel"), 2),
    "mirrored gumbel": (lambda *rows: stretched(*rows, "mirrored gumbel"), 2),
    "laplace": (laplace, 3),
}


@pytest.fixture(params=KERNELS)
def kernel(request):
    """A kernel of ``(output, time, event, weight)`` and its number of outputs."""
    return KERNELS[request.param]


def test_a_row_of_weight_two_counts_as_two_rows(kernel):
    call, width = kernel
    rng = np.random.default_rng(0)
    output, time = rng.normal(size=(3, width)), rng.normal(size=3)
    event = np.array([True, False, True])
    loss, gradient = call(output, time, event, np.array([2.0, 2.0, 0.0]))
    twice = np.array([0, 0, 1, 1])
    expected, parts = call(output[twice], time[twice], event[twice], np.ones(4))
    # The mean divides by the number of rows, not by the sum of their weights.
    assert loss == pytest.approx(4 * expected / 3)
    np.testing.assert_allclose(gradient[0], 4 * (parts[0] + parts[1]) / 3)
    np.testing.assert_allclose(gradient[1], 4 * (parts[2] + parts[3]) / 3)
    np.testing.assert_array_equal(gradient[2], 0)


# Extremes


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_extreme_rows_have_finite_losses_and_gradients(kernel, dtype):
    call, width = kernel
    times = [1e-8, 1e8, np.log(1e-8), np.log(1e8), -1e8]
    for time, raw, event in product(times, [-30.0, 0.0, 30.0], [True, False]):
        two, three = ([0.0, raw], [5.0, raw]), ([0.0, raw, raw], [0.0, raw, -raw])
        for output in two if width == 2 else three:
            loss, gradient = one_row(call, output, time, event, dtype=dtype)
            assert np.isfinite(loss), (output, time, event)
            assert np.isfinite(gradient).all(), (output, time, event)


@pytest.mark.parametrize("u", [-1e8, -40.0, 40.0, 1e8])
def test_far_events_pull_the_location_towards_themselves(kernel, u):
    call, width = kernel
    _, gradient = one_row(call, [0.0] * width, u, True)
    # A step goes against the gradient.
    assert np.sign(-gradient[0]) == np.sign(u)


@pytest.mark.parametrize("u", [40.0, 1e8])
def test_a_row_censored_far_beyond_the_location_still_pulls_it_up(kernel, u):
    call, width = kernel
    loss, gradient = one_row(call, [0.0] * width, u, False)
    assert gradient[0] < 0
    # And asks for more spread.
    assert gradient[1] < 0
    assert loss > 10


@pytest.mark.parametrize("u", [-40.0, -1e8])
def test_a_row_censored_far_below_the_location_says_nothing(kernel, u):
    call, width = kernel
    loss, gradient = one_row(call, [0.0] * width, u, False)
    assert loss == pytest.approx(0, abs=1e-15)
    np.testing.assert_allclose(gradient, 0, atol=1e-15)


@pytest.mark.parametrize("event", [True, False])
def test_at_the_floor_of_the_scale_a_row_that_is_off_asks_for_more_spread(event):
    for family in FAMILIES:
        loss, gradient = one_row(stretched, [0.0, -30.0], 1.0, event, family)
        assert loss > 1e5
        assert gradient[0] < 0
        assert gradient[1] < 0


@pytest.mark.parametrize("family", FAMILIES)
def test_an_event_that_is_hit_asks_for_less_spread_down_to_the_floor(family):
    loss, gradient = one_row(stretched, [2.0, -30.0], 2.0, True, family)
    at_centre = 0.5 * np.log(2 * np.pi) if family == "normal" else 1.0  # of either Gumbel
    assert loss == pytest.approx(np.log(SMALLEST_SCALE) + at_centre, abs=1e-6)
    # The scale hardly moves there: its slope is that of the softplus.
    assert gradient[1] == pytest.approx(np.exp(-30) / SMALLEST_SCALE, rel=1e-6)


@pytest.mark.parametrize("u", [-37.0, -20.0, -8.0, -3.0, -1e-3, 0.0, 1e-3, 1.0, 5.999999,
                               6.0, 6.5, 12.0, 40.0, 1e3, 1e5, 1e8])  # fmt: skip
def test_the_normal_log_survival_is_exact_in_both_tails(u):
    hazard, loss = _normal_hazard(u)
    expected = -log_ndtr(-u)
    assert loss == pytest.approx(expected, rel=1e-12, abs=0)
    if abs(u) < 1e5:  # beyond, the difference of two huge logarithms has no digits left
        assert hazard == pytest.approx(np.exp(norm.logpdf(u) + expected), rel=1e-9)
    else:
        assert hazard == pytest.approx(u + 1 / u, rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(u=st.floats(-37, 1e8))
def test_the_normal_log_survival_is_exact_anywhere(u):
    assert _normal_hazard(u)[1] == pytest.approx(-log_ndtr(-u), rel=1e-12, abs=0)


@pytest.mark.parametrize("u", [-1e8, -40.0, -3.0, 0.0, 0.3, 0.4, 5.0, 29.9, 30.1, 40.0, 1e8])
def test_the_survival_of_a_mirrored_gumbel_is_exact_in_both_tails(u):
    loss, slope = _mirrored_gumbel_survival(u)
    if u < -5:
        assert (loss, slope) == (0.0, 0.0)
    elif u > 30:
        assert loss == pytest.approx(u, rel=1e-14)
        assert slope == 1.0
    else:
        e = np.exp(-u)
        assert loss == pytest.approx(-np.log(-np.expm1(-e)), rel=1e-12)
        assert slope == pytest.approx(e / np.expm1(e), rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(rows=likelihood_rows(2))
def test_events_are_as_likely_under_the_mirrored_law_when_mirrored(rows):
    seen = rows._replace(event=np.ones_like(rows.event))
    mirrored = seen._replace(output=seen.output * [-1, 1], time=-seen.time)
    loss, gradient = stretched(*seen, "gumbel")
    mirrored_loss, mirrored_gradient = stretched(*mirrored, "mirrored gumbel")
    assert mirrored_loss == pytest.approx(loss)
    np.testing.assert_allclose(mirrored_gradient, gradient * [-1, 1])


def test_the_exponential_goes_on_as_its_tangent():
    for value, slope in (_exponential(30.0), _exponential(np.nextafter(30.0, 31.0))):
        assert value == pytest.approx(np.exp(30.0), rel=1e-12)
        assert slope == pytest.approx(np.exp(30.0), rel=1e-12)
    value, slope = _exponential(1e8)
    assert slope == pytest.approx(np.exp(30.0), rel=1e-12)
    assert value == pytest.approx(np.exp(30.0) * (1e8 - 29), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(u=st.floats(-50, 50))
def test_the_slope_of_the_continued_exponential_is_its_difference(u):
    step = 1e-5
    above, below = _exponential(u + step)[0], _exponential(u - step)[0]
    assert _exponential(u)[1] == pytest.approx((above - below) / (2 * step), rel=1e-4)


@pytest.mark.parametrize("raw", [-800.0, -30.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, 30.0, 800.0])
def test_the_softplus_has_no_overflow(raw):
    value, slope = _softplus(raw)
    assert value == pytest.approx(np.logaddexp(0, raw), rel=1e-14)
    assert slope == pytest.approx(np.exp(-np.logaddexp(0, -raw)), rel=1e-14)


@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("event", [True, False])
@pytest.mark.parametrize("time", [-2.0, 2.0])
def test_scale_and_asymmetry_are_held_within_bounds(place, sign, event, time):
    inside, beyond = np.zeros(3), np.zeros(3)
    inside[place], beyond[place] = sign * 15.0, sign * 40.0
    bound, _ = one_row(laplace, inside, time, event)
    loss, gradient = one_row(laplace, beyond, time, event)
    assert loss == bound
    assert gradient[place] == 0


@pytest.mark.parametrize("event", [True, False])
@pytest.mark.parametrize("log_kappa", [-14.5, -8.0, -3.0, 0.0, 3.0, 8.0, 14.5])
def test_the_asymmetric_laplace_is_exact_at_any_asymmetry(log_kappa, event):
    for time, log_scale in product([-1e3, -1.5, -1e-4, 1e-4, 1.5, 1e3], [-5.0, 0.0, 5.0]):
        parameters = [0.0, log_scale, log_kappa]
        loss, gradient = one_row(laplace, parameters, time, event)
        expected_loss, expected = precise_asymmetric_laplace(parameters, time, event)
        # The oracle has 80 digits after the point; gradients are sums of terms around 1.
        assert loss == pytest.approx(expected_loss, rel=1e-11, abs=1e-50), (time, log_scale)
        np.testing.assert_allclose(gradient, expected, rtol=1e-11, atol=1e-15)
