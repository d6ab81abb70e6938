"""Networks made of others: with a head, with a linear term, or side by side."""

import pickle

import numpy as np
import pytest

from censquant._engine.networks._combined import (
    HeadedNetwork,
    IncreasingHead,
    LinearSkip,
    StackedNetwork,
)
from censquant._engine.networks._dense import DenseNetwork
from censquant._engine.objectives._grid import Portnoy
from censquant._engine.training._loop import TrainingConfig, train
from toys import censored_rows, shape_head

X = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
COEFFICIENTS = np.array([1.0, -2.0, 0.5])


def headed(head=None, *, seed=1, dropout=0.0):
    head = shape_head(5) if head is None else head
    rng = np.random.default_rng(seed)
    dense = DenseNetwork([3, 6, head.n_raw], activation="tanh", dropout=dropout, rng=rng)
    network = HeadedNetwork(dense, head)
    network.parameters[:] = rng.normal(size=len(network.parameters))
    return network


def skip(*, seed=1, dropout=0.0):
    rng = np.random.default_rng(seed)
    return LinearSkip(DenseNetwork([3, 5, 2], activation="tanh", dropout=dropout, rng=rng), 3)


def assert_same_state(one, other):
    assert list(one) == list(other)
    for name, value in one.items():
        np.testing.assert_array_equal(other[name], value)


extended = pytest.mark.parametrize("make", [headed, skip])


@extended
def test_own_parameters_are_trained_and_not_decayed(make):
    network = make()
    network.parameters[:] = np.linspace(-1.0, 2.0, len(network.parameters))
    inner, own = network.network.parameters.copy(), network.parameters.copy()
    optimizer = network.optimizer(weight_decay=10.0)
    optimizer.step(0.01)
    np.testing.assert_array_equal(network.parameters, own)
    assert (np.abs(network.network.parameters) < np.abs(inner)).all()
    network.gradient[:] = 1.0
    optimizer.step(0.01)
    assert (network.parameters < own).all()
    assert network.n_parameters == network.network.n_parameters + len(own)


@extended
def test_a_state_brings_network_own_parameters_and_optimizer_back(make):
    def step(network, optimizer):
        network.forward(X, training=True)
        network.backward(np.ones((7, network.n_outputs), np.float32))
        optimizer.step(0.05)

    one, other = make(dropout=0.3), make(seed=8, dropout=0.3)
    optimizer, other_optimizer = one.optimizer(0.01), other.optimizer(0.01)
    step(one, optimizer)
    other.load_state(one.state())
    other_optimizer.load_state(optimizer.state())
    step(one, optimizer)
    step(other, other_optimizer)
    assert_same_state(one.state(), other.state())
    assert_same_state(optimizer.state(), other_optimizer.state())


@extended
def test_a_pickle_predicts_alike_and_holds_no_batch(make):
    network = make()
    network.forward(X, training=True)
    copy = pickle.loads(pickle.dumps(network))
    np.testing.assert_array_equal(copy.predict(X), network.predict(X))
    assert not hasattr(copy, network._work)


def test_quantiles_of_a_headed_network_increase():
    network = headed(IncreasingHead(6))
    assert (np.diff(network.predict(X)) > 0).all()
    assert network.n_outputs == 6


# A linear term


def test_a_linear_term_starts_as_the_network_alone():
    network = skip()
    np.testing.assert_array_equal(network.predict(X), network.network.predict(X))
    assert network.n_outputs == 2


def test_a_linear_term_adds_to_the_first_output_only():
    network = skip()
    network.parameters[:] = COEFFICIENTS
    for found, inner in (
        (network.predict(X), network.network.predict(X)),
        (network.forward(X, training=True), network.network.forward(X, training=True)),
    ):
        np.testing.assert_allclose(found[:, 0], inner[:, 0] + X @ COEFFICIENTS, rtol=1e-5)
        np.testing.assert_array_equal(found[:, 1:], inner[:, 1:])


def test_the_outputs_of_the_network_stay_its_own():
    network = skip()
    network.parameters[:] = 100.0
    inner = network.network.predict(X)
    network.forward(X, training=True)
    np.testing.assert_allclose(network.network._out[: len(X)], inner, atol=1e-5)


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
    network = LinearSkip(Sum(), 6)
    network.parameters[:] = 1.0
    np.testing.assert_allclose(network.predict(images)[:, 0], 2 * images.sum(axis=(1, 2)))
    network.forward(images, training=True)
    assert network.backward(np.ones((2, 1), np.float32)) == 0.25
    np.testing.assert_allclose(network.gradient, images.reshape(2, 6).sum(axis=0))


def test_the_gradient_of_a_linear_term_is_that_of_differences():
    network = skip()
    network.parameters[:] = COEFFICIENTS
    slopes = np.random.default_rng(2).normal(size=(7, 2)).astype(np.float32)
    network.forward(X, training=True)
    assert network.backward(slopes) == 0.0
    for i in range(3):
        moved = []
        for step in (0.25, -0.25):
            network.parameters[:] = COEFFICIENTS
            network.parameters[i] += step
            moved.append((network.predict(X) * slopes).sum())
        assert network.gradient[i] == pytest.approx((moved[0] - moved[1]) / 0.5, rel=1e-4)


