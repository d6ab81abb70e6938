"""What a model file holds of an estimator that trained networks."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from censquant._validation import check_flag, check_integer, check_sizes
from censquant.estimators._follow_up import FollowUp
from censquant.estimators._parts import Arrays, Part, check_arrays, expect
from censquant.estimators._persistence import (
    fitted_part,
    own_arrays,
    plain_history,
    restored,
    restored_history,
)
from censquant.estimators.neural._architecture import (
    build_network,
    check_network,
    describe_network,
    is_custom,
    load_state,
    with_prefix,
)
from censquant.estimators.neural._parameters import checked_config
from censquant.estimators.neural._preparation import FeatureScale
from censquant.exceptions import ModelFileError

if TYPE_CHECKING:
    from censquant.estimators.neural._neural import NeuralRegressor

Neural = TypeVar("Neural", bound="NeuralRegressor")


def network_part(estimator: "NeuralRegressor") -> Part:
    """Return the fitted estimator as data."""
    scale, follow_up = estimator._feature_scale, estimator._follow_up
    description = {
        "input_shape": list(estimator._input_shape),
        "n_members": len(estimator._networks),
        "network": describe_network(estimator._networks[0]),
        "history": plain_history(estimator.history_),
        "any_censored": follow_up is not None,
        "standardized": scale.center is not None,
    }
    contents = ["losses of each epoch"]
    arrays: Arrays = {}
    if scale.center is not None:
        arrays["features.center"], arrays["features.scale"] = scale.center, np.asarray(scale.scale)
        contents.append("mean and standard deviation of each feature")
    for member, network in enumerate(estimator._networks):
        arrays.update({f"member{member}.{k}": v for k, v in network.state().items()})
    if follow_up is not None:
        arrays.update({f"follow_up.{k}": v for k, v in follow_up.network.state().items()})
    return fitted_part(
        estimator,
        description,
        arrays,
        contents=tuple(contents),
        # Those of the fit: a parameter that was set afterwards does not describe these networks.
        parameters=estimator._fit_parameters,
    )


def restored_networks(cls: type[Neural], part: Part, network: Callable[..., Any] | None) -> Neural:
    """Return the estimator with its networks."""
    estimator, entries = restored(cls, part, network), part.description
    if is_custom(entries["network"]):
        if network is None:
            raise ModelFileError(
                "was fitted with a network of one's own: pass the same factory as "
                "load(path, network=)."
            )
        estimator.network = network
    estimator._fit_parameters = estimator.get_params(deep=False)
    checked_config(estimator)
    taus = estimator.time_transform_.levels(estimator.quantiles_)
    estimator._objective = estimator._make_objective(
        tuple(taus.tolist()), None, estimator.time_transform_
    )
    estimator.history_ = restored_history(part)
    shape = check_sizes("input_shape", expect("input_shape", entries["input_shape"], list))
    if shape[:1] != (estimator.n_features_in_,):
        raise ModelFileError(f"has {estimator.n_features_in_} features, but inputs of {shape}.")
    estimator._input_shape = shape

    scale, follow_up, states = _checked_arrays(estimator, entries, own_arrays(part))
    estimator._feature_scale = FeatureScale(**scale)
    estimator._networks = []
    for state in states:
        built = build_network(entries["network"], shape, network, estimator.device)
        load_state(built, state)
        estimator._networks.append(built)
    estimator._follow_up = None
    if follow_up:
        estimator._follow_up = FollowUp(math.prod(shape), np.random.default_rng(0))
        load_state(estimator._follow_up.network, follow_up)
    return estimator


def _checked_arrays(
    estimator: "NeuralRegressor", entries: dict[str, Any], arrays: Arrays
) -> tuple[Arrays, Arrays, list[Arrays]]:
    """Return the arrays of features, follow-up and members, all of the sizes described.

    Nothing has been built by then, so that no description can take memory that no array fills.
    """
    shape, n_inputs = estimator._input_shape, math.prod(estimator._input_shape)
    scale: Arrays = {}
    if check_flag("standardized", entries["standardized"]):
        scale = with_prefix(arrays, "features.")
        size = shape if len(shape) == 1 else (1,)
        check_arrays(scale, {"center": ("f8", size), "scale": ("f8", size)})
    follow_up: Arrays = {}
    if check_flag("any_censored", entries["any_censored"]):
        follow_up = with_prefix(arrays, "follow_up.")
        described = describe_network(FollowUp(1, np.random.default_rng(0)).network)
        sizes = [n_inputs, *described["sizes"][1:]]
        check_network({**described, "sizes": sizes}, follow_up, n_inputs)
    states = []
    for member in range(check_integer("n_members", entries["n_members"], minimum=1)):
        states.append(with_prefix(arrays, f"member{member}."))
        n_outputs = check_network(entries["network"], states[-1], n_inputs)
        if n_outputs != estimator._objective.n_outputs:
            raise ModelFileError(f"has networks with {n_outputs} outputs, unlike its method.")
    if len(arrays) != len(scale) + len(follow_up) + sum(map(len, states)):
        raise ModelFileError("holds arrays that its model does not need.")
    return scale, follow_up, states
