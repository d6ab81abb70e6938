"""Objectives: what each method minimises."""

from censquant._engine.objectives._distributions import (
    AsymmetricLaplaceDistribution,
    FormulaDistribution,
    LocationScaleDistribution,
    ShapeDistribution,
    average_of,
    shape_knots,
)
from censquant._engine.objectives._grid import (
    FrozenLevels,
    GridObjective,
    ObservedPinball,
    Pinball,
    Portnoy,
    Powell,
    TobitLaplace,
    WeightedPinball,
)
from censquant._engine.objectives._likelihoods import (
    AsymmetricLaplaceCRPS,
    AsymmetricLaplaceLikelihood,
    GumbelLikelihood,
    LogNormalCRPS,
    NormalLikelihood,
    ParameterBounds,
    ShapeLikelihood,
    WeibullCRPS,
)

__all__ = [
    "AsymmetricLaplaceCRPS",
    "AsymmetricLaplaceDistribution",
    "AsymmetricLaplaceLikelihood",
    "FormulaDistribution",
    "FrozenLevels",
    "GridObjective",
    "GumbelLikelihood",
    "LocationScaleDistribution",
    "LogNormalCRPS",
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
