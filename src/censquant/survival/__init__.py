"""Censored times: one reader of targets, Kaplan-Meier's and Turnbull's curves."""

from censquant.survival._kaplan_meier import KaplanMeier, censoring_kaplan_meier, kaplan_meier
from censquant.survival._read_target import read_target
from censquant.survival._surv import Surv
from censquant.survival._target import Target
from censquant.survival._turnbull import Turnbull, turnbull

__all__ = [
    "KaplanMeier",
    "Surv",
    "Target",
    "Turnbull",
    "censoring_kaplan_meier",
    "kaplan_meier",
    "read_target",
    "turnbull",
]
