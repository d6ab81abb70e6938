"""Heads: what turns a network's raw outputs into quantiles."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from censquant._engine.networks import _head_kernels as kernels
from censquant._engine.networks._network import FloatArray, Network, Optimizer, State
from censquant._engine.networks._optimizer import Adam, OptimizerPair


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


@dataclass(frozen=True)
class IncreasingHead:
    """Quantiles that cannot cross: each is the previous one plus a softplus, as in the paper.

    Parameters
    ----------
    n_outputs : int
        Number of quantiles.
    """

    n_outputs: int

    @property
    def n_raw(self) -> int:
        """Number of raw outputs it takes from the network."""
        return self.n_outputs

    def describe(self) -> dict[str, Any]:
        """Return the map as plain data."""
        return {"head": "increasing"}

    def initial_parameters(self) -> NDArray[np.float32]:
        """Return no parameters: the softplus has none."""
        return np.empty(0, dtype=np.float32)

    def forward(self, raw: FloatArray, parameters: FloatArray, out: FloatArray) -> None:
        """Write the quantiles into ``out``."""
        kernels.increasing_forward(raw, out)

    def backward(
        self,
        raw: FloatArray,
        parameters: FloatArray,
        out_gradient: FloatArray,
        raw_gradient: FloatArray,
        parameter_gradient: FloatArray,
    ) -> float:
        """Write the derivative by the raw outputs."""
        kernels.increasing_backward(raw, out_gradient, raw_gradient)
        return 0.0


class HeadedNetwork:
    """Any network with a head on top of it: again a network.

    Parameters
    ----------
    network : Network
        Gives the raw outputs.
    head : Head
        Turns them into quantiles.
    """

    def __init__(self, network: Network, head: Head) -> None:
        self.network = network
        self.head = head
        self.parameters = head.initial_parameters()
        self.gradient = np.zeros_like(self.parameters)

    @property
    def n_outputs(self) -> int:
        """Number of output columns."""
        return self.head.n_outputs

    @property
    def n_parameters(self) -> int:
        """Number of trained weights."""
        return self.network.n_parameters + self.parameters.size

    def describe(self) -> dict[str, Any]:
        """Return the architecture as plain data."""
        return {"kind": "headed", **self.head.describe(), "network": self.network.describe()}

    def forward(self, x: FloatArray, *, training: bool) -> FloatArray:
        """Return the quantiles ``(n, n_outputs)``."""
        self._raw = self.network.forward(x, training=training)
        out = np.empty((len(x), self.n_outputs), dtype=self._raw.dtype)
        self.head.forward(self._raw, self.parameters, out)
        return out

    def backward(self, gradient: FloatArray) -> float:
        """Pass the derivative by the quantiles through head and network."""
        raw_gradient = np.empty_like(self._raw)
        penalty = self.head.backward(
            self._raw, self.parameters, gradient, raw_gradient, self.gradient
        )
        return penalty + self.network.backward(raw_gradient)

    def optimizer(self, weight_decay: float) -> Optimizer:
        """Return an optimiser of network and head together; the head is not decayed."""
        inner = self.network.optimizer(weight_decay)
        own = Adam(self.parameters, self.gradient, weight_decay=0.0)
        return OptimizerPair(inner, own, "head")

    def predict(self, x: FloatArray) -> NDArray[np.float64]:
        """Return the quantiles for any number of rows."""
        raw = self.network.predict(x)
        out = np.empty((len(x), self.n_outputs))
        self.head.forward(raw, self.parameters.astype(np.float64), out)
        return out

    def state(self) -> State:
        """Return copies of all parameters."""
        return {**self.network.state(), "head": self.parameters.copy()}

    def load_state(self, state: State) -> None:
        """Restore what :meth:`state` returned."""
        self.network.load_state(state)
        self.parameters[:] = state["head"]

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_raw"}
