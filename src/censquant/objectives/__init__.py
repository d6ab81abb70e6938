"""Objectives: what each method minimises, one file per method."""

from censquant.objectives._distributions import average_of
from censquant.objectives._frozen_levels import FrozenLevels
from censquant.objectives._grid import GridObjective
from censquant.objectives._likelihood import (
    AsymmetricLaplaceLikelihood,
    GumbelLikelihood,
    NormalLikelihood,
)
from censquant.objectives._observed import ObservedPinball, WeightedPinball
from censquant.objectives._pinball import Pinball
from censquant.objectives._portnoy import Portnoy
from censquant.objectives._powell import Powell

__all__ = [
    "AsymmetricLaplaceLikelihood",
    "FrozenLevels",
    "GridObjective",
    "GumbelLikelihood",
    "NormalLikelihood",
    "ObservedPinball",
    "Pinball",
    "Portnoy",
    "Powell",
    "WeightedPinball",
    "average_of",
]
