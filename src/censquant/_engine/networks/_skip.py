"""A linear term beside a network."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine.networks._network import FloatArray, Network, Optimizer, State
from censquant._engine.networks._optimizer import Adam, OptimizerPair


class LinearSkip:
    """A network to whose first output a linear function of the inputs is added: again a network.

    The coefficients start at 0 and are not decayed, so that a linear trend costs nothing while
    everything else is held back.

    Parameters
    ----------
    network : Network
    n_inputs : int
        Number of values per row.
    """

    def __init__(self, network: Network, n_inputs: int) -> None:
        self.network = network
        self.parameters = np.zeros(n_inputs, dtype=np.float32)
        self.gradient = np.zeros_like(self.parameters)

    @property
    def n_outputs(self) -> int:
        """Number of output columns."""
        return self.network.n_outputs

    @property
    def n_parameters(self) -> int:
        """Number of trained weights."""
        return self.network.n_parameters + self.parameters.size

    def describe(self) -> dict[str, Any]:
        """Return the architecture as plain data."""
        return {"kind": "skip", "network": self.network.describe()}

    def forward(self, x: FloatArray, *, training: bool) -> FloatArray:
        """Return the outputs ``(n, n_outputs)``."""
        self._x = x.reshape(len(x), -1)
        # A copy: what the network returned is its own.
        out = self.network.forward(x, training=training).copy()
        out[:, 0] += self._x @ self.parameters
        return out

    def backward(self, gradient: FloatArray) -> float:
        """Pass the derivative by the outputs to the coefficients and to the network."""
        np.dot(gradient[:, 0], self._x, out=self.gradient)
        return self.network.backward(gradient)

    def optimizer(self, weight_decay: float) -> Optimizer:
        """Return an optimiser of network and coefficients; the latter are not decayed."""
        own = Adam(self.parameters, self.gradient, weight_decay=0.0)
        return OptimizerPair(self.network.optimizer(weight_decay), own, "skip")

    def predict(self, x: FloatArray) -> NDArray[np.float64]:
        """Return the outputs for any number of rows."""
        out = self.network.predict(x)
        out[:, 0] += x.reshape(len(x), -1) @ self.parameters.astype(np.float64)
        return out

    def state(self) -> State:
        """Return copies of all parameters."""
        return {**self.network.state(), "skip": self.parameters.copy()}

    def load_state(self, state: State) -> None:
        """Restore what :meth:`state` returned."""
        self.network.load_state(state)
        self.parameters[:] = state["skip"]

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_x"}
