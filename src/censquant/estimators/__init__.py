"""Estimators with scikit-learn's API: one base class, and a folder per kind of model."""

from typing import Any

import censquant
from censquant._storage._persistence import load_model, load_notes
from censquant.estimators._adapted import AdaptedModel, adapt
from censquant.estimators._aft import AFTRegressor
from censquant.estimators._base import BaseQuantileRegressor
from censquant.estimators._boosted import BoostedQuantileRegressor
from censquant.estimators._competing import CompetingRisksRegressor
from censquant.estimators._conformal import ConformalSurvivalRegressor
from censquant.estimators._cox import CoxQuantileRegressor
from censquant.estimators._forest import CensoredQuantileForest
from censquant.estimators._pipeline import QuantilePipeline, make_quantile_pipeline
from censquant.estimators.ensemble._pooled import PooledQuantileRegressor
from censquant.estimators.ensemble._recommended import CensoredQuantileRegressor
from censquant.estimators.linear import LinearQuantileRegressor
from censquant.estimators.neural._baselines import DeepQuantReg, UncensoredOnlyNN
from censquant.estimators.neural._cqrnn import CQRNN
from censquant.estimators.neural._neural import NeuralRegressor
from censquant.estimators.neural._parametric import (
    AsymmetricLaplaceNN,
    LogNormalNN,
    ParametricRegressor,
    WeibullNN,
)
from censquant.estimators.neural._sequential_grid import SequentialGridNN
from censquant.estimators.neural._shape import ShapeNN

__all__ = [
    "CQRNN",
    "AFTRegressor",
    "AdaptedModel",
    "AsymmetricLaplaceNN",
    "BaseQuantileRegressor",
    "BoostedQuantileRegressor",
    "CensoredQuantileForest",
    "CensoredQuantileRegressor",
    "CompetingRisksRegressor",
    "ConformalSurvivalRegressor",
    "CoxQuantileRegressor",
    "DeepQuantReg",
    "LinearQuantileRegressor",
    "LogNormalNN",
    "NeuralRegressor",
    "ParametricRegressor",
    "PooledQuantileRegressor",
    "QuantilePipeline",
    "SequentialGridNN",
    "ShapeNN",
    "UncensoredOnlyNN",
    "WeibullNN",
    "adapt",
    "load_model",
    "load_notes",
    "make_quantile_pipeline",
]


def __getattr__(name: str) -> Any:
    if name in censquant._RENAMED:
        return censquant._renamed(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
