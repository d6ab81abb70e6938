"""Estimators with scikit-learn's API, one short file a method."""

from censquant.estimators._cqrnn import CQRNN
from censquant.estimators._deep_quant_reg import DeepQuantReg
from censquant.estimators._parametric import AsymmetricLaplaceNN, LogNormalNN, WeibullNN
from censquant.estimators._persistence import load
from censquant.estimators._sequential_grid import SequentialGridNN
from censquant.estimators._uncensored_only import UncensoredOnlyNN

__all__ = [
    "CQRNN",
    "AsymmetricLaplaceNN",
    "DeepQuantReg",
    "LogNormalNN",
    "SequentialGridNN",
    "UncensoredOnlyNN",
    "WeibullNN",
    "load",
]
