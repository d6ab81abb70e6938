"""What a model file holds of a linear estimator."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from censquant._storage._parts import Arrays, Part, check_arrays, expect
from censquant._storage._persistence import fitted_part, own_arrays, restored
from censquant._trees._follow_up import stored_follow_up
from censquant._validation import check_flag, check_number
from censquant.exceptions import ModelFileError
from censquant.quantiles._grid import check_quantiles

if TYPE_CHECKING:
    from censquant.estimators.linear._estimator import LinearQuantileRegressor

Linear = TypeVar("Linear", bound="LinearQuantileRegressor")

# NaN at columns that are linear combinations of others.
_PRECISION = ("standard_errors", "confidence_intervals")
_FOLLOW_UP = "follow_up."
_NEEDED = ("coef", "intercept", "range")


def linear_part(estimator: "LinearQuantileRegressor") -> Part:
    """Return the fitted estimator as data.

    Its ``crossing_levels_`` are left out: they have one value per training row.
    """
    description = {
        "has_intercept": estimator._has_intercept,
        "stopped_at": estimator.stopped_at_,
        "bandwidth": estimator.bandwidth_,
        "any_censored": estimator._follow_up is not None,
        "note": estimator._note,
    }
    contents = ["smallest and largest value of each feature"]
    arrays: Arrays = {
        "coef": estimator.coef_,
        "intercept": estimator.intercept_,
        "range": np.asarray(estimator._feature_range),
    }
    for name in _PRECISION:
        value = getattr(estimator, f"{name}_")
        if value is not None:
            arrays[name] = value
    if estimator._path_levels is not None:
        arrays["path_levels"] = estimator._path_levels
        arrays["path_coefficients"] = np.asarray(estimator._path_coefficients)
    if estimator._follow_up is not None:
        arrays.update({_FOLLOW_UP + k: v for k, v in estimator._follow_up.state().items()})
        contents.append("shares of the training rows still under observation, in groups")
    return fitted_part(estimator, description, arrays, contents=tuple(contents))


def restored_linear(cls: type[Linear], part: Part, network: Callable[..., Any] | None) -> Linear:
    """Return the estimator with its coefficients."""
    estimator, entries = restored(cls, part, network), part.description
    estimator._check_parameters()
    estimator._has_intercept = check_flag("has_intercept", entries["has_intercept"])
    stopped_at = entries["stopped_at"]
    estimator.stopped_at_ = None if stopped_at is None else check_number("stopped_at", stopped_at)
    bandwidth = entries["bandwidth"]
    estimator.bandwidth_ = None if bandwidth is None else check_number("bandwidth", bandwidth)
    estimator._note = expect("note", entries["note"], str)
    own = own_arrays(part)
    follow_up = {k: own.pop(k) for k in list(own) if k.startswith(_FOLLOW_UP)}
    expected = _shapes(estimator, own)
    check_arrays(
        own, {k: v for k, v in expected.items() if k in own or k in _NEEDED}, may_be_nan=_PRECISION
    )
    estimator.coef_, estimator.intercept_ = own["coef"], own["intercept"]
    for name in _PRECISION:
        setattr(estimator, f"{name}_", own.get(name))
    estimator.crossing_levels_ = None
    estimator._path_levels = own.get("path_levels")
    estimator._path_coefficients = own.get("path_coefficients")
    if estimator._path_levels is not None:
        check_quantiles(estimator._path_levels)
    estimator._feature_range = own["range"]
    estimator._follow_up = None
    if bool(follow_up) != check_flag("any_censored", entries["any_censored"]):
        raise ModelFileError("does not hold the model of the follow-up that it describes.")
    if follow_up:
        estimator._follow_up = stored_follow_up(
            {k.removeprefix(_FOLLOW_UP): v for k, v in follow_up.items()}, estimator.n_features_in_
        )
    return estimator


def _shapes(
    estimator: "LinearQuantileRegressor", own: Arrays
) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return types and shapes of the arrays that the file may hold."""
    n_features, n_levels = estimator.n_features_in_, len(estimator.quantiles_)
    n_terms = n_features + int(estimator._has_intercept)
    n_path = own["path_levels"].size if "path_levels" in own else 0
    shapes: dict[str, tuple[int, ...]] = {
        "coef": (n_levels, n_features),
        "intercept": (n_levels,),
        "range": (2, n_features),
        "standard_errors": (n_levels, n_terms),
        "confidence_intervals": (n_levels, n_terms, 2),
        "path_levels": (n_path,),
        "path_coefficients": (n_path, 1 + n_features),
    }
    return {name: ("f8", shape) for name, shape in shapes.items()}
