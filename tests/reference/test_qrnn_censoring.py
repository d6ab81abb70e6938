"""Fixed-value censoring of R's qrnn is Powell's loss with one censoring time for all.

The cost of qrnn (Cannon 2011), written from its formulas: predictions are cut at the limit by a
ramp, and errors are tilted, both with corners rounded by Huber's function of width eps. The package
lowers eps step by step to 2^-32.
"""

import numpy as np
import pytest

from censquant import CQRNN
from censquant._engine.losses._grid import powell

TAUS = np.array([0.1, 0.5, 0.9])


def huber(x, eps):
    return np.where(np.abs(x) > eps, np.abs(x) - eps / 2, x**2 / (2 * eps))


def qrnn_cost(predicted, time, lower, tau, eps):
    """Mean cost of one level, the only one that a network of qrnn has."""
    cut = lower + np.where(predicted > lower, huber(predicted - lower, eps), 0.0)
    error = time - cut
    return np.mean(np.where(error > 0, tau, 1 - tau) * huber(error, eps))


def rows(seed=0, n=200, lower=-0.3):
    rng = np.random.default_rng(seed)
    time = np.maximum(rng.normal(size=n), lower)
    return rng.normal(size=(n, 3)), time, lower


def powell_of_left_censored(predicted, time, lower):
    """Powell's loss in model units, which are mirrored for left censoring."""
    gradient = np.empty_like(predicted)
    limit, ones = np.full(len(time), -lower), np.ones(len(time))
    loss = powell(-predicted, -time, limit, ones, 1.0 - TAUS, gradient)
    return loss, -gradient


@pytest.mark.parametrize("eps", [2.0**-8, 2.0**-16, 2.0**-32])
def test_the_cost_differs_from_powells_loss_by_the_rounded_corners_alone(eps):
    predicted, time, lower = rows()
    cost = sum(qrnn_cost(predicted[:, k], time, lower, tau, eps) for k, tau in enumerate(TAUS))
    loss, _ = powell_of_left_censored(predicted, time, lower)
    # Two corners, each off by half of eps at most.
    assert abs(cost - loss) <= len(TAUS) * eps + 1e-12


def test_the_gradient_of_the_cost_is_that_of_powells_loss_off_the_corners():
    predicted, time, lower = rows(1)
    _, gradient = powell_of_left_censored(predicted, time, lower)
    eps, step = 2.0**-20, 1e-7
    n = len(time)
    near = (np.abs(predicted - lower) < 1e-4) | (np.abs(predicted - time[:, None]) < 1e-4)
    for i, k in zip(*np.nonzero(~near), strict=True):
        ends = [
            qrnn_cost(predicted[i : i + 1, k] + s, time[i : i + 1], lower, TAUS[k], eps) / n
            for s in (-step, step)
        ]
        assert gradient[i, k] == pytest.approx((ends[1] - ends[0]) / (2 * step), abs=1e-6)


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_constant_censoring_time_recovers_quantiles_on_the_known_side_of_it(side):
    rng = np.random.default_rng(0)
    sign = 1.0 if side == "right" else -1.0
    x = rng.uniform(-1, 1, 800)
    truth = sign * (2 * x + 0.3 * rng.normal(size=800))
    limit = sign * 1.0
    time = np.minimum(truth, limit) if side == "right" else np.maximum(truth, limit)
    event = time != limit
    model = CQRNN(
        [0.25, 0.5, 0.75],
        censoring=side,
        hidden_layer_sizes=(32,),
        max_epochs=60,
        time_transform="standardize",
        random_state=0,
    )
    model.fit(x[:, None], (time, event), censoring_time=np.full(800, limit))
    inner = np.linspace(-0.9, 0.2, 12)[:, None]
    median = model.predict_quantiles(inner, [0.5], beyond="extrapolate")[:, 0]
    assert np.abs(median - sign * 2 * inner[:, 0]).mean() < 0.12
