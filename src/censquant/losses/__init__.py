"""Losses as compiled kernels: each returns its value and writes its gradient by the predictions."""

from censquant.losses._crossing import add_crossing_penalty
from censquant.losses._marginal import MarginalPinball
from censquant.losses._pinball import pinball
from censquant.losses._portnoy import LEVEL_RULES, levels_of, portnoy

__all__ = [
    "LEVEL_RULES",
    "MarginalPinball",
    "add_crossing_penalty",
    "levels_of",
    "pinball",
    "portnoy",
]
