"""Objectives: what each method minimises, one file per method."""

from censquant.objectives._asymmetric_laplace import AsymmetricLaplaceDistribution
from censquant.objectives._bounds import ParameterBounds
from censquant.objectives._crps import AsymmetricLaplaceCRPS, LogNormalCRPS, WeibullCRPS
from censquant.objectives._distributions import (
    FormulaDistribution,
    GumbelDistribution,
    NormalDistribution,
    average_of,
)
from censquant.objectives._frozen_levels import FrozenLevels
from censquant.objectives._graphs import UnitDistribution, distribution_graph
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
from censquant.objectives._shape import ShapeLikelihood
from censquant.objectives._shape_distribution import ShapeDistribution, shape_knots
from censquant.objectives._tobit_laplace import TobitLaplace

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
    "UnitDistribution",
    "WeibullCRPS",
    "WeightedPinball",
    "average_of",
    "distribution_graph",
    "shape_knots",
]
