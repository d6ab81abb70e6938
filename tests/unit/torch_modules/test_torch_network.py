import pickle
import re

import numpy as np
import pytest
import torch

from censquant._engine.networks._dense import DenseNetwork
from censquant._engine.training._loop import TrainingConfig, train
from censquant.torch import TorchNetwork
from toys import TAUS, censored_rows, portnoy_objective


class Net(torch.nn.Module):
    """A small module with dropout; at module level, so that it can be pickled."""

    def __init__(self, shape, n_outputs):
        super().__init__()
        self.hidden = torch.nn.Linear(*shape, 5)
        self.drop = torch.nn.Dropout(0.5)
        self.last = torch.nn.Linear(5, n_outputs)

    def forward(self, x):
        return self.last(self.drop(torch.tanh(self.hidden(x))))


def make(seed=0, factory=Net):
    return TorchNetwork.from_factory(factory, (2,), 3, rng=np.random.default_rng(seed))


def rows(n=6):
    return np.random.default_rng(1).normal(size=(n, 2)).astype(np.float32)


def step(network, optimizer, rate=0.05):
    output = network.forward(rows(), training=True).copy()
    assert network.backward(np.ones((6, 3), dtype=np.float32)) == 0.0
    optimizer.step(rate)
    return output


def test_outputs_and_gradients_are_the_modules():
    network = make(factory=lambda shape, n: torch.nn.Linear(*shape, n))
    slopes = np.random.default_rng(2).normal(size=(6, 3)).astype(np.float32)
    output = network.forward(rows(), training=True)
    network.backward(slopes)
    module = network.module
    np.testing.assert_allclose(
        output, rows() @ module.weight.detach().numpy().T + module.bias.detach().numpy(), atol=1e-6
    )
    np.testing.assert_allclose(module.weight.grad, slopes.T @ rows(), atol=1e-5)
    np.testing.assert_allclose(module.bias.grad, slopes.sum(axis=0), atol=1e-5)


def test_a_second_backward_pass_does_not_add_to_the_first():
    network = make(factory=lambda shape, n: torch.nn.Linear(*shape, n))
    for _ in range(2):
        network.forward(rows(), training=True)
        network.backward(np.ones((6, 3), dtype=np.float32))
    np.testing.assert_allclose(network.module.bias.grad, 6.0)


def test_it_trains_as_the_dense_network_does():
    dense = DenseNetwork([2, 4, 3], activation="tanh", rng=np.random.default_rng(0))
    module = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3))
    flat = dense.parameters
    module[0].weight.data = torch.tensor(flat[:8].reshape(2, 4).T.copy())
    module[0].bias.data = torch.tensor(flat[8:12])
    module[2].weight.data = torch.tensor(flat[12:24].reshape(4, 3).T.copy())
    module[2].bias.data = torch.tensor(flat[24:])
    twin = TorchNetwork(module, 3)
    config = TrainingConfig(max_epochs=3, batch_size=16)
    for network in (dense, twin):
        train(network, portnoy_objective(), censored_rows(), config, np.random.default_rng(5))
    np.testing.assert_allclose(twin.predict(rows()), dense.predict(rows()), atol=2e-4)


def test_predictions_in_blocks_are_those_of_the_module():
    network = make()
    x = rows(2500)
    network.module.eval()
    with torch.no_grad():
        expected = network.module(torch.from_numpy(x))
    predicted = network.predict(x.astype(np.float64))
    assert predicted.dtype == np.float64
    np.testing.assert_allclose(predicted, expected, atol=1e-6)
    assert network.predict(x[:0]).shape == (0, 3)


def test_dropout_is_for_training_alone():
    network = make()
    quiet = network.forward(rows(), training=False).copy()
    assert (network.forward(rows(), training=True) != quiet).any()
    np.testing.assert_array_equal(network.forward(rows(), training=False), quiet)
    np.testing.assert_array_equal(network.predict(rows()), quiet)


def test_global_generators_are_not_moved():
    torch.manual_seed(3)
    np.random.seed(3)  # noqa: NPY002
    expected = torch.rand(1), np.random.random()  # noqa: NPY002
    torch.manual_seed(3)
    np.random.seed(3)  # noqa: NPY002
    network = make()
    optimizer = network.optimizer(0.0)
    step(network, optimizer)
    network.predict(rows())
    assert (torch.rand(1), np.random.random()) == expected  # noqa: NPY002


