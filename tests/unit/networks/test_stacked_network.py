"""A stack does what its networks do, side by side."""

import numpy as np
import pytest

from censquant._engine.networks._combined import HeadedNetwork, StackedNetwork
from censquant._engine.networks._dense import DenseNetwork
from censquant._engine.networks._heads import IncreasingHead
from censquant._engine.objectives._grid import Portnoy
from censquant._engine.training._loop import TrainingConfig, train
from toys import censored_rows, shape_head

X = np.random.default_rng(0).normal(size=(7, 2)).astype(np.float32)


def parts():
    """Networks of different widths, one of them with a penalty of its own."""
    rng = np.random.default_rng(1)
    head = shape_head()
    return [
        DenseNetwork([2, 4, 1], rng=rng),
        HeadedNetwork(DenseNetwork([2, head.n_raw], rng=rng), head),
        HeadedNetwork(DenseNetwork([2, 3, 2], rng=rng), IncreasingHead(2)),
    ]


@pytest.fixture
def singles():
    return parts()


@pytest.fixture
def stack():
    return StackedNetwork(parts())


def assert_same_state(one, other):
    assert list(one) == list(other)
    for name, value in one.items():
        np.testing.assert_array_equal(other[name], value)


def numbered(states):
    return {f"{i}.{name}": value for i, state in enumerate(states) for name, value in state.items()}


@pytest.mark.parametrize("training", [False, True])
def test_outputs_stand_side_by_side(stack, singles, training):
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
    many = StackedNetwork([DenseNetwork([2, 1], rng=rng) for _ in range(12)])
    other = StackedNetwork([DenseNetwork([2, 1], rng=rng) for _ in range(12)])
    other.load_state(many.state())
    np.testing.assert_array_equal(other.predict(X), many.predict(X))


def test_a_stack_can_be_trained_as_any_network():
    rows = censored_rows()
    rng = np.random.default_rng(0)
    stack = StackedNetwork([DenseNetwork([2, 4, 1], rng=rng) for _ in range(3)])
    objective = Portnoy((0.25, 0.5, 0.75), "interpolate", y_star=3.0)
    history = train(stack, objective, rows, TrainingConfig(max_epochs=20, batch_size=16), rng)
    assert history[-1]["loss"] < history[0]["loss"]
