"""Heads of networks, and networks that are made of others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from censquant._engine.networks import _kernels as kernels
from censquant._engine.networks._dense import Adam
from censquant._engine.networks._network import (
    FloatArray,
    Head,
    Network,
    Optimizer,
    State,
    with_prefix,
)

SMALLEST_GAP = 0.01  # of the base's own
_ROUGH_ROWS, _ROUGH_SHAPE, _SPREAD = 500.0, 50.0, 10.0


@dataclass(frozen=True)
class IncreasingHead:
    """Quantiles that cannot cross: each is the previous one plus a softplus, as in the paper."""

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


@dataclass(frozen=True)
class ShapeHead:
    r"""Quantiles that cannot cross: those of a base distribution, moved, stretched and bent.

    The network gives a location :math:`a`, a scale :math:`s` and one shape :math:`r_k` per gap
    between neighbouring quantiles; the head itself has a shape :math:`\rho` common to all rows,
    which is trained and not decayed. With :math:`b_k` the quantiles of the base,

    .. math:: Q_{k+1} - Q_k = (b_{k+1} - b_k) \big(\mathrm{softplus}(\log(e - 1) + s + \rho_k + r_k)
              + 0.01\big), \quad Q_\mathrm{mid} = b_\mathrm{mid} + a.

    All zeros give the base, up to a hundredth. Penalties that fade as rows become many hold the
    shape near it: with n rows, 500 / n times the mean over the batch of :math:`\sum_k (r_{k+1} -
    r_k)^2`, 50 / n times :math:`\sum_k (\rho_{k+1} - \rho_k)^2`, and 10 / n times the variance of
    :math:`s` within the batch.
    """

    knots: tuple[float, ...]  # quantiles of the base at the levels of the outputs
    n_rows: int | None = None  # of the training; None without penalties

    def __post_init__(self) -> None:
        knots = np.asarray(self.knots, dtype=np.float64)
        if knots.ndim != 1 or len(knots) < 2 or not (np.diff(knots) > 0).all():
            raise ValueError(
                f"knots must be at least two increasing numbers, got {tuple(self.knots)!r}."
            )
        if not np.isfinite(knots).all():
            raise ValueError(f"knots must be finite, got {tuple(self.knots)!r}.")

    @property
    def n_outputs(self) -> int:
        """Number of quantiles it gives."""
        return len(self.knots)

    @property
    def n_raw(self) -> int:
        """Location, scale, and one shape per gap."""
        return self.n_outputs + 1

    def describe(self) -> dict[str, Any]:
        """Return the map as plain data."""
        return {"head": "shape", "knots": list(self.knots)}

    def initial_parameters(self) -> NDArray[np.float32]:
        """Return a common shape of zeros."""
        return np.zeros(self.n_outputs - 1, dtype=np.float32)

    @cached_property
    def _steps(self) -> dict[Any, FloatArray]:
        """The base's gaps in either precision: another one would widen the kernels' loops."""
        steps = np.diff(np.asarray(self.knots, dtype=np.float64))
        return {np.dtype(kind): steps.astype(kind) for kind in (np.float32, np.float64)}

    def forward(self, raw: FloatArray, parameters: FloatArray, out: FloatArray) -> None:
        """Write the quantiles into ``out``."""
        middle = self.knots[self.n_outputs // 2]
        kernels.shape_forward(raw, parameters, self._steps[raw.dtype], middle, SMALLEST_GAP, out)

    def backward(
        self,
        raw: FloatArray,
        parameters: FloatArray,
        out_gradient: FloatArray,
        raw_gradient: FloatArray,
        parameter_gradient: FloatArray,
    ) -> float:
        """Write the derivatives by raw outputs and common shape; return the penalties."""
        share = 0.0 if self.n_rows is None else 1.0 / self.n_rows
        penalty: float = kernels.shape_backward(
            raw,
            parameters,
            self._steps[raw.dtype],
            out_gradient,
            _ROUGH_ROWS * share,
            _ROUGH_SHAPE * share,
            _SPREAD * share,
            raw_gradient,
            parameter_gradient,
        )
        return penalty


class _Extended:
    """A network with something around it that has own parameters, which are never decayed."""

    # Names the parameters in states, and what of a pass is not kept in a pickle.
    _name: ClassVar[str]
    _work: ClassVar[str]

    def __init__(self, network: Network, parameters: NDArray[np.float32]) -> None:
        self.network = network
        self.parameters = parameters
        self.gradient = np.zeros_like(parameters)

    @property
    def n_parameters(self) -> int:
        """Number of trained weights."""
        return self.network.n_parameters + self.parameters.size

    def optimizer(self, weight_decay: float) -> Optimizer:
        """Return an optimiser of the network and of the own parameters."""
        own = Adam(self.parameters, self.gradient, weight_decay=0.0)
        return OptimizerGroup({"": self.network.optimizer(weight_decay), f"{self._name}.": own})

    def state(self) -> State:
        """Return copies of all parameters."""
        return {**self.network.state(), self._name: self.parameters.copy()}

    def load_state(self, state: State) -> None:
        """Restore what :meth:`state` returned."""
        self.network.load_state(state)
        self.parameters[:] = state[self._name]

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != self._work}


class HeadedNetwork(_Extended):
    """A network whose raw outputs a head turns into quantiles: again a network."""

    _name, _work = "head", "_raw"

    def __init__(self, network: Network, head: Head) -> None:
        super().__init__(network, head.initial_parameters())
        self.head = head

    @property
    def n_outputs(self) -> int:
        """Number of output columns."""
        return self.head.n_outputs

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

    def predict(self, x: FloatArray) -> NDArray[np.float64]:
        """Return the quantiles for any number of rows."""
        raw = self.network.predict(x)
        out = np.empty((len(x), self.n_outputs))
        self.head.forward(raw, self.parameters.astype(np.float64), out)
        return out


class LinearSkip(_Extended):
    """A network to whose first output a linear function of the inputs is added: again a network.

    The ``n_inputs`` coefficients start at 0 and are not decayed, so that a linear trend costs
    nothing while everything else is held back.
    """

    _name, _work = "skip", "_x"

    def __init__(self, network: Network, n_inputs: int) -> None:
        super().__init__(network, np.zeros(n_inputs, dtype=np.float32))

    @property
    def n_outputs(self) -> int:
        """Number of output columns."""
        return self.network.n_outputs

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

    def predict(self, x: FloatArray) -> NDArray[np.float64]:
        """Return the outputs for any number of rows."""
        out = self.network.predict(x)
        out[:, 0] += x.reshape(len(x), -1) @ self.parameters.astype(np.float64)
        return out


class StackedNetwork:
    """Networks on the same rows whose outputs are concatenated: again a network."""

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
        return {"kind": "stacked", "networks": [network.describe() for network in self.networks]}

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

    def optimizer(self, weight_decay: float) -> Optimizer:
        """Return an optimiser of all networks together."""
        optimizers = (network.optimizer(weight_decay) for network in self.networks)
        return OptimizerGroup({f"{place}.": each for place, each in enumerate(optimizers)})

    def predict(self, x: FloatArray) -> NDArray[np.float64]:
        """Return the outputs side by side, for any number of rows."""
        return np.concatenate([network.predict(x) for network in self.networks], axis=1)

    def state(self) -> State:
        """Return copies of all parameters, the number of each network before its names."""
        return {
            f"{place}.{name}": value
            for place, network in enumerate(self.networks)
            for name, value in network.state().items()
        }

    def load_state(self, state: State) -> None:
        """Restore what :meth:`state` returned."""
        for place, network in enumerate(self.networks):
            network.load_state(with_prefix(state, f"{place}."))


class OptimizerGroup:
    """Optimisers that step together, each with its prefix in states; one of them may have none."""

    def __init__(self, parts: Mapping[str, Optimizer]) -> None:
        self._parts = dict(parts)

    def step(self, learning_rate: float) -> None:
        """Make one step with each."""
        for optimizer in self._parts.values():
            optimizer.step(learning_rate)

    def state(self) -> State:
        """Return all states."""
        return {
            prefix + name: value
            for prefix, optimizer in self._parts.items()
            for name, value in optimizer.state().items()
        }

    def load_state(self, state: State) -> None:
        """Restore what :meth:`state` returned."""
        left = dict(state)
        for prefix in sorted(self._parts, key=len, reverse=True):  # what has no prefix comes last
            own = with_prefix(left, prefix)
            left = {name: v for name, v in left.items() if not name.startswith(prefix)}
            self._parts[prefix].load_state(own)
