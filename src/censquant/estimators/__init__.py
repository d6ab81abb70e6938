"""Estimators with scikit-learn's API, one short file a method."""

from censquant.estimators._cqrnn import CQRNN
from censquant.estimators._persistence import load

__all__ = ["CQRNN", "load"]
