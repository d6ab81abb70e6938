"""The censored asymmetric Laplace likelihood around quantiles."""

import numpy as np
import pytest
from scipy.stats import laplace_asymmetric

from censquant._engine.losses._grid import powell, tobit_laplace

TAUS = np.array([0.1, 0.5, 0.9])


def call(predicted, time, event, weight, scale=0.7):
    gradient = np.full_like(predicted, np.nan)
    return tobit_laplace(predicted, time, event, weight, TAUS, scale, gradient), gradient


def rows(seed=0, n=20):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(n, 3)),
        rng.normal(size=n),
        rng.random(n) < 0.5,
        rng.uniform(0.5, 2.0, n),
    )


def test_the_loss_is_that_of_scipys_asymmetric_laplace():
    predicted, time, event, weight = rows()
    loss, _ = call(predicted, time, event, weight)
    total = 0.0
    for k, tau in enumerate(TAUS):
        kappa = np.sqrt(tau / (1 - tau))
        law = laplace_asymmetric(kappa, predicted[:, k], 0.7 / np.sqrt(tau * (1 - tau)))
        # Densities count without their constant.
        constant = np.log(tau * (1 - tau) / 0.7)
        values = np.where(event, law.logpdf(time) - constant, law.logsf(time))
        total -= np.mean(weight * values)
    assert loss == pytest.approx(total, rel=1e-10)


def test_the_gradient_is_that_of_differences():
    predicted, time, event, weight = rows(1)
    _, gradient = call(predicted, time, event, weight)
    for cell in np.ndindex(predicted.shape):
        shift = np.zeros_like(predicted)
        shift[cell] = 1e-6
        high, low = (call(predicted + s * shift, time, event, weight)[0] for s in (1, -1))
        assert gradient[cell] == pytest.approx((high - low) / 2e-6, abs=1e-8)


def test_the_gradient_tends_to_powells_as_the_scale_vanishes():
    predicted, time, event, weight = rows(2)
    limit, expected = np.where(event, np.inf, time), np.empty_like(predicted)
    powell(predicted, time, np.minimum(limit, 1e30), weight, TAUS, expected)
    scale = 1e-6
    _, gradient = call(predicted, time, event, weight, scale)
    np.testing.assert_allclose(gradient * scale, expected, atol=1e-12)


def test_predictions_beyond_a_censoring_time_are_pushed_on_but_less_and_less():
    slopes = [
        call(np.full((1, 3), q), np.zeros(1), np.array([False]), np.ones(1))[1][0]
        for q in (0.1, 1.0, 5.0)
    ]
    assert (np.array(slopes) < 0).all()
    assert (np.diff(np.abs(slopes), axis=0) < 0).all()
