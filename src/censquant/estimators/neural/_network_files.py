"""What a model file holds of an estimator that trained networks."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from censquant._storage._codec import (
    Array,
    Entry,
    Fields,
    Object,
    Reader,
    Writer,
    decoded,
    kind,
    require,
)
from censquant._storage._parts import expect
from censquant._validation import check_integer, check_sizes
from censquant.estimators.neural._architecture import (
    build_network,
    check_network,
    is_custom,
    load_state,
)
from censquant.estimators.neural._preparation import FeatureScale
from censquant.estimators.neural._trained_model import TrainedModel
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
