"""Censored times: one reader of targets, curves of populations, and their comparison."""

from censquant.survival._aalen_johansen import AalenJohansen, aalen_johansen
from censquant.survival._comparisons import Estimate, LogRankTest, log_rank_test
from censquant.survival._kaplan_meier import KaplanMeier, censoring_kaplan_meier, kaplan_meier
from censquant.survival._read_target import read_target
from censquant.survival._surv import Surv
from censquant.survival._target import Target
from censquant.survival._turnbull import Turnbull, turnbull

__all__ = [
    "AalenJohansen",
    "Estimate",
    "KaplanMeier",
    "LogRankTest",
    "Surv",
    "Target",
    "Turnbull",
    "aalen_johansen",
    "censoring_kaplan_meier",
    "kaplan_meier",
    "log_rank_test",
    "read_target",
    "turnbull",
]
