"""Networks: dense ones compiled with numba, heads on top, and the protocol any other must keep."""

from censquant._engine.networks._dense import ACTIVATIONS, DenseNetwork
from censquant._engine.networks._heads import Head, HeadedNetwork, IncreasingHead
from censquant._engine.networks._network import FloatArray, Network, Optimizer, State
from censquant._engine.networks._optimizer import Adam
from censquant._engine.networks._shape import ShapeHead
from censquant._engine.networks._skip import LinearSkip
from censquant._engine.networks._stack import StackedNetwork

__all__ = [
    "ACTIVATIONS",
    "Adam",
    "DenseNetwork",
    "FloatArray",
    "Head",
    "HeadedNetwork",
    "IncreasingHead",
    "LinearSkip",
    "Network",
    "Optimizer",
    "ShapeHead",
    "StackedNetwork",
    "State",
]
