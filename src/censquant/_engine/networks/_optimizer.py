"""Adam over one flat parameter vector, and optimisers of networks made of two parts."""

import numpy as np
from numpy.typing import NDArray

from censquant._engine.networks import _kernels as kernels
from censquant._engine.networks._network import Optimizer, State


class Adam:
    """Adam with L2 decay inside the gradient, as PyTorch's ``Adam(weight_decay=...)`` has it.

    Parameters
    ----------
    parameters : float32 array of shape (n,)
        Changed in place by :meth:`step`.
    gradient : float32 array of shape (n,)
        Where the network leaves its gradient.
    weight_decay : float
        Strength of the decay.
    """

    def __init__(
        self,
        parameters: NDArray[np.float32],
        gradient: NDArray[np.float32],
        *,
        weight_decay: float,
    ) -> None:
        self._parameters = parameters
        self._gradient = gradient
        self._weight_decay = weight_decay
        self._mean = np.zeros_like(parameters)
        self._square = np.zeros_like(parameters)
        self._n_steps = 0

    def step(self, learning_rate: float) -> None:
        """Move the parameters by one step."""
        self._n_steps += 1
        kernels.adam_step(
            self._parameters,
            self._gradient,
            self._mean,
            self._square,
            self._n_steps,
            learning_rate,
            self._weight_decay,
        )

    def state(self) -> State:
        """Return copies of the moments and the number of steps made."""
        return {
            "mean": self._mean.copy(),
            "square": self._square.copy(),
            "n_steps": np.array([self._n_steps], dtype=np.int64),
        }

    def load_state(self, state: State) -> None:
        """Restore what :meth:`state` returned."""
        self._mean[:] = state["mean"]
        self._square[:] = state["square"]
        self._n_steps = int(state["n_steps"][0])


class OptimizerPair:
    """The optimiser of a network and that of what was put around it, stepped together.

    Parameters
    ----------
    inner, own : Optimizer
    name : str
        Stands before the names in the state of ``own``.
    """

    def __init__(self, inner: Optimizer, own: Optimizer, name: str) -> None:
        self._inner = inner
        self._own = own
        self._prefix = f"{name}."

    def step(self, learning_rate: float) -> None:
        """Make one step with both."""
        self._inner.step(learning_rate)
        self._own.step(learning_rate)

    def state(self) -> State:
        """Return both states."""
        own = {self._prefix + name: value for name, value in self._own.state().items()}
        return {**self._inner.state(), **own}

    def load_state(self, state: State) -> None:
        """Restore what :meth:`state` returned."""
        own = {name: value for name, value in state.items() if name.startswith(self._prefix)}
        self._inner.load_state({name: v for name, v in state.items() if name not in own})
        self._own.load_state({name.removeprefix(self._prefix): v for name, v in own.items()})
