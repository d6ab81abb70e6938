"""Estimators around other estimators: pipelines, and other libraries' models."""

from censquant.estimators.meta._adapted import AdaptedModel, adapt
from censquant.estimators.meta._pipeline import QuantilePipeline, make_quantile_pipeline

__all__ = ["AdaptedModel", "QuantilePipeline", "adapt", "make_quantile_pipeline"]
