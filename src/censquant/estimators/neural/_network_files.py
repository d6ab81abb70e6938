"""Networks in model files: described, compared with stored arrays, and only then built."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from censquant._engine.networks._combined import (
    HeadedNetwork,
    IncreasingHead,
    LinearSkip,
    ShapeHead,
    StackedNetwork,
)
from censquant._engine.networks._dense import ACTIVATIONS, DenseNetwork
from censquant._engine.networks._network import Network
from censquant._storage._codec import (
    Array,
    Entry,
    Fields,
    Object,
    Reader,
    Writer,
    check_arrays,
    decoded,
    kind,
    require,
    with_prefix,
)
from censquant._storage._parts import Arrays, expect
from censquant._validation import check_choice, check_integer, check_number, check_sizes
from censquant.estimators.neural._trained_model import FeatureScale, TrainedModel
from censquant.exceptions import ModelFileError

if TYPE_CHECKING:
    from censquant.estimators.neural._neural import NeuralRegressor

_STORED: Fields = {
    "network": Entry(lambda name, value: value),
    "input_shape": Entry(
        lambda name, shape: check_sizes(name, expect(name, shape, list)), "_input_shape"
    ),
    "n_members": Entry(lambda name, n: check_integer(name, n, minimum=1)),
    "history": Entry(
        lambda name, records: [
            decoded(expect(name, record, dict)) for record in expect(name, records, list)
        ],
        "history_",
        says="losses of each epoch",
    ),
}
_SCALE = {
    "features": Object(
        {"center": Array("f8", ("scale",)), "scale": Array("f8", ("scale",))},
        FeatureScale,
        flag="standardized",
        says="mean and standard deviation of each feature",
    )
}
# For readers in other languages; here parameters and levels say the same.
_TOLD: Fields = {"objective": Entry(kind(str)), "lower": Entry(kind(float), optional=True)}


def store_networks(estimator: "NeuralRegressor", writer: Writer) -> None:
    """Add the networks of a fitted estimator."""
    models = estimator.models_
    first, scale = models[0], models[0].feature_scale
    facts = {
        "network": first.network.describe(),
        "input_shape": estimator._input_shape,
        "n_members": len(models),
        "history": estimator.history_,
    }
    writer.add(_STORED, facts)
    writer.add(_SCALE, {"features": None if scale.center is None else scale})
    lower = first.lower if np.isfinite(first.lower) else None
    writer.add(_TOLD, {"objective": type(first.objective).__name__, "lower": lower})
    for member, model in enumerate(models):
        state = model.network.state()
        writer.arrays |= {f"member{member}.{name}": array for name, array in state.items()}


def read_networks(estimator: "NeuralRegressor", reader: Reader) -> Callable[[], None]:
    """Take what `store_networks` added, and return what builds the networks.

    It is called when all arrays have been found to be of the sizes described, so that no
    description can take memory that no array fills.
    """
    description: Any = reader.part.description["network"]
    if is_custom(description):
        if reader.network is None:
            raise ModelFileError(
                "was fitted with a network of one's own: pass the same factory as "
                "load_model(path, network=)."
            )
        estimator.network = reader.network
    estimator._fit_parameters = estimator.get_params(deep=False)
    estimator._training_config()
    transform = estimator.time_transform_
    objective = estimator._make_objective(
        tuple(transform.levels(estimator.quantiles_).tolist()), None, transform
    )
    known = reader.fill(estimator, _STORED)
    shape = estimator._input_shape
    fits = shape[:1] == (estimator.n_features_in_,)
    require(fits, f"has {estimator.n_features_in_} features, but inputs of {shape}")
    reader.sizes["scale"] = shape if len(shape) == 1 else (1,)
    scale = reader.read(_SCALE)["features"] or FeatureScale()
    states = []
    for member in range(known["n_members"]):
        states.append(reader.group(f"member{member}."))
        n_outputs = check_network(description, states[-1], math.prod(shape))
        fits = n_outputs == objective.n_outputs
        require(fits, f"has networks with {n_outputs} outputs, unlike its method")

    def build() -> None:
        lower = estimator._lowest_time()
        estimator.models_ = []
        for state in states:
            network = build_network(description, shape, reader.network, estimator.device)
            load_state(network, state)
            model = TrainedModel(scale, network, objective, transform, estimator.quantiles_, lower)
            estimator.models_.append(model)

    return build


def is_custom(description: Any) -> bool:
    """Say whether a torch module is part of a described network."""
    if isinstance(description, dict):
        inner: Any = description.values()
        return description.get("kind") == "custom" or any(is_custom(entry) for entry in inner)
    return isinstance(description, list) and any(is_custom(entry) for entry in description)


def check_network(description: Any, arrays: Arrays, n_inputs: int) -> int:
    """Refuse arrays that are not the state of the described network; return its outputs.

    Sizes are compared without building anything. Of a custom network only its factory knows them.
    """
    kind = expect("network", description, dict)["kind"]
    if kind == "dense":
        sizes = check_sizes("sizes", expect("sizes", description["sizes"], list))
        check_choice("activation", description["activation"], ACTIVATIONS)
        check_number("dropout", description["dropout"], minimum=0.0, below=1.0)
        n_parameters = sum((n_in + 1) * n_out for n_in, n_out in pairwise(sizes))
        state = {"parameters": Array("f4", (n_parameters,)), "dropout": Array("i8", (2,))}
        check_arrays(arrays, state)
        if len(sizes) < 2 or sizes[0] != n_inputs:
            raise ModelFileError(f"has a network of sizes {sizes} for {n_inputs} inputs.")
        return sizes[-1]
    if kind == "headed":
        check_choice("head", description["head"], ("increasing", "shape"))
        n_raw = check_network(description["network"], _without(arrays, "head"), n_inputs)
        n_own, n_outputs = 0, n_raw
        if description["head"] == "shape":
            n_own, n_outputs = len(_knots(description)) - 1, len(_knots(description))
            if n_raw != n_outputs + 1:
                raise ModelFileError(f"has {n_raw} outputs for a head of {n_outputs} quantiles.")
        check_arrays({"head": arrays["head"]}, {"head": Array("f4", (n_own,))})
        return n_outputs
    if kind == "skip":
        check_arrays({"skip": arrays["skip"]}, {"skip": Array("f4", (n_inputs,))})
        return check_network(description["network"], _without(arrays, "skip"), n_inputs)
    if kind == "stacked":
        levels = expect("networks", description["networks"], list)
        states = [with_prefix(arrays, f"{place}.") for place in range(len(levels))]
        if sum(map(len, states)) != len(arrays):
            raise ModelFileError("has arrays of a network that it does not describe.")
        return sum(
            check_network(level, state, n_inputs)
            for level, state in zip(levels, states, strict=True)
        )
    check_choice("kind", kind, ("custom",))
    return check_integer("n_outputs", description["n_outputs"], minimum=1)


def build_network(
    description: dict[str, Any],
    shape: tuple[int, ...],
    factory: Any,
    device: str | None,
) -> Network:
    """Return a network whose description :func:`check_network` has accepted, without its state.

    ``factory`` makes the torch module of a custom one.
    """
    unused = np.random.default_rng(0)
    kind = description["kind"]
    if kind == "dense":
        return DenseNetwork(
            description["sizes"],
            activation=description["activation"],
            dropout=description["dropout"],
            rng=unused,
        )
    if kind == "headed":
        inner = build_network(description["network"], shape, factory, device)
        if description["head"] == "shape":
            return HeadedNetwork(inner, ShapeHead(_knots(description)))
        return HeadedNetwork(inner, IncreasingHead(inner.n_outputs))
    if kind == "skip":
        inner = build_network(description["network"], shape, factory, device)
        return LinearSkip(inner, math.prod(shape))
    if kind == "stacked":
        levels = description["networks"]
        return StackedNetwork([build_network(level, shape, factory, device) for level in levels])
    from censquant.torch import TorchNetwork

    return TorchNetwork.from_factory(
        factory, shape, description["n_outputs"], device=device, rng=unused
    )


def load_state(network: Network, arrays: Arrays) -> None:
    """Give a network its state; that of a custom network is compared with the module first."""
    state = network.state()
    check_arrays(arrays, {name: Array(v.dtype.str[1:], v.shape) for name, v in state.items()})
    network.load_state(arrays)


def _knots(description: dict[str, Any]) -> tuple[float, ...]:
    """Return the knots of a shape head, which it checks again when it is built."""
    return tuple(check_number("knots", value) for value in description["knots"])


def _without(arrays: Arrays, name: str) -> Arrays:
    return {other: array for other, array in arrays.items() if other != name}
