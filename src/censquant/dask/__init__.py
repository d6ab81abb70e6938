"""Fits and predictions on a cluster of dask, where one machine cannot hold the rows."""

from censquant.dask._cqrnn import DaskCQRNN
from censquant.dask._recommended import DaskCensoredQuantileRegressor

__all__ = ["DaskCQRNN", "DaskCensoredQuantileRegressor"]
