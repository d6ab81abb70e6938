"""What a model file holds of a linear estimator."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from censquant._validation import check_flag, check_number
from censquant.estimators._follow_up import LEVELS
from censquant.estimators._parts import Arrays, Part, check_arrays, expect
from censquant.estimators._persistence import fitted_part, own_arrays, restored
from censquant.estimators.linear._observed import ObservedTime

if TYPE_CHECKING:
    from censquant.estimators.linear._model import LinearModel

Linear = TypeVar("Linear", bound="LinearModel")

# NaN at columns that are linear combinations of others.
_PRECISION = ("standard_errors", "confidence_intervals")
_FOLLOW_UP = "follow_up."


def linear_part(estimator: "LinearModel") -> Part:
    """Return the fitted estimator as data.

    Its ``crossing_levels_`` are left out: they have one value per training row.
    """
    description = {
        "has_intercept": estimator._has_intercept,
        "stopped_at": estimator.stopped_at_,
        "any_censored": estimator._follow_up is not None,
        "note": estimator._note,
    }
    contents: tuple[str, ...] = ()
    arrays: Arrays = {"coef": estimator.coef_, "intercept": estimator.intercept_}
    for name in _PRECISION:
        value = getattr(estimator, f"{name}_")
        if value is not None:
            arrays[name] = value
    if estimator._follow_up is not None:
        arrays.update({_FOLLOW_UP + k: v for k, v in vars(estimator._follow_up).items()})
        contents = ("smallest and largest value of each feature",)
    return fitted_part(estimator, description, arrays, contents=contents)


def restored_linear(cls: type[Linear], part: Part, network: Callable[..., Any] | None) -> Linear:
    """Return the estimator with its coefficients."""
    estimator, entries = restored(cls, part, network), part.description
    estimator._check_parameters()
    estimator._has_intercept = check_flag("has_intercept", entries["has_intercept"])
    stopped_at = entries["stopped_at"]
    estimator.stopped_at_ = None if stopped_at is None else check_number("stopped_at", stopped_at)
    estimator._note = expect("note", entries["note"], str)
    own = own_arrays(part)
    any_censored = check_flag("any_censored", entries["any_censored"])
    expected = _shapes(estimator, any_censored=any_censored)
    optional = [name for name in _PRECISION if name not in own]
    check_arrays(
        own, {k: v for k, v in expected.items() if k not in optional}, may_be_nan=_PRECISION
    )
    estimator.coef_, estimator.intercept_ = own["coef"], own["intercept"]
    for name in _PRECISION:
        setattr(estimator, f"{name}_", own.get(name))
    estimator.crossing_levels_ = None
    estimator._follow_up = None
    if any_censored:
        parts = {k.removeprefix(_FOLLOW_UP): v for k, v in own.items() if k.startswith(_FOLLOW_UP)}
        estimator._follow_up = ObservedTime(**parts)
    return estimator


def _shapes(
    estimator: "LinearModel", *, any_censored: bool
) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return types and shapes of the arrays that the file may hold."""
    n_features, n_levels = estimator.n_features_in_, len(estimator.quantiles_)
    n_terms = n_features + int(estimator._has_intercept)
    shapes: dict[str, tuple[int, ...]] = {
        "coef": (n_levels, n_features),
        "intercept": (n_levels,),
        "standard_errors": (n_levels, n_terms),
        "confidence_intervals": (n_levels, n_terms, 2),
    }
    if any_censored:
        shapes[f"{_FOLLOW_UP}low"] = shapes[f"{_FOLLOW_UP}high"] = (n_features,)
        shapes[f"{_FOLLOW_UP}coefficients"] = (len(LEVELS), 1 + 2 * n_features)
    return {name: ("f8", shape) for name, shape in shapes.items()}
