"""Estimators around other estimators: pools, pipelines, and other libraries' models."""

from censquant.estimators.meta._adapted import AdaptedModel, adapt
from censquant.estimators.meta._bounds import CoverageRow, CoverageTable, ShiftTest
from censquant.estimators.meta._conformal import ConformalSurvivalRegressor
from censquant.estimators.meta._network_parts import encoded_features, untrained_networks
from censquant.estimators.meta._pipeline import QuantilePipeline, make_quantile_pipeline
from censquant.estimators.meta._pool import CandidateRow, CandidateTable, PoolSummary
from censquant.estimators.meta._pooled import PooledQuantileRegressor
from censquant.estimators.meta._recommended import CensoredQuantileRegressor

__all__ = [
    "AdaptedModel",
    "CandidateRow",
    "CandidateTable",
    "CensoredQuantileRegressor",
    "ConformalSurvivalRegressor",
    "CoverageRow",
    "CoverageTable",
    "PoolSummary",
    "PooledQuantileRegressor",
    "QuantilePipeline",
    "ShiftTest",
    "adapt",
    "encoded_features",
    "make_quantile_pipeline",
    "untrained_networks",
]