def test_a_last_layer_of_factor_zero_gives_zeros():
    dense = skip().network
    dense.shrink_last_layer(0.0)
    np.testing.assert_array_equal(dense.predict(X), 0.0)


def test_shrinking_scales_the_last_weights_and_removes_the_last_biases_alone():
    dense, same = skip().network, skip().network
    dense.shrink_last_layer(0.5)
    last = 5 * 2 + 2
    np.testing.assert_array_equal(dense.parameters[:-last], same.parameters[:-last])
    np.testing.assert_array_equal(dense.parameters[-last:-2], 0.5 * same.parameters[-last:-2])
    np.testing.assert_array_equal(dense.parameters[-2:], 0.0)


# A stack


def parts():
    """Networks of different widths, one of them with a penalty of its own."""
    rng = np.random.default_rng(1)
    head = shape_head()
    return [
        DenseNetwork([3, 4, 1], rng=rng),
        HeadedNetwork(DenseNetwork([3, head.n_raw], rng=rng), head),
        HeadedNetwork(DenseNetwork([3, 3, 2], rng=rng), IncreasingHead(2)),
    ]


@pytest.fixture
def singles():
    return parts()


@pytest.fixture
def stack():
    return StackedNetwork(parts())


def numbered(states):
    return {f"{i}.{name}": value for i, state in enumerate(states) for name, value in state.items()}


def test_outputs_stand_side_by_side(stack, singles):
    for training in (False, True):
        expected = np.hstack([network.forward(X, training=training).copy() for network in singles])
        np.testing.assert_array_equal(stack.forward(X, training=training), expected)
    assert stack.n_outputs == expected.shape[1] == 6


def test_predictions_stand_side_by_side(stack, singles):
    expected = np.hstack([network.predict(X) for network in singles])
    assert stack.predict(X).dtype == np.float64
    np.testing.assert_array_equal(stack.predict(X), expected)


def step(network, gradient, n_steps=3):
    """Some steps with a given derivative by the outputs; the penalties of the last one."""
    optimizer = network.optimizer(0.01)
    for _ in range(n_steps):
        network.forward(X, training=True)
        penalty = network.backward(gradient)
        optimizer.step(0.05)
    return penalty, optimizer


def test_each_part_learns_from_its_own_columns_alone(stack, singles):
    gradient = np.random.default_rng(2).normal(size=(7, 6)).astype(np.float32)
    penalty, optimizer = step(stack, gradient)
    penalties, optimizers = zip(
        *(
            step(network, np.ascontiguousarray(part))
            for network, part in zip(singles, np.split(gradient, [1, 4], axis=1), strict=True)
        ),
        strict=True,
    )
    assert penalty == pytest.approx(sum(penalties))
    assert penalty > 0
    assert_same_state(stack.state(), numbered([network.state() for network in singles]))
    assert_same_state(optimizer.state(), numbered([o.state() for o in optimizers]))


def test_a_state_taken_over_gives_the_same_outputs_and_steps(stack):
    gradient = np.random.default_rng(2).normal(size=(7, 6)).astype(np.float32)
    _, optimizer = step(stack, gradient)
    rng = np.random.default_rng(99)
    other = StackedNetwork(parts())
    for network in other.networks:
        network.load_state({k: rng.normal(size=v.shape) for k, v in network.state().items()})
    other_optimizer = other.optimizer(0.01)
    other.load_state(stack.state())
    other_optimizer.load_state(optimizer.state())
    np.testing.assert_array_equal(other.predict(X), stack.predict(X))
    for network, its_optimizer in ((stack, optimizer), (other, other_optimizer)):
        network.forward(X, training=True)
        network.backward(gradient)
        its_optimizer.step(0.05)
    assert_same_state(other.state(), stack.state())


def test_the_state_is_a_copy(stack):
    before = stack.predict(X)
    for value in stack.state().values():
        value[...] = 0
    np.testing.assert_array_equal(stack.predict(X), before)


def test_more_than_ten_networks_keep_their_states_apart():
    rng = np.random.default_rng(3)
    many = StackedNetwork([DenseNetwork([3, 1], rng=rng) for _ in range(12)])
    other = StackedNetwork([DenseNetwork([3, 1], rng=rng) for _ in range(12)])
    other.load_state(many.state())
    np.testing.assert_array_equal(other.predict(X), many.predict(X))


def test_a_stack_can_be_trained_as_any_network():
    rows = censored_rows(n_features=3)
    rng = np.random.default_rng(0)
    stack = StackedNetwork([DenseNetwork([3, 4, 1], rng=rng) for _ in range(3)])
    objective = Portnoy((0.25, 0.5, 0.75), "interpolate", y_star=3.0)
    history = train(stack, objective, rows, TrainingConfig(max_epochs=20, batch_size=16), rng)
    assert history[-1]["loss"] < history[0]["loss"]
