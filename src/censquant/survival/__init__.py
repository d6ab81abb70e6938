"""Censored times: one reader of targets, curves of Kaplan and Meier and of Aalen and Johansen."""

from censquant.survival._aalen_johansen import AalenJohansen, aalen_johansen
from censquant.survival._comparisons import Estimate, LogRankTest, log_rank_test
from censquant.survival._kaplan_meier import KaplanMeier, censoring_kaplan_meier, kaplan_meier
from censquant.survival._read_target import read_target
from censquant.survival._surv import Surv
from censquant.survival._target import Target

__all__ = [
    "AalenJohansen",
    "Estimate",
    "KaplanMeier",
    "LogRankTest",
    "Surv",
    "Target",
    "aalen_johansen",
    "censoring_kaplan_meier",
    "kaplan_meier",
    "log_rank_test",
    "read_target",
]
