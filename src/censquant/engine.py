"""For those who extend the library: what a new objective, network or loop is made of.

``docs/adding-a-method.md`` writes a method with these names in fewer than forty lines.
"""

from censquant._engine.losses import pinball, portnoy
from censquant._engine.networks import Head, Network
from censquant._engine.objectives import GridObjective
from censquant._engine.training import (
    Callback,
    Checkpoint,
    Objective,
    Rows,
    RowSource,
    TrainingConfig,
    train,
)
from censquant.estimators import NeuralRegressor, ParametricRegressor

__all__ = [
    "Callback",
    "Checkpoint",
    "GridObjective",
    "Head",
    "Network",
    "NeuralRegressor",
    "Objective",
    "ParametricRegressor",
    "RowSource",
    "Rows",
    "TrainingConfig",
    "pinball",
    "portnoy",
    "train",
]
