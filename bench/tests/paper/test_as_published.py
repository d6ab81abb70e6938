"""The two baselines as they were run, against slow and obvious versions."""

import numpy as np
import pytest
import torch

from censquant._engine.training._rows import Rows
from censquant.survival import kaplan_meier
from censquant_bench.paper._as_published import EventCurvePinball, MixedUpNormalLikelihood


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    time, event = rng.normal(size=n), rng.random(n) < 0.6
    return Rows.from_arrays(np.zeros((n, 1)), time=time, event=event)


def test_the_mixed_up_gradient_is_that_of_the_broadcast_loss():
    batch = rows()
    output = np.random.default_rng(1).normal(size=(40, 2)).astype(np.float32)
    gradient = np.empty_like(output)
    loss = MixedUpNormalLikelihood().gradient(output, batch, gradient)

    # As it happened: indicators of shape (n, 1) against rows of shape (n,).
    raw = torch.tensor(output, dtype=torch.float64, requires_grad=True)
    scale = torch.nn.functional.softplus(raw[:, 1]) + 1e-6
    law = torch.distributions.Normal(raw[:, 0], scale)
    time = torch.tensor(batch.time, dtype=torch.float64)
    seen = torch.tensor(batch.event, dtype=torch.float64)[:, None]
    u = (time - raw[:, 0]) / scale
    log_density = -(0.5 * u**2 + scale.log())  # up to a constant
    log_survival = (1 - law.cdf(time) + 1e-4).log()
    slow = -(seen * log_density + (1 - seen) * log_survival).mean()
    slow.backward()
    assert loss == pytest.approx(slow.item(), rel=1e-6)
    np.testing.assert_allclose(gradient, raw.grad.numpy(), rtol=1e-4, atol=1e-7)


def test_events_are_weighted_by_the_curve_of_the_event():
    train = rows()
    prepared = EventCurvePinball((0.5,)).bind(train).prepare(train)
    curve = kaplan_meier(train.time, train.event)
    expected = np.where(train.event, 1 / (curve(train.time) + 0.01), 0)
    np.testing.assert_allclose(prepared.weight, expected, rtol=1e-6)


def test_weights_need_the_training_rows():
    with pytest.raises(RuntimeError, match="prepare needs a bound objective"):
        EventCurvePinball((0.5,)).prepare(rows())
