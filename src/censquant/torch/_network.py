"""Any torch module as a network of the training loop, and the paper's network for images."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from censquant._engine.networks._network import FloatArray, State

_PREDICTION_ROWS = 1_024
_SMALLEST_SIDE = 16  # of images: below it nothing is left after the convolutions

ModuleFactory = Callable[[tuple[int, ...], int], torch.nn.Module]
"""Makes a module for rows of an input shape and a number of outputs."""


class TorchNetwork:
    """A torch module behind the protocol of the training loop.

    The loop and the objectives are those of the dense networks: outputs are passed as an array
    (without a copy on the CPU) and the gradient is returned as one. Random numbers that the module
    draws, for example for dropout, come from its own stream: global generators stay untouched.

    Parameters
    ----------
    module : torch.nn.Module
        Maps float32 rows ``(n, ...)`` to outputs ``(n, n_outputs)``.
    n_outputs : int
    device : str, optional
        By default the CPU.
    seed : int
        Seeds the module's random numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from censquant.torch import TorchNetwork
    >>> network = TorchNetwork(torch.nn.Linear(3, 2), n_outputs=2)
    >>> network.predict(np.zeros((5, 3))).shape
    (5, 2)
    """

    def __init__(
        self, module: torch.nn.Module, n_outputs: int, *, device: str | None = None, seed: int = 0
    ) -> None:
        self.n_outputs = n_outputs
        self.device = torch.device(device or "cpu")
        self.module = module.to(self.device)
        self._stream = torch.Generator().manual_seed(seed).get_state()
        self._output: torch.Tensor | None = None

    @classmethod
    def from_factory(
        cls,
        factory: ModuleFactory,
        input_shape: tuple[int, ...],
        n_outputs: int,
        *,
        device: str | None = None,
        rng: np.random.Generator,
    ) -> "TorchNetwork":
        """Make the module by ``factory(input_shape, n_outputs)``, with weights from ``rng``."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**63)))
            module = factory(input_shape, n_outputs)
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"network must return a torch.nn.Module, got {type(module).__name__}.")
        return cls(module, n_outputs, device=device, seed=int(rng.integers(2**63)))

    @property
    def n_parameters(self) -> int:
        """Number of trained weights."""
        return sum(p.numel() for p in self.module.parameters() if p.requires_grad)

    def describe(self) -> dict[str, Any]:
        """Return what can be said of a module: code is not described."""
        return {"kind": "custom", "n_outputs": self.n_outputs}

    @contextmanager
    def _own_stream(self) -> Iterator[None]:
        """Let the module draw from its own stream of random numbers."""
        cuda = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=cuda):
            torch.set_rng_state(self._stream)
            if cuda:
                # Redrawn every step, since numbers of the GPU do not advance the stream.
                torch.cuda.manual_seed(int(torch.randint(2**63 - 1, ())))
            yield
            self._stream = torch.get_rng_state()

    def _to_tensor(self, x: FloatArray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32)).to(self.device)

    def forward(self, x: FloatArray, *, training: bool) -> NDArray[np.float32]:
        """Return the outputs ``(n, n_outputs)``."""
        self.module.train(training)
        if not training:
            with torch.no_grad():
                return self._as_array(self.module(self._to_tensor(x)), len(x))
        with self._own_stream():
            self._output = self.module(self._to_tensor(x))
        return self._as_array(self._output.detach(), len(x))

    def _as_array(self, output: torch.Tensor, n_rows: int) -> NDArray[np.float32]:
        if output.shape != (n_rows, self.n_outputs):
            raise ValueError(
                f"network must map {n_rows} rows to outputs of shape ({n_rows}, {self.n_outputs}), "
                f"got {tuple(output.shape)}."
            )
        array: NDArray[np.float32] = np.ascontiguousarray(output.cpu().numpy(), dtype=np.float32)
        return array

    def backward(self, gradient: FloatArray) -> float:
        """Take the loss's derivative by the last outputs through the module."""
        if self._output is None:
            raise RuntimeError("backward needs a forward pass with training=True before it.")
        self.module.zero_grad(set_to_none=True)
        torch.autograd.backward(self._output, self._to_tensor(gradient).to(self._output.dtype))
        self._output = None
        return 0.0

    def optimizer(self, weight_decay: float) -> "TorchAdam":
        """Return a fresh Adam for the module's parameters."""
        return TorchAdam(self.module, weight_decay)

    def predict(self, x: FloatArray) -> NDArray[np.float64]:
        """Return the outputs for any number of rows, block by block."""
        out = np.empty((len(x), self.n_outputs))
        for start in range(0, len(x), _PREDICTION_ROWS):
            rows = slice(start, start + _PREDICTION_ROWS)
            out[rows] = self.forward(x[rows], training=False)
        return out

    def state(self) -> State:
        """Return copies of parameters and buffers, and the place in the stream of numbers."""
        tensors = {
            f"module.{name}": value.detach().cpu().numpy().copy()
            for name, value in self.module.state_dict().items()
        }
        return {**tensors, "stream": self._stream.numpy().copy()}

    def load_state(self, state: State) -> None:
        """Restore what :meth:`state` returned."""
        self.module.load_state_dict(
            {
                name.removeprefix("module."): torch.from_numpy(np.array(value))
                for name, value in state.items()
                if name.startswith("module.")
            }
        )
        self._stream = torch.from_numpy(np.array(state["stream"]))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_output": None}


