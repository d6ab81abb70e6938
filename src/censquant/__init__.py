"""Censored quantile regression: for each individual, by when the event will have happened.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from censquant._version import __version__

if TYPE_CHECKING:
    from censquant.engine import Checkpoint
    from censquant.estimators import (
        CQRNN,
        AFTRegressor,
        AsymmetricLaplaceNN,
        BaseQuantileRegressor,
        BoostedQuantileRegressor,
        CensoredQuantileForest,
        CensoredQuantileRegressor,
        CompetingRisksRegressor,
        ConformalSurvivalRegressor,
        CoxQuantileRegressor,
        DeepQuantReg,
        LinearQuantileRegressor,
        LogNormalNN,
        PooledQuantileRegressor,
        QuantilePipeline,
        SequentialGridNN,
        ShapeNN,
        UncensoredOnlyNN,
        WeibullNN,
        adapt,
        load_model,
        make_quantile_pipeline,
    )
    from censquant.export import register_onnx_converters
    from censquant.survival import Surv

_HOME = {
    "AFTRegressor": "censquant.estimators",
    "AsymmetricLaplaceNN": "censquant.estimators",
    "BoostedQuantileRegressor": "censquant.estimators",
    "CQRNN": "censquant.estimators",
    "CensoredQuantileForest": "censquant.estimators",
    "CensoredQuantileRegressor": "censquant.estimators",
    "Checkpoint": "censquant.engine",
    "CompetingRisksRegressor": "censquant.estimators",
    "ConformalSurvivalRegressor": "censquant.estimators",
    "CoxQuantileRegressor": "censquant.estimators",
    "DeepQuantReg": "censquant.estimators",
    "LinearQuantileRegressor": "censquant.estimators",
    "LogNormalNN": "censquant.estimators",
    "PooledQuantileRegressor": "censquant.estimators",
    "QuantilePipeline": "censquant.estimators",
    "BaseQuantileRegressor": "censquant.estimators",
    "SequentialGridNN": "censquant.estimators",
    "ShapeNN": "censquant.estimators",
    "Surv": "censquant.survival",
    "UncensoredOnlyNN": "censquant.estimators",
    "WeibullNN": "censquant.estimators",
    "adapt": "censquant.estimators",
    "load_model": "censquant.estimators",
    "make_quantile_pipeline": "censquant.estimators",
    "register_onnx_converters": "censquant.export",
}
_SUBPACKAGES = (
    "adapters",
    "dask",
    "datasets",
    "engine",
    "estimators",
    "exceptions",
    "export",
    "inspection",
    "io",
    "metrics",
    "plotting",
    "quantiles",
    "report",
    "survival",
    "torch",
)

__all__ = [
    "CQRNN",
    "AFTRegressor",
    "AsymmetricLaplaceNN",
    "BaseQuantileRegressor",
    "BoostedQuantileRegressor",
    "CensoredQuantileForest",
    "CensoredQuantileRegressor",
    "Checkpoint",
    "CompetingRisksRegressor",
    "ConformalSurvivalRegressor",
    "CoxQuantileRegressor",
    "DeepQuantReg",
    "LinearQuantileRegressor",
    "LogNormalNN",
    "PooledQuantileRegressor",
    "QuantilePipeline",
    "SequentialGridNN",
    "ShapeNN",
    "Surv",
    "UncensoredOnlyNN",
    "WeibullNN",
    "__version__",
    "adapt",
    "load_model",
    "make_quantile_pipeline",
    "register_onnx_converters",
]


# Names of version 0.1, which go with 0.3.
_RENAMED = {
    "LinearCQR": "LinearQuantileRegressor",
    "QuantileRegressor": "BaseQuantileRegressor",
    "load": "load_model",
}


def _renamed(name: str) -> Any:
    """Return what an old name stands for, with a warning on the line that used it."""
    warnings.warn(
        f"censquant.{name} is now censquant.{_RENAMED[name]}; the old name goes with version 0.3.",
        FutureWarning,
        stacklevel=3,
    )
    return __getattr__(_RENAMED[name])


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        return _renamed(name)
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _SUBPACKAGES:
        value = import_module(f"censquant.{name}")
    else:
        from censquant._plugins import moved_to_bench

        raise moved_to_bench(__name__, name, ("benchmark",))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBPACKAGES})
