"""What a model file holds of an estimator that trained networks."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from censquant.estimators._follow_up import FollowUp
from censquant.estimators._persistence import Arrays, check_shapes, plain, restored
from censquant.estimators.neural._preparation import FeatureScale
from censquant.estimators.neural._trained_model import TrainedModel
from censquant.exceptions import ModelFileError
from censquant.networks import Network, State

if TYPE_CHECKING:
    from censquant.estimators.neural._neural import NeuralRegressor

Neural = TypeVar("Neural", bound="NeuralRegressor")


def network_entries(estimator: "NeuralRegressor") -> tuple[dict[str, Any], Arrays]:
    """Return entries of the header and arrays."""
    scale, follow_up = estimator.models_[0].feature_scale, estimator._follow_up
    # Those of the fit: a parameter that was set afterwards does not describe these networks.
    parameters = estimator._fit_parameters
    header = {
        "parameters": {name: plain(value) for name, value in parameters.items()},
        "input_shape": list(estimator._input_shape),
        "n_members": len(estimator.models_),
        "horizon": estimator.horizon_,
        "history": estimator.history_,
        "custom_network": parameters["network"] is not None,
        "any_censored": follow_up is not None,
        "standardized": scale.center is not None,
    }
    arrays: Arrays = {}
    if scale.center is not None:
        arrays["features.center"], arrays["features.scale"] = scale.center, np.asarray(scale.scale)
    for member, model in enumerate(estimator.models_):
        arrays.update({f"member{member}.{k}": v for k, v in model.network.state().items()})
    if estimator._feature_range is not None:
        arrays["features.range"] = estimator._feature_range
    if follow_up is not None:
        arrays.update({f"follow_up.{k}": v for k, v in follow_up.state().items()})
    return header, arrays


def restored_networks(
    cls: type[Neural],
    header: dict[str, Any],
    arrays: Arrays,
    network: Callable[..., Any] | None,
) -> Neural:
    """Return the estimator with its networks."""
    if header["custom_network"] and network is None:
        raise ModelFileError(
            "was fitted with a network of one's own: pass the same factory as load(path, network=)."
        )
    estimator = restored(cls, header, arrays)
    if header["custom_network"]:
        estimator.network = network
    estimator._fit_parameters = estimator.get_params(deep=False)
    estimator._input_shape = tuple(header["input_shape"])
    estimator.n_features_in_ = estimator._input_shape[0]
    estimator.history_ = header["history"]
    estimator.horizon_ = float(header["horizon"])
    features = _part(arrays, "features.")
    estimator._feature_range = features.pop("range", None)
    scale = FeatureScale()
    if header["standardized"]:
        shape = estimator._input_shape if len(estimator._input_shape) == 1 else (1,)
        check_shapes(features, {"center": shape, "scale": shape})
        scale = FeatureScale(**features)
    transform = estimator.time_transform_
    taus = transform.levels(estimator.quantiles_)
    objective = estimator._make_objective(tuple(taus.tolist()), None, transform)
    unused = np.random.default_rng(0)
    estimator.models_ = []
    for member in range(header["n_members"]):
        built = estimator._make_network(estimator._input_shape, objective, unused)
        _load_state(built, _part(arrays, f"member{member}."))
        estimator.models_.append(
            TrainedModel(
                scale, built, objective, transform, estimator.quantiles_, estimator._lowest_time()
            )
        )
    estimator._follow_up = None
    if header["any_censored"]:
        estimator._follow_up = FollowUp.from_state(_part(arrays, "follow_up."))
    return estimator


def _load_state(network: Network, state: State) -> None:
    check_shapes(state, {name: value.shape for name, value in network.state().items()})
    network.load_state(state)


def _part(arrays: Arrays, prefix: str) -> Arrays:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