class TorchAdam:
    """Torch's Adam, with L2 decay inside the gradient, behind the optimiser protocol."""

    def __init__(self, module: torch.nn.Module, weight_decay: float) -> None:
        parameters = [p for p in module.parameters() if p.requires_grad]
        self._adam = torch.optim.Adam(parameters, weight_decay=weight_decay, fused=True)

    def step(self, learning_rate: float) -> None:
        """Move the parameters by one step."""
        for group in self._adam.param_groups:
            group["lr"] = learning_rate
        self._adam.step()

    def state(self) -> State:
        """Return copies of the moments and step counters."""
        return {
            f"{index}.{name}": value.detach().cpu().numpy().copy()
            for index, moments in self._adam.state_dict()["state"].items()
            for name, value in moments.items()
        }

    def load_state(self, state: State) -> None:
        """Restore what :meth:`state` returned."""
        parameters = dict(enumerate(self._adam.param_groups[0]["params"]))
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for key, value in state.items():
            index, name = key.split(".")
            shape = () if name == "step" else tuple(parameters[int(index)].shape)
            if value.shape != shape:
                raise ValueError(f"{key} must have the shape {shape}, got {value.shape}.")
            moments.setdefault(int(index), {})[name] = torch.from_numpy(np.array(value))
        self._adam.load_state_dict({**self._adam.state_dict(), "state": moments})


def image_cnn(
    input_shape: tuple[int, ...], n_outputs: int, *, dropout: float = 0.2
) -> torch.nn.Module:
    """Convolutional network of the paper's SurvMNIST experiment, for ``network=``.

    Three convolutions (64 of 5 x 5, 128 of 5 x 5, 256 of 3 x 3) with ReLU, whole channels dropped
    and averages over 2 x 2 pixels after the first two, and a linear layer. The last layer is made
    with the others and so is trained; in the authors' program it was made after the optimiser,
    which never saw it.

    Parameters
    ----------
    input_shape : tuple of int
        Channels, height and width; 28 x 28 in the paper, at least 16 x 16.
    n_outputs : int
    dropout : float in [0, 1), default 0.2
        Share of channels dropped.

    Returns
    -------
    module : torch.nn.Module

    Examples
    --------
    >>> import torch
    >>> from censquant.torch import image_cnn
    >>> image_cnn((1, 28, 28), 19)(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 19])

    ``CQRNN(network=image_cnn, learning_rate=0.001)`` fits images of shape ``(n, 1, 28, 28)``.
    """
    if len(input_shape) != 3 or min(input_shape[1:]) < _SMALLEST_SIDE:
        raise ValueError(
            "image_cnn needs rows of shape (channels, height, width) with at least "
            f"{_SMALLEST_SIDE} x {_SMALLEST_SIDE} pixels, got {tuple(input_shape)}."
        )
    features = torch.nn.Sequential(
        torch.nn.Conv2d(input_shape[0], 64, kernel_size=5),
        torch.nn.ReLU(),
        torch.nn.Dropout2d(dropout),
        torch.nn.AvgPool2d(2),
        torch.nn.Conv2d(64, 128, kernel_size=5),
        torch.nn.ReLU(),
        torch.nn.Dropout2d(dropout),
        torch.nn.AvgPool2d(2),
        torch.nn.Conv2d(128, 256, kernel_size=min(3, _left(input_shape[1:]))),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
    )
    with torch.no_grad():
        n_features = features.eval()(torch.zeros(1, *input_shape)).shape[1]
    return torch.nn.Sequential(*features.train(), torch.nn.Linear(n_features, n_outputs))


def _left(sides: tuple[int, ...]) -> int:
    """Return the smaller side of what reaches the last convolution."""
    return min(((side - 4) // 2 - 4) // 2 for side in sides)
