"""Estimators around other estimators: pipelines."""

from censquant.estimators.meta._pipeline import QuantilePipeline, make_quantile_pipeline

__all__ = ["QuantilePipeline", "make_quantile_pipeline"]
