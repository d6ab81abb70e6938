"""A user's own estimator as a method of the benchmark."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import joblib
from sklearn.base import clone

from censquant_bench._datasets import BenchmarkDataset
from censquant_bench._methods import BenchmarkMethod
from censquant_bench._own_name import check_own_name
from censquant_bench._registry import METHODS


def own_method(name: str, estimator: Any) -> BenchmarkMethod:
    """Return a user's own estimator as a method of the benchmark.

    It is cloned for every run, and gets the run's levels and seed if it has the parameters
    ``quantiles`` and ``random_state``.

    Parameters
    ----------
    name : str
        What tables call it.
    estimator : estimator with fit(X, y) and predict_quantiles(X, quantiles)
        ``y`` is a structured array with ``event`` and ``time``.

    Returns
    -------
    method : BenchmarkMethod

    Examples
    --------
    >>> from censquant import LinearQuantileRegressor
    >>> from censquant_bench import get_dataset, own_method
    >>> method = own_method("linear", LinearQuantileRegressor())
    >>> method.build(get_dataset("weibull"), {}, 111).quantiles[:2]
    (0.1, 0.2)
    """
    check_own_name(name, "a method", METHODS.values())
    if inspect.isclass(estimator):
        raise TypeError(
            f"estimator must be an object, got the class {estimator.__name__}: write "
            f"{estimator.__name__}()."
        )
    for needed in ("fit", "predict_quantiles", "get_params", "set_params"):
        if not callable(getattr(estimator, needed, None)):
            raise TypeError(
                "estimator must have the methods fit, predict_quantiles, get_params and set_params "
                f"(derive it from sklearn.base.BaseEstimator), got {type(estimator).__name__} "
                f"without {needed}."
            )
    try:
        clone(estimator)
    except Exception as error:
        raise TypeError(
            "estimator must be one that sklearn.base.clone can copy (its __init__ keeps every "
            f"argument as it is), got {type(estimator).__name__}."
        ) from error
    return BenchmarkMethod(
        name, name, _CloneBuild(estimator), fingerprint=_fingerprint(estimator), own=True
    )


@dataclass(frozen=True, eq=False)
class _CloneBuild:
    estimator: Any

    def __call__(self, dataset: BenchmarkDataset, options: Mapping[str, Any], seed: int) -> Any:
        copy = clone(self.estimator)
        known = copy.get_params(deep=False)
        wanted = {"quantiles": dataset.taus, "random_state": seed, **options}
        return copy.set_params(**{key: wanted[key] for key in wanted if key in known})


def _fingerprint(estimator: Any) -> str:
    """Return a hash of class and parameters that is the same in another process.

    The source of the class counts, so that it may be edited and tried again; what it calls does
    not.
    """
    parameters = {name: _content(value) for name, value in estimator.get_params().items()}
    try:
        text = inspect.getsource(type(estimator))
    except (OSError, TypeError):  # typed into a shell, or compiled
        text = ""
    return str(joblib.hash((_address(type(estimator)), text, sorted(parameters.items()))))


def _content(value: Any) -> str:
    """Return a hash of a parameter; functions and what cannot be pickled count by their address."""
    if inspect.isroutine(value) or inspect.isclass(value):
        return _address(value)
    try:
        return str(joblib.hash(value))
    except Exception:  # whatever pickling raises
        return _address(type(value))


def _address(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"
