"""Quantile curves: level grids, the distribution they imply, and how far the data can speak."""

from censquant.quantiles._curve import QuantileCurve
from censquant.quantiles._grid import DEFAULT_QUANTILES, check_levels, check_quantiles, even_grid
from censquant.quantiles._identifiability import identified_levels, mask_beyond
from censquant.quantiles._matrix import sorted_rows
from censquant.quantiles._restricted_mean import restricted_mean
from censquant.quantiles._survival_function import SurvivalFunction

__all__ = [
    "DEFAULT_QUANTILES",
    "QuantileCurve",
    "SurvivalFunction",
    "check_levels",
    "check_quantiles",
    "even_grid",
    "identified_levels",
    "mask_beyond",
    "restricted_mean",
    "sorted_rows",
]
