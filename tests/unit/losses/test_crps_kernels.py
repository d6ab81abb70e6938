"""The survival CRPS against numerical integration, finite differences and autograd."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import owens_t as scipy_owens_t
from scipy.stats import laplace_asymmetric, lognorm, weibull_min

from censquant._engine._families import GUMBEL, NORMAL
from censquant._engine.losses._crps import (
    LARGEST_SPREAD,
    asymmetric_laplace_crps,
    log_time_crps,
    owens_t,
)
from censquant._engine.losses._likelihoods import SMALLEST_SCALE
from strategies import LikelihoodRows, likelihood_rows

FAMILIES = {"log-normal": NORMAL, "weibull": GUMBEL}


def log_times(output, time, event, weight, family, unit=1.0, mirrored=False):
    gradient = np.full_like(output, np.nan)
    loss = log_time_crps(output, time, event, weight, FAMILIES[family], unit, mirrored, gradient)
    return loss, gradient


def laplace(output, time, event, weight):
    gradient = np.full_like(output, np.nan)
    return asymmetric_laplace_crps(output, time, event, weight, gradient), gradient


def random_rows(rng, width, n=12):
    return LikelihoodRows(
        rng.normal(size=(n, width)),
        rng.normal(size=n),
        rng.random(n) < 0.5,
        rng.uniform(0.5, 2.0, n),
    )


def law_of(family, output):
    sigma = np.logaddexp(0, output[1]) + SMALLEST_SCALE
    if family == "log-normal":
        return lognorm(sigma, scale=np.exp(output[0]))
    return weibull_min(1 / sigma, scale=np.exp(output[0]))


def integral(function, low, high):
    """Integrate piece by piece, the pieces growing with their distance to both ends."""
    growing = low + (high - low) * np.logspace(-9, 0, 40)
    ends = np.unique(np.concatenate((np.linspace(low, high, 30), growing)))
    half = np.diff(ends)[:, None] / 2
    nodes, weights = np.polynomial.legendre.leggauss(40)
    return (half * weights * function(ends[:-1, None] + half * (nodes + 1))).sum()


def integrals(law, y, low):
    top = max(law.isf(1e-12), y + 1e-9)
    return (
        integral(lambda t: law.cdf(t) ** 2, low, y),
        integral(lambda t: law.sf(t) ** 2, y, top),
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("event", [True, False])
@pytest.mark.parametrize("mirrored", [True, False])
def test_the_score_of_log_times_is_that_of_numerical_integration(family, event, mirrored):
    rng = np.random.default_rng(0)
    for _ in range(6):
        output = np.array([rng.normal(), rng.normal()])
        sigma = np.logaddexp(0, output[1])
        log_time = output[0] + sigma * rng.normal(scale=1.5)
        before, after = integrals(law_of(family, output), np.exp(log_time), 0.0)
        expected = before * (event or not mirrored) + after * (event or mirrored)
        sign = -1.0 if mirrored else 1.0
        row = np.array([[sign * output[0], output[1]]])
        times = np.array([sign * log_time])
        loss, _ = log_times(row, times, np.array([event]), np.ones(1), family, 1.0, mirrored)
        assert loss == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("event", [True, False])
def test_the_score_of_asymmetric_laplace_times_is_that_of_numerical_integration(event):
    rng = np.random.default_rng(1)
    for _ in range(8):
        output, time = rng.normal(scale=0.7, size=3), rng.normal(scale=2.0)
        law = laplace_asymmetric(
            np.exp(output[2]), loc=output[0], scale=np.exp(output[1]) / np.sqrt(2)
        )
        low = min(law.ppf(1e-12), time - 1.0)
        kinks = sorted({low, min(max(output[0], low), time), time})
        before = sum(
            integral(lambda t, law=law: law.cdf(t) ** 2, *ends) for ends in pairwise(kinks)
        )
        top = max(law.isf(1e-12), time + 1.0)
        kinks = sorted({time, max(min(output[0], top), time), top})
        after = sum(integral(lambda t, law=law: law.sf(t) ** 2, *ends) for ends in pairwise(kinks))
        loss, _ = laplace(output[None], np.array([time]), np.array([event]), np.ones(1))
        assert loss == pytest.approx(before + event * after, rel=1e-6, abs=1e-6)


def assert_gradient_is_that_of_differences(kernel, rows):
    _, gradient = kernel(*rows)
    step = 1e-5
    for cell in np.ndindex(rows.output.shape):
        shift = np.zeros_like(rows.output)
        shift[cell] = step
        high, _ = kernel(rows.output + shift, *rows[1:])
        low, _ = kernel(rows.output - shift, *rows[1:])
        assert gradient[cell] == pytest.approx((high - low) / (2 * step), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mirrored", [True, False])
def test_gradients_of_log_times_are_finite_differences(family, mirrored):
    rng = np.random.default_rng(2)
    rows = random_rows(rng, 2)
    assert_gradient_is_that_of_differences(
        lambda *row: log_times(*row, family, 0.7, mirrored), rows
    )


def test_gradients_of_asymmetric_laplace_times_are_finite_differences():
    assert_gradient_is_that_of_differences(laplace, random_rows(np.random.default_rng(3), 3))


# Autograd through a quadrature of the definition: none of the closed forms is used.

_NODES, _WEIGHTS = (torch.tensor(a) for a in np.polynomial.legendre.leggauss(400))


def quadrature(function, low, high):
    half = 0.5 * (high - low)
    return (half * _WEIGHTS * function(low + half * (_NODES + 1))).sum()


def quadrature_of_log_time(parameters, y, event, family):
    mu, sigma = parameters[0], torch.nn.functional.softplus(parameters[1]) + SMALLEST_SCALE
    spread = float(sigma.detach())
    low = min(float(mu.detach()) - 30 * spread, y - 1)
    high = max(float(mu.detach()) + 12 * spread + 6 * spread**2, y + 1)

    def level(v):
        u = (v - mu) / sigma
        return torch.special.ndtr(u) if family == "log-normal" else -torch.expm1(-torch.exp(u))

    loss = quadrature(lambda v: level(v) ** 2 * torch.exp(v), low, y)
    if event:
        loss = loss + quadrature(lambda v: (1 - level(v)) ** 2 * torch.exp(v), y, high)
    return loss


def quadrature_of_laplace(parameters, y, event):
    theta, kappa = parameters[0], torch.exp(parameters[2])
    mean = torch.exp(parameters[1]) / np.sqrt(2)
    early, late, below = mean * kappa, mean / kappa, kappa**2 / (1 + kappa**2)

    def rising(t):
        return below * torch.exp((t - theta) / early)

    def falling(t):
        return (1 - below) * torch.exp(-(t - theta) / late)

    middle, begin = torch.clamp(theta, max=y), torch.clamp(theta, min=y)
    loss = quadrature(lambda t: rising(t) ** 2, middle - 30 * early, middle)
    if y > theta:
        loss = loss + quadrature(lambda t: (1 - falling(t)) ** 2, theta, y)
    if event:
        loss = loss + quadrature(lambda t: falling(t) ** 2, begin, begin + 30 * late)
        if y < theta:
            loss = loss + quadrature(lambda t: (1 - rising(t)) ** 2, y, theta)
    return loss


def by_autograd(rows, loss_of):
    leaf = torch.tensor(rows.output, requires_grad=True)
    columns = zip(rows.time.tolist(), rows.event.tolist(), rows.weight.tolist(), strict=True)
    parts = [w * loss_of(leaf[i], y, event) for i, (y, event, w) in enumerate(columns)]
    total = sum(parts) / len(parts)
    total.backward()
    return float(total.detach()), leaf.grad.numpy()


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_of_log_times_are_those_of_autograd(family):
    rows = random_rows(np.random.default_rng(4), 2)
    expected = by_autograd(rows, lambda *row: quadrature_of_log_time(*row, family))
    loss, gradient = log_times(*rows, family)
    assert loss == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-5, atol=1e-6)


def test_gradients_of_asymmetric_laplace_times_are_those_of_autograd():
    rows = random_rows(np.random.default_rng(5), 3)
    expected = by_autograd(rows, quadrature_of_laplace)
    loss, gradient = laplace(*rows)
    assert loss == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-5, atol=1e-6)


@given(st.floats(-8, 8), st.floats(-30, 30))
@settings(max_examples=100, deadline=None)
def test_owens_function_is_that_of_scipy(h, a):
    assert owens_t(h, a) == pytest.approx(scipy_owens_t(h, a), abs=1e-14)


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=30, deadline=None)
@given(rows=likelihood_rows(2))
def test_scores_are_not_negative_and_finite(family, rows):
    loss, gradient = log_times(*rows, family)
    assert loss >= -1e-9
    assert np.isfinite(gradient).all()


def test_times_in_another_unit_have_the_same_gradient_direction():
    rows = random_rows(np.random.default_rng(6), 2)
    loss, gradient = log_times(*rows, "log-normal")
    later = np.array([np.log(3.0), 0.0])
    shifted = rows._replace(output=rows.output + later, time=rows.time + np.log(3.0))
    other, scaled = log_times(*shifted, "log-normal")
    assert other == pytest.approx(3.0 * loss)
    np.testing.assert_allclose(scaled, 3.0 * gradient, rtol=1e-9)


def test_spreads_beyond_the_largest_one_have_no_slope():
    output = np.array([[0.0, LARGEST_SPREAD + 5.0]])
    loss, gradient = log_times(output, np.zeros(1), np.array([True]), np.ones(1), "log-normal")
    assert np.isfinite(loss)
    assert gradient[0, 1] == 0.0


def test_a_censored_row_prefers_distributions_beyond_its_time():
    output = np.array([[0.0, 0.0], [3.0, 0.0]])
    for i in range(2):
        _, gradient = log_times(
            output[i : i + 1], np.zeros(1), np.array([False]), np.ones(1), "log-normal"
        )
        assert gradient[0, 0] < 0.0
