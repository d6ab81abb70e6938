"""Estimators made of trees: a forest with Kaplan-Meier leaves, and boosted trees."""

from censquant.estimators.trees._boosted import BoostedQuantileRegressor
from censquant.estimators.trees._forest import CensoredQuantileForest

__all__ = ["BoostedQuantileRegressor", "CensoredQuantileForest"]
