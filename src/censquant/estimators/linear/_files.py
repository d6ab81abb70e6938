"""What a model file holds of a linear estimator."""

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from censquant.estimators._follow_up import FollowUp
from censquant.estimators._persistence import Arrays, check_shapes, restored

if TYPE_CHECKING:
    from censquant.estimators.linear._model import LinearModel

Linear = TypeVar("Linear", bound="LinearModel")

_OPTIONAL = (
    "crossing_levels_",
    "standard_errors_",
    "confidence_intervals_",
    "_path_levels",
    "_path_coefficients",
)
_FOLLOW_UP = "follow_up."


def linear_entries(estimator: "LinearModel") -> tuple[dict[str, Any], Arrays]:
    """Return entries of the header and arrays."""
    header = {
        "n_features": estimator.n_features_in_,
        "has_intercept": estimator._has_intercept,
        "stopped_at": estimator.stopped_at_,
        "any_censored": estimator._follow_up is not None,
        "note": estimator._note,
        "horizon": estimator.horizon_,
    }
    arrays: Arrays = {
        "coef": estimator.coef_,
        "intercept": estimator.intercept_,
        "feature_range": np.asarray(estimator._feature_range),
    }
    for name in _OPTIONAL:
        value = getattr(estimator, name)
        if value is not None:
            arrays[name.strip("_")] = value
    if estimator._follow_up is not None:
        arrays.update({_FOLLOW_UP + k: v for k, v in estimator._follow_up.state().items()})
    return header, arrays


def restored_linear(cls: type[Linear], header: dict[str, Any], arrays: Arrays) -> Linear:
    """Return the estimator with its coefficients."""
    estimator = restored(cls, header, arrays)
    estimator.n_features_in_ = n_features = int(header["n_features"])
    estimator._has_intercept = bool(header["has_intercept"])
    estimator.stopped_at_, estimator._note = header["stopped_at"], str(header["note"])
    own = {name: value for name, value in arrays.items() if name != "unique_times"}
    n_levels, n_terms = len(estimator.quantiles_), n_features + int(estimator._has_intercept)
    shapes: dict[str, tuple[int, ...]] = {
        "coef": (n_levels, n_features),
        "intercept": (n_levels,),
        "standard_errors": (n_levels, n_terms),
        "confidence_intervals": (n_levels, n_terms, 2),
        "feature_range": (2, n_features),
    }
    needed = {"coef", "intercept", "feature_range"}
    follow_up = {k: own.pop(k) for k in list(own) if k.startswith(_FOLLOW_UP)}
    if "path_levels" in own:
        shapes["path_levels"] = (own["path_levels"].size,)
        shapes["path_coefficients"] = (own["path_levels"].size, 1 + n_features)
        needed.add("path_coefficients")
    if "crossing_levels" in own:  # one per row of the fit, of which the file knows no more
        shapes["crossing_levels"] = (own["crossing_levels"].size,)
    check_shapes(own, {k: v for k, v in shapes.items() if k in own or k in needed})
    estimator.coef_, estimator.intercept_ = own["coef"], own["intercept"]
    for name in _OPTIONAL:
        setattr(estimator, name, own.get(name.strip("_")))
    estimator._follow_up = None
    if header["any_censored"]:
        estimator._follow_up = FollowUp.from_state(
            {k.removeprefix(_FOLLOW_UP): v for k, v in follow_up.items()}
        )
    estimator.horizon_ = float(header["horizon"])
    estimator._feature_range = own["feature_range"]
    return estimator
