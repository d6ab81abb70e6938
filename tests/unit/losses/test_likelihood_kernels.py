"""Likelihoods of predicted parameters, levels of times, and the penalty on these."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr
from scipy.stats import laplace_asymmetric, norm

from censquant._engine._families import (
    STANDARD,
    _exponential,
    _mirrored_gumbel_survival,
    _normal_hazard,
)
from censquant._engine.losses._likelihoods import (
    SMALLEST_SCALE,
    _softplus,
    asymmetric_laplace,
    asymmetric_laplace_levels,
    calibration_penalty,
    location_scale,
    location_scale_levels,
)
from oracles import LAWS, precise_asymmetric_laplace, slow_asymmetric_laplace, slow_location_scale
from strategies import likelihood_rows

TOLERANCE = {np.float64: 1e-9, np.float32: 2e-5}

# The others are no loss of a network.
LEARNED = [name for name, law in STANDARD.items() if hasattr(law, "code")]


def stretched_law(output, family):
    """Distributions of scipy with the parameters behind outputs."""
    scale = np.logaddexp(0, output[:, 1]) + SMALLEST_SCALE
    return LAWS[family](loc=output[:, 0], scale=scale)


def laplace_law(output):
    """Asymmetric Laplace distributions of scipy with the parameters behind outputs."""
    location, log_scale, log_kappa = output.T
    return laplace_asymmetric(np.exp(log_kappa), loc=location, scale=np.exp(log_scale) / np.sqrt(2))


def stretched(output, time, event, weight, family):
    gradient = np.full_like(output, np.nan)
    return location_scale(output, time, event, weight, STANDARD[family].code, gradient), gradient


def laplace(output, time, event, weight):
    gradient = np.full_like(output, np.nan)
    return asymmetric_laplace(output, time, event, weight, gradient), gradient


def one_row(kernel, output, time, event, *family, dtype=np.float64):
    output = np.array([output], dtype=dtype)
    loss, gradient = kernel(
        output, np.array([time], dtype=dtype), np.array([event]), np.ones(1, dtype), *family
    )
    return loss, gradient[0]


KERNELS = {
    **{name: (lambda *rows, name=name: stretched(*rows, name), 2) for name in LEARNED},
    "laplace": (laplace, 3),
}


@pytest.fixture(params=KERNELS)
def kernel(request):
    """A kernel of ``(output, time, event, weight)`` and its number of outputs."""
    return KERNELS[request.param]


# Against scipy and autograd


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_likelihoods_are_those_of_scipy(name, data):
    call, width = KERNELS[name]
    rows = data.draw(likelihood_rows(width))
    law = laplace_law(rows.output) if name == "laplace" else stretched_law(rows.output, name)
    values = np.where(rows.event, law.logpdf(rows.time), law.logsf(rows.time))
    loss, _ = call(*rows)
    assert loss == pytest.approx(-np.mean(rows.weight * values), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", TOLERANCE)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_gradients_are_those_of_autograd(dtype, name, data):
    call, width = KERNELS[name]
    rows = data.draw(likelihood_rows(width, dtype=dtype))
    loss, gradient = call(*rows)
    oracle = slow_asymmetric_laplace if name == "laplace" else slow_location_scale
    expected_loss, expected = oracle(*rows, *(() if name == "laplace" else (name,)))
    assert gradient.dtype == dtype
    assert loss == pytest.approx(expected_loss, rel=TOLERANCE[dtype], abs=TOLERANCE[dtype])
    np.testing.assert_allclose(gradient, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


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


def test_far_events_pull_the_location_towards_themselves(kernel):
    call, width = kernel
    times = np.array([-1e8, -40.0, 40.0, 1e8])
    _, gradient = call(np.zeros((4, width)), times, np.ones(4, dtype=bool), np.ones(4))
    # A step goes against the gradient.
    np.testing.assert_array_equal(np.sign(-gradient[:, 0]), np.sign(times))


def test_a_row_censored_far_beyond_the_location_still_pulls_it_up(kernel):
    call, width = kernel
    for u in (40.0, 1e8):
        loss, gradient = one_row(call, [0.0] * width, u, False)
        assert gradient[0] < 0
        # And asks for more spread.
        assert gradient[1] < 0
        assert loss > 10


def test_a_row_censored_far_below_the_location_says_nothing(kernel):
    call, width = kernel
    for u in (-40.0, -1e8):
        loss, gradient = one_row(call, [0.0] * width, u, False)
        assert loss == pytest.approx(0, abs=1e-15)
        np.testing.assert_allclose(gradient, 0, atol=1e-15)


def test_at_the_floor_of_the_scale_a_row_that_is_off_asks_for_more_spread():
    for family, event in product(LEARNED, [True, False]):
        loss, gradient = one_row(stretched, [0.0, -30.0], 1.0, event, family)
        assert loss > 1e5
        assert gradient[0] < 0
        assert gradient[1] < 0


@pytest.mark.parametrize("family", LEARNED)
def test_an_event_that_is_hit_asks_for_less_spread_down_to_the_floor(family):
    loss, gradient = one_row(stretched, [2.0, -30.0], 2.0, True, family)
    assert loss == pytest.approx(np.log(SMALLEST_SCALE) - LAWS[family].logpdf(0.0), abs=1e-6)
    # The scale hardly moves there: its slope is that of the softplus.
    assert gradient[1] == pytest.approx(np.exp(-30) / SMALLEST_SCALE, rel=1e-6)


def test_the_normal_log_survival_is_exact_in_both_tails():
    places = [-37, -20, -8, -3, -1e-3, 0, 1e-3, 1, 5.999999, 6, 6.5, 12, 40, 1e3, 1e5, 1e8]
    hazard, loss = np.array([_normal_hazard(float(u)) for u in places]).T
    u = np.array(places)
    np.testing.assert_allclose(loss, -log_ndtr(-u), rtol=1e-12)
    # Beyond, the difference of two huge logarithms has no digits left.
    near = np.abs(u) < 1e5
    expected = np.exp(norm.logpdf(u[near]) - log_ndtr(-u[near]))
    np.testing.assert_allclose(hazard[near], expected, rtol=1e-9)
    np.testing.assert_allclose(hazard[~near], u[~near] + 1 / u[~near], rtol=1e-12)


@settings(max_examples=100, deadline=None)
@given(u=st.floats(-37, 1e8))
def test_the_normal_log_survival_is_exact_anywhere(u):
    assert _normal_hazard(u)[1] == pytest.approx(-log_ndtr(-u), rel=1e-12, abs=0)


def test_the_survival_of_a_mirrored_gumbel_is_exact_in_both_tails():
    for u in (-1e8, -40.0):
        assert _mirrored_gumbel_survival(u) == (0.0, 0.0)
    for u in (30.1, 40.0, 1e8):
        assert _mirrored_gumbel_survival(u) == (pytest.approx(u, rel=1e-14), 1.0)
    u = np.array([-3.0, 0.0, 0.3, 0.4, 5.0, 29.9])
    loss, slope = np.array([_mirrored_gumbel_survival(place) for place in u]).T
    e = np.exp(-u)
    np.testing.assert_allclose(loss, -np.log(-np.expm1(-e)), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(slope, e / np.expm1(e), rtol=1e-12, atol=1e-12)


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


def test_the_softplus_has_no_overflow():
    raw = np.array([-800.0, -30.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, 30.0, 800.0])
    value, slope = np.array([_softplus(each) for each in raw]).T
    np.testing.assert_allclose(value, np.logaddexp(0, raw), rtol=1e-14)
    np.testing.assert_allclose(slope, np.exp(-np.logaddexp(0, -raw)), rtol=1e-14)


def test_scale_and_asymmetry_are_held_within_bounds():
    for place, sign, event, time in product([1, 2], [-1, 1], [True, False], [-2.0, 2.0]):
        inside, beyond = np.zeros(3), np.zeros(3)
        inside[place], beyond[place] = sign * 15.0, sign * 40.0
        bound, _ = one_row(laplace, inside, time, event)
        loss, gradient = one_row(laplace, beyond, time, event)
        assert loss == bound
        assert gradient[place] == 0


@pytest.mark.parametrize("event", [True, False])
def test_the_asymmetric_laplace_is_exact_at_any_asymmetry(event):
    for log_kappa, time, log_scale in product(
        [-14.5, -8.0, -3.0, 0.0, 3.0, 8.0, 14.5],
        [-1e3, -1.5, -1e-4, 1e-4, 1.5, 1e3],
        [-5.0, 0.0, 5.0],
    ):
        parameters = [0.0, log_scale, log_kappa]
        loss, gradient = one_row(laplace, parameters, time, event)
        expected_loss, expected = precise_asymmetric_laplace(parameters, time, event)
        # The oracle has 80 digits after the point; gradients are sums of terms around 1.
        assert loss == pytest.approx(expected_loss, rel=1e-11, abs=1e-50), parameters
        np.testing.assert_allclose(gradient, expected, rtol=1e-11, atol=1e-15)


# Levels, and the penalty on those that are not uniform


@pytest.mark.parametrize("name", KERNELS)
def test_levels_are_those_of_scipy_and_slopes_those_of_differences(name):
    width = KERNELS[name][1]
    rng = np.random.default_rng(2)
    output, time = rng.normal(size=(30, width)), rng.normal(scale=2.0, size=30)

    def at(values):
        levels, slopes = np.empty(30), np.empty((30, width))
        if name == "laplace":
            asymmetric_laplace_levels(values, time, levels, slopes)
        else:
            location_scale_levels(values, time, STANDARD[name].code, levels, slopes)
        return levels, slopes

    levels, slopes = at(output)
    law = laplace_law(output) if name == "laplace" else stretched_law(output, name)
    np.testing.assert_allclose(levels, law.cdf(time), atol=1e-12)
    for j in range(width):
        shift = np.eye(width)[j] * 1e-6
        difference = (at(output + shift)[0] - at(output - shift)[0]) / 2e-6
        np.testing.assert_allclose(slopes[:, j], difference, atol=1e-8)


def penalty(levels, event, weight=None, n_bins=20, sharpness=1e4):
    slopes = np.full(len(levels), np.nan)
    weight = np.ones(len(levels)) if weight is None else weight
    return calibration_penalty(levels, event, weight, n_bins, sharpness, slopes), slopes


def level_rows(seed=0, n=40):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.01, 0.98, n), rng.random(n) < 0.5, rng.uniform(0.5, 2.0, n)


def test_the_derivative_of_the_penalty_is_that_of_differences():
    levels, event, weight = level_rows()
    _, slopes = penalty(levels, event, weight)
    for i in range(len(levels)):
        shift = np.zeros(len(levels))
        shift[i] = 1e-7
        high, low = (penalty(levels + sign * shift, event, weight)[0] for sign in (1, -1))
        assert slopes[i] == pytest.approx((high - low) / 2e-7, rel=1e-4, abs=1e-6)


def test_sharp_bins_count_rows_as_the_metric_does():
    levels, event, weight = level_rows(1, 200)
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


def test_an_event_at_its_location_has_the_derivative_of_the_left_side():
    output = np.array([[0.0, 0.0, np.log(2.0)]])
    _, gradient = laplace(output, np.zeros(1), np.array([True]), np.ones(1))
    assert gradient[0, 0] == pytest.approx(np.sqrt(2.0) / 2.0)
