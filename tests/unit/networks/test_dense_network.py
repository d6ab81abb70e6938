import pickle
from itertools import pairwise, product

import numpy as np
import pytest
import torch

from censquant._engine.networks import _dense as dense_module
from censquant._engine.networks._dense import ACTIVATIONS, Adam, DenseNetwork

MODULES = {
    "relu": torch.nn.ReLU,
    "gelu": torch.nn.GELU,
    "silu": torch.nn.SiLU,
    "tanh": torch.nn.Tanh,
}
HIDDEN = [(), (7,), (6, 5), (5, 4, 3)]
activations = pytest.mark.parametrize("activation", ACTIVATIONS)


@pytest.fixture(autouse=True)
def _wrapping_integers():
    """The dropout hash wraps around, about which plain Python warns when compiling is off."""
    with np.errstate(over="ignore"):
        yield


@pytest.fixture(params=[0, 640], ids=["whole products", "products in blocks"])
def small_product(request, monkeypatch):
    """Both ways of multiplying matrices, whichever the machine at hand would take."""
    monkeypatch.setattr(dense_module, "small_product", lambda: request.param)
    return request.param


def make(hidden=(6, 5), activation="relu", *, n_in=3, n_out=2, dropout=0.0, seed=0):
    return DenseNetwork(
        [n_in, *hidden, n_out],
        activation=activation,
        dropout=dropout,
        rng=np.random.default_rng(seed),
    )


def rows(n, n_in=3, seed=1):
    return np.random.default_rng(seed).normal(size=(n, n_in)).astype(np.float32)


def layers(network, flat=None):
    """Views of each layer's weights and biases."""
    flat = network.parameters if flat is None else flat
    start = 0
    for n_in, n_out in pairwise(network.sizes):
        middle, stop = start + n_in * n_out, start + (n_in + 1) * n_out
        yield flat[start:middle].reshape(n_in, n_out), flat[middle:stop]
        start = stop


def torch_twin(network):
    """The same network made of torch's layers."""
    modules = []
    for weights, biases in layers(network):
        linear = torch.nn.Linear(*weights.shape)
        linear.weight.data = torch.tensor(weights.T.copy())
        linear.bias.data = torch.tensor(biases)
        modules += [linear, MODULES[network.activation]()]
    return torch.nn.Sequential(*modules[:-1])


@activations
@pytest.mark.usefixtures("small_product")
def test_forward_and_backward_are_those_of_torch(activation):
    for hidden, n_rows in product(HIDDEN, [1, 53]):
        network = make(hidden, activation)
        x = rows(n_rows)
        slopes = np.random.default_rng(2).normal(size=(n_rows, 2)).astype(np.float32)
        twin = torch_twin(network)
        expected = twin(torch.from_numpy(x))
        expected.backward(torch.from_numpy(slopes))
        np.testing.assert_allclose(
            network.forward(x, training=True), expected.detach(), rtol=1e-5, atol=5e-6
        )
        assert network.backward(slopes) == 0.0
        linears = [module for module in twin if isinstance(module, torch.nn.Linear)]
        gradients = layers(network, network.gradient)
        for (weights, biases), linear in zip(gradients, linears, strict=True):
            np.testing.assert_allclose(weights, linear.weight.grad.T, rtol=1e-4, atol=2e-5)
            np.testing.assert_allclose(biases, linear.bias.grad, rtol=1e-4, atol=2e-5)


@activations
@pytest.mark.usefixtures("small_product")
def test_predictions_are_those_of_torch_in_double_precision(activation):
    for hidden in HIDDEN:
        network = make(hidden, activation)
        x = rows(60) * 3
        with torch.no_grad():
            expected = torch_twin(network).double()(torch.from_numpy(x).double())
        predicted = network.predict(x)
        assert predicted.dtype == np.float64
        np.testing.assert_allclose(predicted, expected, rtol=0, atol=2e-6)


@activations
def test_the_gradient_is_that_of_finite_differences(activation):
    network = make((4, 3), activation)
    x = rows(5)
    slopes = np.random.default_rng(2).normal(size=(5, 2)).astype(np.float32)
    network.forward(x, training=True)
    network.backward(slopes)
    step = np.float32(2.0**-8)
    for i in range(len(network.parameters)):
        start = network.parameters[i]
        losses = []
        for value in (start + step, start - step):
            network.parameters[i] = value
            losses.append((network.predict(x) * slopes).sum())
        network.parameters[i] = start
        assert network.gradient[i] == pytest.approx(
            (losses[0] - losses[1]) / (2 * step), rel=2e-3, abs=1e-3
        )


