"""Censored times: one reader of targets, and Kaplan-Meier curves."""

from censquant.survival._aalen_johansen import AalenJohansen, aalen_johansen
from censquant.survival._kaplan_meier import KaplanMeier, censoring_kaplan_meier, kaplan_meier
from censquant.survival._read_target import read_target
from censquant.survival._surv import Surv
from censquant.survival._target import Target

__all__ = [
    "AalenJohansen",
    "KaplanMeier",
    "Surv",
    "Target",
    "aalen_johansen",
    "censoring_kaplan_meier",
    "kaplan_meier",
    "read_target",
]
