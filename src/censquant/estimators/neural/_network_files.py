"""What a model file holds of an estimator that trained networks."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from censquant._storage._parts import Arrays, Part, check_arrays, expect
from censquant._storage._persistence import (
    fitted_part,
    own_arrays,
    plain_history,
    restored,
    restored_history,
)
from censquant._trees._follow_up import stored_follow_up
from censquant._validation import check_flag, check_integer, check_sizes
from censquant.estimators.neural._architecture import (
    build_network,
    check_network,
    is_custom,
    load_state,
    with_prefix,
)
from censquant.estimators.neural._preparation import FeatureScale
from censquant.estimators.neural._trained_model import TrainedModel
from censquant.exceptions import ModelFileError

if TYPE_CHECKING:
    from censquant.estimators.neural._neural import NeuralRegressor

Neural = TypeVar("Neural", bound="NeuralRegressor")


def network_part(estimator: "NeuralRegressor") -> Part:
    """Return the fitted estimator as data."""
    first, follow_up = estimator.models_[0], estimator._follow_up
    description = {
        **first.describe(),
        "input_shape": list(estimator._input_shape),
        "n_members": len(estimator.models_),
        "history": plain_history(estimator.history_),
        "any_censored": follow_up is not None,
    }
    contents = ["losses of each epoch"]
    arrays: Arrays = {}
    if first.feature_scale.center is not None:
        arrays.update({f"features.{k}": v for k, v in vars(first.feature_scale).items()})
        contents.append("mean and standard deviation of each feature")
    if estimator._feature_range is not None:
        arrays["range"] = estimator._feature_range
        contents.append("smallest and largest value of each feature")
    for member, model in enumerate(estimator.models_):
        arrays.update({f"member{member}.{k}": v for k, v in model.network.state().items()})
    if follow_up is not None:
        arrays.update({f"follow_up.{k}": v for k, v in follow_up.state().items()})
        contents.append("shares of the training rows still under observation, in groups")
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
    estimator._training_config()
    transform = estimator.time_transform_
    objective = estimator._make_objective(
        tuple(transform.levels(estimator.quantiles_).tolist()), None, transform
    )
    estimator.history_ = restored_history(part)
    shape = check_sizes("input_shape", expect("input_shape", entries["input_shape"], list))
    if shape[:1] != (estimator.n_features_in_,):
        raise ModelFileError(f"has {estimator.n_features_in_} features, but inputs of {shape}.")
    estimator._input_shape = shape

    stored = _checked_arrays(entries, own_arrays(part), shape, objective.n_outputs)
    scale = FeatureScale(**stored.scale)
    estimator._feature_range = stored.feature_range
    estimator._follow_up = None
    if stored.follow_up:
        estimator._follow_up = stored_follow_up(stored.follow_up, math.prod(shape))
    estimator.models_ = []
    for state in stored.members:
        built = build_network(entries["network"], shape, network, estimator.device)
        load_state(built, state)
        estimator.models_.append(
            TrainedModel(
                scale, built, objective, transform, estimator.quantiles_, estimator._lowest_time()
            )
        )
    return estimator


class _Stored(NamedTuple):
    """The arrays of a file, told apart."""

    scale: Arrays
    feature_range: NDArray[np.float64] | None
    follow_up: Arrays
    members: list[Arrays]


def _checked_arrays(
    entries: dict[str, Any], arrays: Arrays, shape: tuple[int, ...], n_outputs: int
) -> _Stored:
    """Return the arrays of features, follow-up and members, all of the sizes described.

    Nothing has been built by then, so that no description can take memory that no array fills.
    """
    scale: Arrays = {}
    if check_flag("standardized", entries["standardized"]):
        scale = with_prefix(arrays, "features.")
        size = shape if len(shape) == 1 else (1,)
        check_arrays(scale, {"center": ("f8", size), "scale": ("f8", size)})
    known = {"range": arrays["range"]} if "range" in arrays else {}
    check_arrays(known, {"range": ("f8", (2, *shape))} if known else {})
    follow_up: Arrays = {}
    if check_flag("any_censored", entries["any_censored"]):
        follow_up = with_prefix(arrays, "follow_up.")
        if not follow_up:
            raise ModelFileError("does not hold its model of the follow-up.")
    members = []
    for member in range(check_integer("n_members", entries["n_members"], minimum=1)):
        members.append(with_prefix(arrays, f"member{member}."))
        found = check_network(entries["network"], members[-1], math.prod(shape))
        if found != n_outputs:
            raise ModelFileError(f"has networks with {found} outputs, unlike its method.")
    if len(arrays) != len(scale) + len(known) + len(follow_up) + sum(map(len, members)):
        raise ModelFileError("holds arrays that its model does not need.")
    return _Stored(scale, known.get("range"), follow_up, members)
