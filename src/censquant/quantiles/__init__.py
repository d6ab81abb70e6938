"""Quantile curves: the predictive distribution of each individual, and its functions of time."""

from censquant.quantiles._curve import QuantileCurve
from censquant.quantiles._survival_function import CumulativeHazardFunction, SurvivalFunction

__all__ = ["CumulativeHazardFunction", "QuantileCurve", "SurvivalFunction"]
