"""Scores of predicted times and quantiles that take censoring into account.

A new metric is a function in one of the files here and its lines in this one: the import, the name
in ``__all__``, and a `Metric` where `evaluate` or a scorer should offer it. ``_counts.py`` says how
draws are scored without a call for each of them.
"""

from typing import Any

from censquant._plugins import moved_to_bench
from censquant.metrics._absolute_error import mean_absolute_error_censored
from censquant.metrics._brier import brier_score, integrated_brier_score
from censquant.metrics._calibration import (
    ACalibration,
    DCalibration,
    PitHistogram,
    a_calibration,
    d_calibration,
    km_calibration,
    pit_band,
    pit_curve,
    pit_deviation,
    pit_histogram,
)
from censquant.metrics._calibration_at import CalibrationAt, calibration_at
from censquant.metrics._compare import Comparison, compare, compare_models
from censquant.metrics._concordance import (
    concordance_index,
    concordance_index_ipcw,
    concordance_index_td,
)
from censquant.metrics._concordance import concordance_index_ipcw_known as _ipcw_known
from censquant.metrics._coverage import Coverage, coverage
from censquant.metrics._evaluate import evaluate
from censquant.metrics._evaluation import Evaluation
from censquant.metrics._incidence import (
    brier_score_incidence,
    calibration_incidence,
    integrated_brier_score_incidence,
    log_score_incidence,
)
from censquant.metrics._intervals import BootstrapInterval, bootstrap_interval
from censquant.metrics._log_score import log_score
from censquant.metrics._pinball import (
    crps_censored,
    pinball_loss_censored,
    pinball_loss_ipcw,
    right_censored_log_likelihood,
)
from censquant.metrics._scorers import SCORERS, get_scorer
from censquant.metrics._scorers import Metric as _Metric
from censquant.metrics._scorers import offer as _offer

__all__ = [
    "SCORERS",
    "ACalibration",
    "BootstrapInterval",
    "CalibrationAt",
    "Comparison",
    "Coverage",
    "DCalibration",
    "Evaluation",
    "PitHistogram",
    "a_calibration",
    "bootstrap_interval",
    "brier_score",
    "brier_score_incidence",
    "calibration_at",
    "calibration_incidence",
    "compare",
    "compare_models",
    "concordance_index",
    "concordance_index_ipcw",
    "concordance_index_td",
    "coverage",
    "crps_censored",
    "d_calibration",
    "evaluate",
    "get_scorer",
    "integrated_brier_score",
    "integrated_brier_score_incidence",
    "km_calibration",
    "log_score",
    "log_score_incidence",
    "mean_absolute_error_censored",
    "pinball_loss_censored",
    "pinball_loss_ipcw",
    "pit_band",
    "pit_curve",
    "pit_deviation",
    "pit_histogram",
    "right_censored_log_likelihood",
]

_MOVED = (
    "censored_d_calibration",
    "true_quantile_mse",
    "uncensored_d_calibration",
    "uncensored_quantile_loss",
)

# In the order of the table of `evaluate`: takes, better, scorer, note.
_offer(
    _Metric(
        log_score,
        "quantiles",
        "lower",
        "neg_log_score",
        "whole distribution, needs no model of censoring{kaplan_meier}",
    ),
    _Metric(
        concordance_index,
        "medians",
        "higher",
        "concordance_median",
        "order of the medians; 0.5 is chance",
        is_cut=False,
    ),
    _Metric(
        concordance_index_ipcw,
        "medians",
        "higher",
        "",
        "the same, corrected for censoring",
        for_equal_censoring=True,
    ),
    _Metric(
        concordance_index,
        "restricted_means",
        "higher",
        "concordance",
        "order of the mean times up to {horizon:g}; 0.5 is chance",
        row="concordance_restricted_mean",
        is_cut=False,
    ),
    _Metric(
        _ipcw_known, "restricted_means", "higher", "concordance_ipcw", for_equal_censoring=True
    ),
    _Metric(
        pinball_loss_censored,
        "quantiles",
        "lower",
        "neg_censored_pinball",
        "quantiles, in units of time",
        for_equal_censoring=True,
    ),
    _Metric(
        pinball_loss_ipcw,
        "quantiles",
        "lower",
        "neg_ipcw_pinball",
        "the same, from weighted events",
        for_equal_censoring=True,
    ),
    _Metric(
        crps_censored,
        "quantiles",
        "lower",
        "neg_crps",
        "whole distribution, in units of time",
        for_equal_censoring=True,
    ),
    _Metric(
        integrated_brier_score,
        "survival",
        "lower",
        "neg_integrated_brier",
        "probabilities of survival; 0.25 is chance",
        for_equal_censoring=True,
    ),
    _Metric(
        mean_absolute_error_censored,
        "medians",
        "lower",
        "neg_mean_absolute_error_censored",
        "medians, in units of time",
        for_equal_censoring=True,
    ),
)


def __getattr__(name: str) -> Any:
    raise moved_to_bench(__name__, name, _MOVED, "censquant_bench.metrics")
