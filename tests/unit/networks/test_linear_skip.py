"""A linear term beside a network: what it adds, and that it is trained like the rest."""

import pickle

import numpy as np
import pytest

from censquant._engine.networks._combined import LinearSkip
from censquant._engine.networks._dense import DenseNetwork

X = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
COEFFICIENTS = np.array([1.0, -2.0, 0.5])


def network(seed=1, dropout=0.0):
    rng = np.random.default_rng(seed)
    return LinearSkip(DenseNetwork([3, 5, 2], activation="tanh", dropout=dropout, rng=rng), 3)


def test_it_starts_as_the_network_alone():
    skip = network()
    np.testing.assert_array_equal(skip.predict(X), skip.network.predict(X))
    assert (skip.n_outputs, skip.n_parameters) == (2, skip.network.n_parameters + 3)


def test_it_adds_to_the_first_output_only():
    skip = network()
    skip.parameters[:] = COEFFICIENTS
    for found, inner in (
        (skip.predict(X), skip.network.predict(X)),
        (skip.forward(X, training=True), skip.network.forward(X, training=True)),
    ):
        np.testing.assert_allclose(found[:, 0], inner[:, 0] + X @ COEFFICIENTS, rtol=1e-5)
        np.testing.assert_array_equal(found[:, 1:], inner[:, 1:])


def test_the_outputs_of_the_network_stay_its_own():
    skip = network()
    skip.parameters[:] = 100.0
    inner = skip.network.predict(X)
    skip.forward(X, training=True)
    np.testing.assert_allclose(skip.network._out[: len(X)], inner, atol=1e-5)


def test_inputs_of_any_shape_are_taken_flat():
    class Sum:
        n_outputs, n_parameters = 1, 0

        def predict(self, x):
            return x.sum(axis=(1, 2))[:, None].astype(float)

        def forward(self, x, *, training):
            return x.sum(axis=(1, 2))[:, None]

        def backward(self, gradient):
            return 0.25

    images = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    skip = LinearSkip(Sum(), 6)
    skip.parameters[:] = 1.0
    np.testing.assert_allclose(skip.predict(images)[:, 0], 2 * images.sum(axis=(1, 2)))
    skip.forward(images, training=True)
    assert skip.backward(np.ones((2, 1), np.float32)) == 0.25
    np.testing.assert_allclose(skip.gradient, images.reshape(2, 6).sum(axis=0))


def test_its_gradient_is_that_of_differences():
    skip = network()
    skip.parameters[:] = COEFFICIENTS
    slopes = np.random.default_rng(2).normal(size=(7, 2)).astype(np.float32)
    skip.forward(X, training=True)
    assert skip.backward(slopes) == 0.0
    for i in range(3):
        moved = []
        for step in (0.25, -0.25):
            skip.parameters[:] = COEFFICIENTS
            skip.parameters[i] += step
            moved.append((skip.predict(X) * slopes).sum())
        assert skip.gradient[i] == pytest.approx((moved[0] - moved[1]) / 0.5, rel=1e-4)


def test_coefficients_are_trained_and_not_decayed():
    skip = network()
    skip.parameters[:] = COEFFICIENTS
    inner = skip.network.parameters.copy()
    optimizer = skip.optimizer(weight_decay=10.0)
    optimizer.step(0.01)
    np.testing.assert_array_equal(skip.parameters, COEFFICIENTS.astype("f4"))
    assert (np.abs(skip.network.parameters) < np.abs(inner)).all()
    skip.gradient[:] = 1.0
    optimizer.step(0.01)
    assert (skip.parameters < COEFFICIENTS).all()


def test_a_state_brings_network_coefficients_and_optimizer_back():
    def step(network, optimizer):
        network.forward(X, training=True)
        network.backward(np.ones((7, 2), np.float32))
        optimizer.step(0.05)

    one, other = network(dropout=0.3), network(seed=8, dropout=0.3)
    optimizer, other_optimizer = one.optimizer(0.01), other.optimizer(0.01)
    step(one, optimizer)
    other.load_state(one.state())
    other_optimizer.load_state(optimizer.state())
    step(one, optimizer)
    step(other, other_optimizer)
    for name, value in one.state().items():
        np.testing.assert_array_equal(other.state()[name], value)
    for name, value in optimizer.state().items():
        np.testing.assert_array_equal(other_optimizer.state()[name], value)


def test_a_pickle_predicts_alike_and_holds_no_batch():
    skip = network()
    skip.forward(X, training=True)
    copy = pickle.loads(pickle.dumps(skip))
    np.testing.assert_array_equal(copy.predict(X), skip.predict(X))
    assert not hasattr(copy, "_x")


def test_a_last_layer_of_factor_zero_gives_zeros():
    dense = network().network
    dense.shrink_last_layer(0.0)
    np.testing.assert_array_equal(dense.predict(X), 0.0)


def test_shrinking_scales_the_last_weights_and_removes_the_last_biases_alone():
    dense, same = network().network, network().network
    dense.shrink_last_layer(0.5)
    last = 5 * 2 + 2
    np.testing.assert_array_equal(dense.parameters[:-last], same.parameters[:-last])
    np.testing.assert_array_equal(dense.parameters[-last:-2], 0.5 * same.parameters[-last:-2])
    np.testing.assert_array_equal(dense.parameters[-2:], 0.0)
