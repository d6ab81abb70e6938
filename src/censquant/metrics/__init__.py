"""Scores of predicted quantiles that take censoring into account."""

from censquant.metrics._calibration import pit_curve
from censquant.metrics._concordance import concordance_index

__all__ = ["concordance_index", "pit_curve"]
