"""Objectives: what each method minimises, one file per method."""

from censquant._engine.objectives._asymmetric_laplace import AsymmetricLaplaceDistribution
from censquant._engine.objectives._bounds import ParameterBounds
from censquant._engine.objectives._crps import AsymmetricLaplaceCRPS, LogNormalCRPS, WeibullCRPS
from censquant._engine.objectives._distributions import (
    FormulaDistribution,
    GumbelDistribution,
    NormalDistribution,
    average_of,
)
from censquant._engine.objectives._frozen_levels import FrozenLevels
from censquant._engine.objectives._grid import GridObjective
from censquant._engine.objectives._likelihood import (
    AsymmetricLaplaceLikelihood,
    GumbelLikelihood,
    NormalLikelihood,
)
from censquant._engine.objectives._observed import ObservedPinball, WeightedPinball
from censquant._engine.objectives._pinball import Pinball
from censquant._engine.objectives._portnoy import Portnoy
from censquant._engine.objectives._powell import Powell
from censquant._engine.objectives._shape import ShapeLikelihood
from censquant._engine.objectives._shape_distribution import ShapeDistribution, shape_knots
from censquant._engine.objectives._tobit_laplace import TobitLaplace

__all__ = [
    "AsymmetricLaplaceCRPS",
    "AsymmetricLaplaceDistribution",
    "AsymmetricLaplaceLikelihood",
    "FormulaDistribution",
    "FrozenLevels",
    "GridObjective",
    "GumbelDistribution",
    "GumbelLikelihood",
    "LogNormalCRPS",
    "NormalDistribution",
    "NormalLikelihood",
    "ObservedPinball",
    "ParameterBounds",
    "Pinball",
    "Portnoy",
    "Powell",
    "ShapeDistribution",
    "ShapeLikelihood",
    "TobitLaplace",
    "WeibullCRPS",
    "WeightedPinball",
    "average_of",
    "shape_knots",
]
