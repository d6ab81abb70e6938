"""Scores of predicted quantiles that take censoring into account."""

from censquant.metrics._a_calibration import ACalibration, a_calibration
from censquant.metrics._calibration import km_calibration, pit_curve, pit_deviation
from censquant.metrics._concordance import concordance_index
from censquant.metrics._coverage import Coverage, coverage
from censquant.metrics._d_calibration import (
    DCalibration,
    censored_d_calibration,
    d_calibration,
    uncensored_d_calibration,
)
from censquant.metrics._likelihood import right_censored_log_likelihood
from censquant.metrics._pinball import (
    crps_censored,
    pinball_loss_censored,
    pinball_loss_ipcw,
    true_quantile_mse,
    uncensored_quantile_loss,
)

__all__ = [
    "ACalibration",
    "Coverage",
    "DCalibration",
    "a_calibration",
    "censored_d_calibration",
    "concordance_index",
    "coverage",
    "crps_censored",
    "d_calibration",
    "km_calibration",
    "pinball_loss_censored",
    "pinball_loss_ipcw",
    "pit_curve",
    "pit_deviation",
    "right_censored_log_likelihood",
    "true_quantile_mse",
    "uncensored_d_calibration",
    "uncensored_quantile_loss",
]