@activations
def test_activations_are_right_far_out(activation):
    network = make((1,), activation, n_in=1, n_out=1)
    network.parameters[:] = [1.0, 0.0, 1.0, 0.0]
    tolerance = {"rel": 2e-6, "abs": 2e-6}
    for value in (0.0, 1e-6, 3.0, -3.0, 9.0, -9.0, 50.0, -50.0, 1e4, -1e4):
        x = torch.tensor([[value]], dtype=torch.float64, requires_grad=True)
        expected = MODULES[activation]()(x)
        expected.backward()
        row = np.array([[value]], dtype=np.float32)
        assert network.predict(row)[0, 0] == pytest.approx(expected.item(), **tolerance)
        out = network.forward(row, training=True)[0, 0]
        assert out == pytest.approx(expected.item(), **tolerance)
        network.backward(np.ones((1, 1), dtype=np.float32))
        assert network.gradient[1] == pytest.approx(x.grad.item(), rel=2e-6, abs=4e-6)


def all_ones(dropout, *, seed=0, width=2000):
    """A network whose hidden units are all one, so that its gradient shows which were dropped."""
    network = make((width,), dropout=dropout, n_in=1, n_out=1, seed=seed)
    (first, biases), (last, last_bias) = layers(network)
    first[:], biases[:], last[:], last_bias[:] = 0.0, 1.0, 1.0 / width, 0.0
    return network


def hidden_values(network, n_rows=1):
    """Hidden values of one training step, or their sum over the rows."""
    network.forward(np.zeros((n_rows, 1), dtype=np.float32), training=True)
    network.backward(np.ones((n_rows, 1), dtype=np.float32))
    (_, below), (hidden, _) = layers(network, network.gradient)
    return hidden[:, 0].copy(), below * network.sizes[1]


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_drops_its_share_and_keeps_the_mean(rate):
    hidden, _ = hidden_values(all_ones(rate))
    error = 4 * np.sqrt(rate * (1 - rate) / len(hidden))
    assert np.mean(hidden == 0) == pytest.approx(rate, abs=error)
    np.testing.assert_allclose(hidden[hidden != 0], 1 / (1 - rate), rtol=1e-6)
    assert hidden.mean() == pytest.approx(1, abs=error / (1 - rate))


def test_rows_of_a_batch_have_masks_of_their_own():
    network = all_ones(0.5, width=100)
    total, _ = hidden_values(network, n_rows=40)
    # Were the masks alike, every unit would be dropped in all rows or in none.
    assert ((total > 0) & (total < 80)).mean() == 1.0
    assert total.mean() == pytest.approx(40, abs=4 * np.sqrt(40 / 100))


def test_layers_have_masks_of_their_own():
    network = make((400, 400), dropout=0.5, n_in=1, n_out=1)
    for weights, biases in layers(network):
        weights[:], biases[:] = 1.0, 1.0
    network.forward(np.zeros((1, 1), dtype=np.float32), training=True)
    network.backward(np.ones((1, 1), dtype=np.float32))
    _, (second, _), (last, _) = layers(network, network.gradient)
    # All units are positive, so a weight without a gradient leads from or to a dropped one.
    kept_first, kept_second = second.any(axis=1), last[:, 0] > 0
    assert 0.4 < (kept_first == kept_second).mean() < 0.6


def test_nothing_is_dropped_outside_training():
    network = make((6, 5), "tanh", dropout=0.5)
    x = rows(8)
    plain = make((6, 5), "tanh")
    np.testing.assert_array_equal(
        network.forward(x, training=False), plain.forward(x, training=False)
    )
    np.testing.assert_array_equal(network.predict(x), plain.predict(x))


def test_the_backward_pass_drops_what_the_forward_pass_dropped():
    network = make((8, 7), "tanh", dropout=0.4)
    x, slopes = rows(6), np.ones((6, 2), dtype=np.float32)
    before = network.state()
    network.forward(x, training=True)
    network.backward(slopes)
    gradient = network.gradient.copy()
    assert (gradient == 0).any()
    step = np.float32(2.0**-6)
    for i in range(0, len(network.parameters), 3):
        losses = []
        for sign in (1, -1):
            network.load_state(before)
            network.parameters[i] += sign * step
            losses.append(float(network.forward(x, training=True).sum(dtype=np.float64)))
        assert gradient[i] == pytest.approx((losses[0] - losses[1]) / (2 * step), abs=4e-3)


def test_every_step_has_a_new_mask():
    network = all_ones(0.5)
    first, second = hidden_values(network)[0], hidden_values(network)[0]
    assert 0.4 < (first == second).mean() < 0.6


