"""What a metric wants to know of a model, by the names of its parameters."""

import inspect
from collections.abc import Callable
from typing import Any

from censquant.adapters import predict_quantiles_of, survival_of
from censquant.adapters._predictions import is_left_censored, is_supported


def predictions_for(
    metric: Callable[..., Any],
    name: str,
    given: Any,
    X: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Return predictions as they are, or those of a model as the metric takes them."""
    if not (is_supported(given) or callable(getattr(given, "predict", None))):
        return given
    if X is None:
        raise ValueError(f"X must be given where {name} is a fitted model, got None.")
    if is_left_censored(given):
        raise ValueError(
            f"{name} must be fitted with censoring='right', since metrics take a censored event "
            "to come after its time, got censoring='left': use evaluate, which mirrors the times."
        )
    signature = inspect.signature(metric)
    bound = signature.bind_partial(None, None, *args, **kwargs).arguments
    if "survival" in signature.parameters:
        return survival_of(given, X, _bound(bound, "times", name))
    if "taus" in signature.parameters:
        return predict_quantiles_of(given, X, _bound(bound, "taus", name))
    return predict_quantiles_of(given, X, 0.5)[:, 0]


def _bound(arguments: dict[str, Any], needed: str, name: str) -> Any:
    """Return the argument of the metric that says what to ask the model for."""
    if needed not in arguments:
        raise ValueError(f"{needed} must be given where {name} is a fitted model, got none.")
    return arguments[needed]
