"""Networks: dense ones compiled with numba, heads on top, and the protocol any other must keep."""

from censquant.networks._dense import ACTIVATIONS, DenseNetwork
from censquant.networks._graphs import network_graph
from censquant.networks._heads import Head, HeadedNetwork, IncreasingHead
from censquant.networks._network import FloatArray, Network, Optimizer, State
from censquant.networks._optimizer import Adam
from censquant.networks._shape import ShapeHead
from censquant.networks._skip import LinearSkip
from censquant.networks._stack import StackedNetwork

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
    "network_graph",
]
