"""For those who extend the library: what a new objective, network or loop is made of.

``docs/adding-a-method.md`` writes a method with these names in fewer than forty lines.
"""

from censquant._engine.losses._grid import pinball, portnoy
from censquant._engine.networks._network import Head, Network
from censquant._engine.objectives._grid import GridObjective
from censquant._engine.training._checkpoint import Checkpoint
from censquant._engine.training._loop import Callback, Objective, TrainingConfig, train
from censquant._engine.training._rows import Rows, RowSource
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
