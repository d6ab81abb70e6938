"""Fully connected networks, compiled, and Adam over their flat parameter vector."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_info

from censquant._engine.networks import _kernels as kernels
from censquant._engine.networks._network import FloatArray, State

ACTIVATIONS = {
    "relu": kernels.RELU,
    "gelu": kernels.GELU,
    "silu": kernels.SILU,
    "tanh": kernels.TANH,
}
"""Activation names and the codes by which the kernels know them."""

PREDICTION_ROWS = 512
"""Rows of a prediction at a time: their hidden values stay in the processor's cache."""

# OpenBLAS has kernels for AVX-512 that skip the packing of small matrices and run a quarter faster
# than its general ones; they take products of up to a million multiplications.
_SMALL = 1_000_000
_ARCHITECTURES = ("skylakex", "cooperlake", "sapphirerapids")


class Adam:
    """Adam with L2 decay inside the gradient, as PyTorch's ``Adam(weight_decay=...)`` has it.

    :meth:`step` changes ``parameters`` in place by ``gradient``, where the network leaves its own.
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


class DenseNetwork:
    """A fully connected network whose passes are compiled and release the GIL.

    Parameters are drawn as PyTorch draws them by default: weights and biases uniform within one
    over the square root of the layer's number of inputs. Training runs in float32; predictions are
    made in float64, so that other rows change a row's prediction in the last bits only. ``sizes``
    are the numbers of inputs, of hidden units layer by layer, and of outputs; ``rng`` is the source
    of the initial parameters and of the dropout masks.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        *,
        activation: str = "relu",
        dropout: float = 0.0,
        rng: np.random.Generator,
    ) -> None:
        self.sizes = tuple(int(size) for size in sizes)
        self.activation = activation
        self.dropout = dropout
        self.parameters = _initial_parameters(self.sizes, rng)
        self.gradient = np.zeros_like(self.parameters)
        self._seed = int(rng.integers(2**32))
        self._n_steps = 0
        self._set_up()

    def shrink_last_layer(self, factor: float) -> None:
        """Scale the weights of the last layer and remove its biases, before training."""
        n_in, n_out = self.sizes[-2:]
        last = self.parameters[-(n_in + 1) * n_out :]
        last[:-n_out] *= factor
        last[-n_out:] = 0.0

    def _set_up(self) -> None:
        """Make what follows from the parameters: codes for the kernels and empty work space."""
        self._layer_sizes = np.asarray(self.sizes, dtype=np.int64)
        self._activation_code = ACTIVATIONS[self.activation]
        self._small_product = small_product()
        self._reserve(0)

    def _reserve(self, n_rows: int) -> None:
        """Make work space for batches of up to ``n_rows`` rows."""
        hidden_units = sum(self.sizes[1:-1])
        self._n_reserved = n_rows
        self._hidden, self._slopes = np.empty((2, n_rows * hidden_units), dtype=np.float32)
        self._out = np.empty((n_rows, self.n_outputs), dtype=np.float32)
        self._weight_work = np.empty(max(a * b for a, b in pairwise(self.sizes)), dtype=np.float32)

    @property
    def n_outputs(self) -> int:
        """Number of output columns."""
        return self.sizes[-1]

    @property
    def n_parameters(self) -> int:
        """Number of trained weights."""
        return self.parameters.size

    def describe(self) -> dict[str, Any]:
        """Return the architecture as plain data."""
        return {
            "kind": "dense",
            "sizes": list(self.sizes),
            "activation": self.activation,
            "dropout": float(self.dropout),
        }

    def forward(self, x: FloatArray, *, training: bool) -> NDArray[np.float32]:
        """Return the outputs ``(n, n_outputs)``, valid until the next call."""
        n_rows = len(x)
        if n_rows > self._n_reserved:
            self._reserve(n_rows)
        if training:
            self._n_steps += 1
        out = self._out[:n_rows]
        self._x = x
        kernels.dense_forward(
            self.parameters,
            self._layer_sizes,
            self._activation_code,
            self.dropout if training else 0.0,
            # A new key every step; the multiplier spreads neighbouring steps over all words.
            np.uint32((self._seed + 0x9E3779B9 * self._n_steps) & 0xFFFFFFFF),
            x,
            self._hidden,
            self._slopes,
            out,
            self._small_product,
        )
        return out

    def backward(self, gradient: FloatArray) -> float:
        """Take the loss's derivative by the last outputs into :attr:`gradient`."""
        kernels.dense_backward(
            self.parameters,
            self._layer_sizes,
            self._x,
            self._hidden,
            self._slopes,
            gradient,
            self.gradient,
            self._weight_work,
            self._small_product,
        )
        return 0.0

    def optimizer(self, weight_decay: float) -> Adam:
        """Return a fresh Adam for the parameters, all of which are decayed."""
        return Adam(self.parameters, self.gradient, weight_decay=weight_decay)

    def predict(self, x: FloatArray) -> NDArray[np.float64]:
        """Return the outputs for any number of rows, computed in float64 and block by block."""
        parameters = self.parameters.astype(np.float64)
        hidden = np.empty(PREDICTION_ROWS * sum(self.sizes[1:-1]))
        out = np.empty((len(x), self.n_outputs))
        for start in range(0, len(x), PREDICTION_ROWS):
            rows = slice(start, start + PREDICTION_ROWS)
            kernels.dense_forward(
                parameters,
                self._layer_sizes,
                self._activation_code,
                0.0,
                np.uint32(0),
                np.ascontiguousarray(x[rows], dtype=np.float64),
                hidden,
                None,
                out[rows],
                self._small_product,
            )
        return out

    def state(self) -> State:
        """Return copies of the parameters and of the dropout counter."""
        return {
            "parameters": self.parameters.copy(),
            "dropout": np.array([self._seed, self._n_steps], dtype=np.int64),
        }

    def load_state(self, state: State) -> None:
        """Restore what :meth:`state` returned; an optimiser made earlier stays attached."""
        self.parameters[:] = state["parameters"]
        self._seed, self._n_steps = (int(value) for value in state["dropout"])

    def __getstate__(self) -> dict[str, Any]:
        work_space = ("_hidden", "_slopes", "_out", "_weight_work", "_x")
        return {name: value for name, value in vars(self).items() if name not in work_space}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._set_up()


def _initial_parameters(sizes: Sequence[int], rng: np.random.Generator) -> NDArray[np.float32]:
    """Draw weights and biases uniformly within one over the square root of the inputs."""
    layers = []
    for n_in, n_out in pairwise(sizes):
        bound = 1.0 / np.sqrt(max(n_in, 1))
        layers.append(rng.uniform(-bound, bound, size=(n_in + 1) * n_out))
    return np.concatenate(layers).astype(np.float32)


@cache
def small_product() -> int:
    """Return the number of multiplications that a product should not exceed, 0 for no limit."""
    # Compiled code calls the BLAS of scipy, which must be loaded to be found.
    import scipy.linalg.cython_blas  # noqa: F401

    found = {str(library.get("architecture")).lower() for library in threadpool_info()}
    return _SMALL if found & set(_ARCHITECTURES) else 0
