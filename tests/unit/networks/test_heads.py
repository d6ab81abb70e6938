import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from censquant._engine.networks._combined import HeadedNetwork
from censquant._engine.networks._dense import DenseNetwork
from censquant._engine.networks._heads import IncreasingHead
from toys import shape_head

DTYPES = {np.float64: 1e-6, np.float32: 1e-5}


def increasing(raw):
    """The increasing head as a torch expression."""
    steps = torch.nn.functional.softplus(raw[:, 1:])
    return torch.cumsum(torch.cat([raw[:, :1], steps], dim=1), dim=1)


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_increasing_head_is_a_running_sum_of_softplus(dtype, data):
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 5)))
    width = 32 if dtype is np.float32 else 64
    raw = data.draw(arrays(dtype, shape, elements=st.floats(-30, 30, width=width)))
    slopes = data.draw(arrays(dtype, shape, elements=st.floats(-2, 2, width=width)))
    head = IncreasingHead(shape[1])
    out, raw_gradient = np.empty_like(raw), np.empty_like(raw)
    head.forward(raw, np.empty(0, dtype), out)
    assert head.backward(raw, np.empty(0, dtype), slopes, raw_gradient, np.empty(0, dtype)) == 0
    leaf = torch.tensor(raw, dtype=torch.float64, requires_grad=True)
    expected = increasing(leaf)
    expected.backward(torch.tensor(slopes, dtype=torch.float64))
    tolerance = DTYPES[dtype] * shape[1]
    np.testing.assert_allclose(out, expected.detach(), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(raw_gradient, leaf.grad, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("value", [0.0, 50.0, -50.0, 1e4, -1e4])
def test_the_increasing_head_is_right_far_out(value):
    raw = np.array([[0.0, value]], dtype=np.float32)
    out, raw_gradient = np.empty_like(raw), np.empty_like(raw)
    IncreasingHead(2).forward(raw, np.empty(0), out)
    assert out[0, 1] == pytest.approx(np.logaddexp(0, value), rel=1e-6, abs=1e-20)
    IncreasingHead(2).backward(raw, np.empty(0), np.ones_like(raw), raw_gradient, np.empty(0))
    assert raw_gradient[0, 1] == pytest.approx(np.exp(-np.logaddexp(0, -value)), abs=1e-6)


def test_the_increasing_head_has_as_many_raw_outputs_as_quantiles_and_nothing_of_its_own():
    head = IncreasingHead(4)
    assert (head.n_raw, head.n_outputs) == (4, 4)
    assert head.initial_parameters().size == 0


def headed(head=None, *, seed=0, dropout=0.0):
    head = shape_head(5) if head is None else head
    rng = np.random.default_rng(seed)
    dense = DenseNetwork([2, 6, head.n_raw], activation="tanh", dropout=dropout, rng=rng)
    network = HeadedNetwork(dense, head)
    network.parameters[:] = rng.normal(size=len(network.parameters))
    return network


def rows(n=5):
    return np.random.default_rng(3).normal(size=(n, 2)).astype(np.float32)


def test_own_parameters_are_trained_and_not_decayed():
    network = headed()
    inner, own = network.network.parameters.copy(), network.parameters.copy()
    optimizer = network.optimizer(weight_decay=10.0)
    network.network.gradient[:] = 0
    network.gradient[:] = 0
    optimizer.step(0.01)
    np.testing.assert_array_equal(network.parameters, own)
    assert (np.abs(network.network.parameters) < np.abs(inner)).all()
    network.gradient[:] = 1
    optimizer.step(0.01)
    assert (network.parameters < own).all()


def test_quantiles_of_a_headed_network_increase():
    network = headed(IncreasingHead(6))
    assert (np.diff(network.predict(rows(50))) > 0).all()
    assert network.n_outputs == 6


def test_a_state_brings_network_head_and_optimizer_back():
    network, x, slopes = headed(dropout=0.3), rows(), np.ones((5, 5), dtype=np.float32)
    optimizer = network.optimizer(0.01)

    def step(network, optimizer):
        network.forward(x, training=True)
        network.backward(slopes)
        optimizer.step(0.05)

    step(network, optimizer)
    other = headed(seed=8, dropout=0.3)
    other_optimizer = other.optimizer(0.01)
    other.load_state(network.state())
    other_optimizer.load_state(optimizer.state())
    step(network, optimizer)
    step(other, other_optimizer)
    for name, value in network.state().items():
        np.testing.assert_array_equal(other.state()[name], value)
    for name, value in optimizer.state().items():
        np.testing.assert_array_equal(other_optimizer.state()[name], value)


def test_a_pickled_headed_network_predicts_alike():
    network = headed()
    network.forward(rows(), training=True)
    copy = pickle.loads(pickle.dumps(network))
    np.testing.assert_array_equal(copy.predict(rows()), network.predict(rows()))
    assert not hasattr(copy, "_raw")
