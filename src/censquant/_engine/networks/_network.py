"""What the training loop asks of a network."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
"""Numbers of single or double precision: training uses the former, prediction the latter."""

State = Mapping[str, NDArray[Any]]
"""Everything that changes while a network or an optimiser trains, as named arrays."""


class Optimizer(Protocol):
    """Moves a network's parameters along the gradient that its last backward pass left."""

    def step(self, learning_rate: float) -> None:
        """Make one step."""
        ...

    def state(self) -> State:
        """Return copies of the moments and counters, enough to resume bit for bit."""
        ...

    def load_state(self, state: State) -> None:
        """Restore what :meth:`state` returned."""
        ...


class Network(Protocol):
    """A function from rows to outputs with trainable parameters.

    Dense compiled networks and torch modules implement this protocol, so that there is one
    training loop. Inputs and outputs are arrays; everything between is up to the network.
    """

    @property
    def n_outputs(self) -> int:
        """Number of output columns."""
        ...

    @property
    def n_parameters(self) -> int:
        """Number of trained weights."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return the architecture as plain data."""
        ...

    def forward(self, x: FloatArray, *, training: bool) -> FloatArray:
        """Return the outputs ``(n, n_outputs)``, valid until the next call."""
        ...

    def backward(self, gradient: FloatArray) -> float:
        """Take the loss's derivative by the last outputs; return the value of own penalties.

        A network or head that penalises its own values adds their gradient here, so that the loop
        need not know.
        """
        ...

    def optimizer(self, weight_decay: float) -> Optimizer:
        """Return a fresh Adam for the parameters, with L2 decay inside the gradient."""
        ...

    def predict(self, x: FloatArray) -> NDArray[np.float64]:
        """Return the outputs for any number of rows, with nothing dropped and in bounded memory."""
        ...

    def state(self) -> State:
        """Return copies of all parameters and counters, enough to resume bit for bit."""
        ...

    def load_state(self, state: State) -> None:
        """Restore what :meth:`state` returned."""
        ...