def test_weights_and_masks_are_those_of_the_seed():
    torch.manual_seed(1)
    one = make(seed=4)
    torch.manual_seed(2)
    same, other = make(seed=4), make(seed=5)
    outputs = [network.forward(rows(), training=True) for network in (one, same, other)]
    np.testing.assert_array_equal(outputs[0], outputs[1])
    assert (outputs[0] != outputs[2]).any()


def test_every_step_has_a_new_mask():
    network = make()
    first = network.forward(rows(), training=True).copy()
    assert (network.forward(rows(), training=True) != first).any()


def test_every_step_on_a_gpu_has_a_new_seed(monkeypatch):
    # Stands in for a GPU, whose numbers do not move the stream that is kept on the CPU.
    seeds, fork = [], torch.random.fork_rng
    monkeypatch.setattr(torch.random, "fork_rng", lambda devices: fork(devices=[]))
    monkeypatch.setattr(torch.cuda, "manual_seed", seeds.append)
    for network in (make(), make()):
        network.device = torch.device("cuda")
        for _ in range(3):
            with network._own_stream():
                pass
    assert len(set(seeds[:3])) == 3
    assert seeds[:3] == seeds[3:]


def test_a_state_goes_on_bit_for_bit():
    network = make()
    optimizer = network.optimizer(0.01)
    step(network, optimizer)
    other = make(seed=9)
    other_optimizer = other.optimizer(0.01)
    other.load_state(network.state())
    other_optimizer.load_state(optimizer.state())
    for rate in (0.05, 0.001):
        np.testing.assert_array_equal(
            step(network, optimizer, rate), step(other, other_optimizer, rate)
        )
    for name, value in network.state().items():
        np.testing.assert_array_equal(other.state()[name], value)
    for name, value in optimizer.state().items():
        np.testing.assert_array_equal(other_optimizer.state()[name], value)


def test_a_state_is_a_copy():
    network = make()
    state = network.state()
    kept = {name: value.copy() for name, value in state.items()}
    step(network, network.optimizer(0.0))
    for name, value in kept.items():
        np.testing.assert_array_equal(state[name], value)


def test_parameters_that_are_frozen_stay():
    def factory(shape, n_outputs):
        module = Net(shape, n_outputs)
        module.hidden.requires_grad_(False)
        return module

    network = make(factory=factory)
    before = network.state()
    step(network, network.optimizer(0.1))
    np.testing.assert_array_equal(
        network.state()["module.hidden.weight"], before["module.hidden.weight"]
    )
    assert (network.state()["module.last.weight"] != before["module.last.weight"]).any()


def test_a_pickled_network_predicts_and_goes_on_alike():
    network = make()
    network.forward(rows(), training=True)
    copy = pickle.loads(pickle.dumps(network))
    np.testing.assert_array_equal(copy.predict(rows()), network.predict(rows()))
    np.testing.assert_array_equal(
        copy.forward(rows(), training=True), network.forward(rows(), training=True)
    )


def test_rows_of_any_shape_are_taken():
    def factory(shape, n_outputs):
        return torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(int(np.prod(shape)), n_outputs)
        )

    network = TorchNetwork.from_factory(factory, (2, 3, 4), 5, rng=np.random.default_rng(0))
    assert network.predict(np.zeros((7, 2, 3, 4))).shape == (7, 5)


def test_a_module_of_double_precision_is_trained_in_it():
    class Double(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x.double())

    network = TorchNetwork(Double(2, 3, dtype=torch.float64), 3)
    output = step(network, network.optimizer(0.0))
    assert output.dtype == np.float32
    assert network.state()["module.weight"].dtype == np.float64


def test_a_factory_must_return_a_module():
    message = "network must return a torch.nn.Module, got function."
    with pytest.raises(TypeError, match="^" + re.escape(message) + "$"):
        make(factory=lambda shape, n_outputs: lambda x: x)


@pytest.mark.parametrize("training", [True, False])
def test_outputs_of_a_wrong_shape_are_refused(training):
    network = TorchNetwork(torch.nn.Linear(2, 4), 3)
    message = "network must map 6 rows to outputs of shape (6, 3), got (6, 4)."
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        network.forward(rows(), training=training)


def test_backward_needs_a_forward_pass_in_training():
    network = make()
    message = "backward needs a forward pass with training=True before it."
    network.forward(rows(), training=False)
    with pytest.raises(RuntimeError, match="^" + re.escape(message) + "$"):
        network.backward(np.ones((6, 3), dtype=np.float32))


def test_the_number_of_levels_is_the_number_of_outputs():
    assert make().n_outputs == len(TAUS)