def test_masks_are_those_of_the_seed():
    one, same, other = (hidden_values(all_ones(0.5, seed=seed))[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_passes_without_training_do_not_move_the_masks():
    one, other = all_ones(0.5), all_ones(0.5)
    other.forward(np.zeros((3, 1), dtype=np.float32), training=False)
    other.predict(np.zeros((3, 1)))
    np.testing.assert_array_equal(hidden_values(one)[0], hidden_values(other)[0])


@pytest.mark.usefixtures("small_product")
def test_a_row_is_predicted_alike_whatever_rows_are_beside_it():
    network = make((4,), "gelu")
    x = rows(1500).astype(np.float64)
    whole, order = network.predict(x), np.random.default_rng(3).permutation(1500)
    for n_rows in (1, 511, 512, 513, 1500):
        for some in (slice(n_rows), slice(-n_rows, None), order[:n_rows]):
            np.testing.assert_allclose(
                network.predict(x[some]), whole[some], rtol=1e-13, atol=1e-15
            )


def test_rows_in_any_memory_order_are_predicted_alike():
    network = make()
    x = rows(10)
    np.testing.assert_array_equal(network.predict(np.asfortranarray(x)), network.predict(x))
    np.testing.assert_array_equal(network.predict(x[::2]), network.predict(x)[::2])


def test_no_rows_give_no_predictions():
    assert make().predict(np.empty((0, 3))).shape == (0, 2)


def test_a_batch_after_a_larger_one_is_not_disturbed_by_it():
    network, fresh = make(), make()
    network.forward(rows(50), training=True)
    x, slopes = rows(4, seed=5), np.ones((4, 2), dtype=np.float32)
    np.testing.assert_array_equal(
        network.forward(x, training=True), fresh.forward(x, training=True)
    )
    network.backward(slopes)
    fresh.backward(slopes)
    np.testing.assert_array_equal(network.gradient, fresh.gradient)


def test_a_pickled_network_goes_on_bit_for_bit():
    network = make(dropout=0.3)
    x, slopes = rows(6), np.ones((6, 2), dtype=np.float32)
    network.forward(x, training=True)
    copy = pickle.loads(pickle.dumps(network))
    np.testing.assert_array_equal(copy.predict(x), network.predict(x))
    for each in (network, copy):
        each.forward(x, training=True)
        each.backward(slopes)
        each.optimizer(0.1).step(0.01)
    np.testing.assert_array_equal(copy.parameters, network.parameters)


def test_a_pickle_does_not_carry_work_space():
    network = make((500,))
    size = len(pickle.dumps(network))
    network.forward(rows(2000), training=True)
    assert len(pickle.dumps(network)) < size + 100


def test_a_state_brings_parameters_and_masks_back():
    network, other = make(dropout=0.5, seed=0), make(dropout=0.5, seed=9)
    x = rows(6)
    network.forward(x, training=True)
    state = network.state()
    other.load_state(state)
    expected = network.forward(x, training=True).copy()
    np.testing.assert_array_equal(other.forward(x, training=True), expected)
    kept = state["parameters"].copy()
    network.parameters += 1
    np.testing.assert_array_equal(state["parameters"], kept)


def test_an_optimizer_made_before_load_state_still_moves_the_network():
    network = make()
    optimizer = network.optimizer(0.0)
    network.load_state(make(seed=4).state())
    before = network.predict(rows(2))
    network.gradient[:] = 1.0
    optimizer.step(0.1)
    assert (network.predict(rows(2)) != before).any()


def test_initial_parameters_have_torchs_bounds_and_variance():
    network = make((300, 200), n_in=50, n_out=40)
    for weights, biases in layers(network):
        bound = 1 / np.sqrt(len(weights))
        for part in (weights, biases):
            assert np.abs(part).max() <= bound
            assert np.abs(part).max() > 0.9 * bound
        n = weights.size
        # The variance of a uniform's square is 4/45 of its bound to the fourth.
        error = 4 * bound**2 * np.sqrt(4 / 45 / n)
        assert (weights.astype(float) ** 2).mean() == pytest.approx(bound**2 / 3, abs=error)
        assert weights.mean(dtype=float) == pytest.approx(0, abs=4 * bound / np.sqrt(3 * n))


def test_initial_parameters_are_those_of_the_seed():
    np.testing.assert_array_equal(make(seed=1).parameters, make(seed=1).parameters)
    assert (make(seed=1).parameters != make(seed=2).parameters).any()
    assert make().parameters.dtype == np.float32


def test_small_products_are_for_processors_that_have_kernels_for_them(monkeypatch):
    for architectures, expected in (
        (["SkylakeX"], 1_000_000),
        (["Haswell", "SapphireRapids"], 1_000_000),
        (["Haswell"], 0),
        ([None], 0),
        ([], 0),
    ):
        libraries = [{"architecture": name} for name in architectures]
        monkeypatch.setattr(dense_module, "threadpool_info", lambda found=libraries: found)
        assert dense_module.small_product.__wrapped__() == expected
    assert dense_module.small_product() in (0, 1_000_000)


# Adam


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
