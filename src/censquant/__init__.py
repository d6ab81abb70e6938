"""Censored quantile regression: for each individual, by when the event will have happened.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from censquant._version import __version__

if TYPE_CHECKING:
    from censquant.estimators import (
        CQRNN,
        AsymmetricLaplaceNN,
        BoostedQuantileRegressor,
        CensoredQuantileForest,
        CensoredQuantileRegressor,
        ConformalSurvivalRegressor,
        CoxQuantileRegressor,
        DeepQuantReg,
        LinearCQR,
        LogNormalNN,
        PooledQuantileRegressor,
        QuantilePipeline,
        QuantileRegressor,
        SequentialGridNN,
        ShapeNN,
        UncensoredOnlyNN,
        WeibullNN,
        adapt,
        load,
        make_quantile_pipeline,
        register_onnx_converters,
    )
    from censquant.survival import Surv
    from censquant.training import Checkpoint

_HOME = {
    "AsymmetricLaplaceNN": "censquant.estimators",
    "BoostedQuantileRegressor": "censquant.estimators",
    "CQRNN": "censquant.estimators",
    "CensoredQuantileForest": "censquant.estimators",
    "CensoredQuantileRegressor": "censquant.estimators",
    "Checkpoint": "censquant.training",
    "ConformalSurvivalRegressor": "censquant.estimators",
    "CoxQuantileRegressor": "censquant.estimators",
    "DeepQuantReg": "censquant.estimators",
    "LinearCQR": "censquant.estimators",
    "LogNormalNN": "censquant.estimators",
    "PooledQuantileRegressor": "censquant.estimators",
    "QuantilePipeline": "censquant.estimators",
    "QuantileRegressor": "censquant.estimators",
    "SequentialGridNN": "censquant.estimators",
    "ShapeNN": "censquant.estimators",
    "Surv": "censquant.survival",
    "UncensoredOnlyNN": "censquant.estimators",
    "WeibullNN": "censquant.estimators",
    "adapt": "censquant.estimators",
    "load": "censquant.estimators",
    "make_quantile_pipeline": "censquant.estimators",
    "register_onnx_converters": "censquant.estimators",
}
_SUBPACKAGES = (
    "adapters",
    "benchmark",
    "calibration",
    "dask",
    "datasets",
    "estimators",
    "exceptions",
    "export",
    "inspection",
    "io",
    "losses",
    "metrics",
    "networks",
    "objectives",
    "plotting",
    "quantiles",
    "report",
    "survival",
    "torch",
    "training",
)

__all__ = [
    "CQRNN",
    "AsymmetricLaplaceNN",
    "BoostedQuantileRegressor",
    "CensoredQuantileForest",
    "CensoredQuantileRegressor",
    "Checkpoint",
    "ConformalSurvivalRegressor",
    "CoxQuantileRegressor",
    "DeepQuantReg",
    "LinearCQR",
    "LogNormalNN",
    "PooledQuantileRegressor",
    "QuantilePipeline",
    "QuantileRegressor",
    "SequentialGridNN",
    "ShapeNN",
    "Surv",
    "UncensoredOnlyNN",
    "WeibullNN",
    "__version__",
    "adapt",
    "load",
    "make_quantile_pipeline",
    "register_onnx_converters",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _SUBPACKAGES:
        value = import_module(f"censquant.{name}")
    else:
        raise AttributeError(f"module 'censquant' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBPACKAGES})
