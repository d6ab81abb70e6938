import numpy as np
import pytest
import torch

from censquant._engine.networks._dense import Adam


def start(n=40):
    return np.random.default_rng(0).normal(size=n).astype(np.float32)


def gradients(n_steps, n=40):
    """Gradients of very different sizes, with exact zeros among them."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(n_steps, n)) * 10.0 ** rng.integers(-3, 3, size=n)
    values[:, :3] = 0
    return values.astype(np.float32)


def rate(step):
    return 0.05 * 0.9**step


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_fifty_steps_are_those_of_torch(weight_decay):
    parameters, gradient = start(), np.zeros(40, dtype=np.float32)
    adam = Adam(parameters, gradient, weight_decay=weight_decay)
    expected = torch.tensor(start(), requires_grad=True)
    twin = torch.optim.Adam([expected], weight_decay=weight_decay)
    for step, values in enumerate(gradients(50)):
        gradient[:] = values
        adam.step(rate(step))
        twin.param_groups[0]["lr"] = rate(step)
        expected.grad = torch.tensor(values)
        twin.step()
    np.testing.assert_allclose(parameters, expected.detach().numpy(), rtol=1e-5, atol=2e-6)


def test_the_gradient_is_not_changed():
    gradient = gradients(1)[0]
    before = gradient.copy()
    Adam(start(), gradient, weight_decay=0.5).step(0.1)
    np.testing.assert_array_equal(gradient, before)


def test_a_loaded_state_resumes_bit_for_bit():
    values = gradients(30)
    whole, gradient = start(), np.zeros(40, dtype=np.float32)
    adam = Adam(whole, gradient, weight_decay=0.01)
    for step in range(30):
        if step == 12:
            halfway, state = whole.copy(), adam.state()
        gradient[:] = values[step]
        adam.step(rate(step))
    resumed_gradient = np.zeros(40, dtype=np.float32)
    resumed = Adam(halfway, resumed_gradient, weight_decay=0.01)
    resumed.load_state(state)
    for step in range(12, 30):
        resumed_gradient[:] = values[step]
        resumed.step(rate(step))
    np.testing.assert_array_equal(halfway, whole)


def test_the_decay_leaves_no_subnormal_number_behind():
    """A processor is many times slower with numbers below 1.2e-38 than with others."""
    parameters, gradient = start(), np.zeros(40, dtype=np.float32)
    parameters[:5] = 0
    adam = Adam(parameters, gradient, weight_decay=0.01)
    gradient[:] = gradients(1)[0]
    gradient[:5] = 0
    adam.step(0.05)
    gradient[:] = 0
    for _ in range(20_000):
        adam.step(0.05)
    state = adam.state()
    smallest_normal = np.finfo(np.float32).tiny
    for values in [parameters, state["mean"], state["square"]]:
        assert (np.abs(values[values != 0]) >= smallest_normal).all()
    assert (parameters[:5] == 0).all()
    assert (np.abs(parameters) == np.float32(1e-12)).any()


def test_a_weight_that_was_decayed_away_grows_again():
    parameters = np.full(4, 1e-3, dtype=np.float32)
    gradient = np.zeros(4, dtype=np.float32)
    adam = Adam(parameters, gradient, weight_decay=0.1)
    for _ in range(5_000):
        adam.step(0.01)
    assert (np.abs(parameters) < 1e-9).all()
    gradient[:] = -1
    for _ in range(100):
        adam.step(0.01)
    assert (parameters > 0.1).all()
