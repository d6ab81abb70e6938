"""Networks: dense ones compiled with numba, heads on top, and the protocol any other must keep."""

from censquant._engine.networks._combined import HeadedNetwork, LinearSkip, StackedNetwork
from censquant._engine.networks._dense import ACTIVATIONS, Adam, DenseNetwork
from censquant._engine.networks._heads import IncreasingHead, ShapeHead
from censquant._engine.networks._network import FloatArray, Head, Network, Optimizer, State

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
