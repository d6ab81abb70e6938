"""Objectives: what each method minimises, one file a method."""

from censquant.objectives._grid import GridObjective
from censquant.objectives._pinball import Pinball
from censquant.objectives._portnoy import Portnoy

__all__ = ["GridObjective", "Pinball", "Portnoy"]
