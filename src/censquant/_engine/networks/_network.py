"""What the training loop needs of a network, and a network of a head."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
"""Numbers of single or double precision: training uses the former, prediction the latter."""

State = Mapping[str, NDArray[Any]]
"""Everything that changes while a network or an optimiser trains, as named arrays."""


def with_prefix(state: State, prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names have a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}


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


class Head(Protocol):
    """A map from raw outputs to quantiles, with a backward pass and possibly own parameters.

    Own parameters are trained together with the network and are never decayed. A head may penalise
    raw outputs and own parameters: :meth:`backward` adds the penalty's gradient and returns its
    value.
    """

    @property
    def n_raw(self) -> int:
        """Number of raw outputs it takes from the network."""
        ...

    @property
    def n_outputs(self) -> int:
        """Number of quantiles it gives."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return the map as plain data: its name at ``head``, and what else makes it."""
        ...

    def initial_parameters(self) -> NDArray[np.float32]:
        """Return the initial values of its own parameters; may be empty."""
        ...

    def forward(self, raw: FloatArray, parameters: FloatArray, out: FloatArray) -> None:
        """Write the quantiles into ``out``."""
        ...

    def backward(
        self,
        raw: FloatArray,
        parameters: FloatArray,
        out_gradient: FloatArray,
        raw_gradient: FloatArray,
        parameter_gradient: FloatArray,
    ) -> float:
        """Write the derivatives by raw outputs and own parameters; return own penalties."""
        ...
