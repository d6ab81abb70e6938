"""Several networks on the same rows, their outputs side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine.networks._network import FloatArray, Network, Optimizer, State


class StackedNetwork:
    """Networks whose outputs are concatenated: again a network.

    Parameters
    ----------
    networks : sequence of Network
    """

    def __init__(self, networks: Sequence[Network]) -> None:
        self.networks = list(networks)

    @property
    def n_outputs(self) -> int:
        """Number of output columns of all together."""
        return sum(network.n_outputs for network in self.networks)

    @property
    def n_parameters(self) -> int:
        """Number of trained weights."""
        return sum(network.n_parameters for network in self.networks)

    def describe(self) -> dict[str, Any]:
        """Return the architecture as plain data."""
        return {
            "kind": "stacked",
            "networks": [network.describe() for network in self.networks],
        }

    def forward(self, x: FloatArray, *, training: bool) -> FloatArray:
        """Return the outputs side by side."""
        outputs = [network.forward(x, training=training) for network in self.networks]
        return np.concatenate(outputs, axis=1)

    def backward(self, gradient: FloatArray) -> float:
        """Pass each network the derivative by its own outputs."""
        ends = np.cumsum([network.n_outputs for network in self.networks])[:-1]
        parts = np.split(gradient, ends, axis=1)
        return sum(
            network.backward(np.ascontiguousarray(part))
            for network, part in zip(self.networks, parts, strict=True)
        )

    def optimizer(self, weight_decay: float) -> "StackedOptimizer":
        """Return an optimiser of all networks together."""
        return StackedOptimizer([network.optimizer(weight_decay) for network in self.networks])

    def predict(self, x: FloatArray) -> NDArray[np.float64]:
        """Return the outputs side by side, for any number of rows."""
        return np.concatenate([network.predict(x) for network in self.networks], axis=1)

    def state(self) -> State:
        """Return copies of all parameters, the number of each network before its names."""
        return _numbered([network.state() for network in self.networks])

    def load_state(self, state: State) -> None:
        """Restore what :meth:`state` returned."""
        for place, network in enumerate(self.networks):
            network.load_state(_of(place, state))


class StackedOptimizer:
    """Optimisers that step together."""

    def __init__(self, optimizers: Sequence[Optimizer]) -> None:
        self._optimizers = list(optimizers)

    def step(self, learning_rate: float) -> None:
        """Make one step with each."""
        for optimizer in self._optimizers:
            optimizer.step(learning_rate)

    def state(self) -> State:
        """Return all states, the number of each optimiser before its names."""
        return _numbered([optimizer.state() for optimizer in self._optimizers])

    def load_state(self, state: State) -> None:
        """Restore what :meth:`state` returned."""
        for place, optimizer in enumerate(self._optimizers):
            optimizer.load_state(_of(place, state))


def _numbered(states: Sequence[State]) -> State:
    return {
        f"{place}.{name}": value
        for place, state in enumerate(states)
        for name, value in state.items()
    }


def _of(place: int, state: State) -> State:
    prefix = f"{place}."
    return {
        name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)
    }
