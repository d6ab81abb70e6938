"""Heads: what turns a network's raw outputs into quantiles."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine.networks import _kernels as kernels
from censquant._engine.networks._network import FloatArray

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
