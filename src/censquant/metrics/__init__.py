"""Scores of predicted times and quantiles that take censoring into account."""

from censquant.metrics._a_calibration import ACalibration, a_calibration
from censquant.metrics._absolute_error import mean_absolute_error_censored
from censquant.metrics._brier import brier_score, integrated_brier_score
from censquant.metrics._calibration import km_calibration, pit_band, pit_curve, pit_deviation
from censquant.metrics._compare import Comparison, compare
from censquant.metrics._concordance import (
    concordance_index,
    concordance_index_ipcw,
    concordance_index_td,
)
from censquant.metrics._coverage import Coverage, coverage
from censquant.metrics._d_calibration import (
    DCalibration,
    censored_d_calibration,
    d_calibration,
    uncensored_d_calibration,
)
from censquant.metrics._evaluate import evaluate
from censquant.metrics._evaluation import Evaluation, EvaluationRow
from censquant.metrics._intervals import BootstrapInterval, bootstrap_interval
from censquant.metrics._likelihood import right_censored_log_likelihood
from censquant.metrics._pinball import (
    crps_censored,
    pinball_loss_censored,
    pinball_loss_ipcw,
    true_quantile_mse,
    uncensored_quantile_loss,
)
from censquant.metrics._pit_histogram import PitHistogram, pit_histogram
from censquant.metrics._scorers import SCORERS, get_scorer

__all__ = [
    "SCORERS",
    "ACalibration",
    "BootstrapInterval",
    "Comparison",
    "Coverage",
    "DCalibration",
    "Evaluation",
    "EvaluationRow",
    "PitHistogram",
    "a_calibration",
    "bootstrap_interval",
    "brier_score",
    "censored_d_calibration",
    "compare",
    "concordance_index",
    "concordance_index_ipcw",
    "concordance_index_td",
    "coverage",
    "crps_censored",
    "d_calibration",
    "evaluate",
    "get_scorer",
    "integrated_brier_score",
    "km_calibration",
    "mean_absolute_error_censored",
    "pinball_loss_censored",
    "pinball_loss_ipcw",
    "pit_band",
    "pit_curve",
    "pit_deviation",
    "pit_histogram",
    "right_censored_log_likelihood",
    "true_quantile_mse",
    "uncensored_d_calibration",
    "uncensored_quantile_loss",
]
