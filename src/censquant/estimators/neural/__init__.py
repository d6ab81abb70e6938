"""Estimators that train networks, one short file per method."""

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
from censquant.estimators.neural._split_fit import (
    RowSummary,
    RowUnits,
    SplitFit,
    check_splittable,
    number_columns,
)
from censquant.estimators.neural._trained_model import TrainedModel
from censquant.estimators.neural._y_star import y_star_factor

__all__ = [
    "CQRNN",
    "AsymmetricLaplaceNN",
    "DeepQuantReg",
    "LogNormalNN",
    "NeuralRegressor",
    "ParametricRegressor",
    "RowSummary",
    "RowUnits",
    "SequentialGridNN",
    "ShapeNN",
    "SplitFit",
    "TrainedModel",
    "UncensoredOnlyNN",
    "WeibullNN",
    "check_splittable",
    "number_columns",
    "y_star_factor",
]
