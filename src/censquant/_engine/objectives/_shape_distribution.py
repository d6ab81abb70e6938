"""Distributions whose quantile functions bend that of a standard distribution."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from censquant._engine.losses import GUMBEL, MIRRORED_GUMBEL, NORMAL, shape_log_likelihood
from censquant._engine.objectives._distributions import (
    FormulaDistribution,
    GumbelDistribution,
    NormalDistribution,
)
from censquant._typing import Floats
from censquant.quantiles._grid import even_grid

_AT_ZERO, _OF_ONE = np.zeros(1), np.ones(1)
BASES: dict[str, tuple[int, FormulaDistribution]] = {
    "normal": (NORMAL, NormalDistribution(_AT_ZERO, _OF_ONE)),
    "gumbel": (GUMBEL, GumbelDistribution(_AT_ZERO, _OF_ONE)),
    "mirrored gumbel": (MIRRORED_GUMBEL, GumbelDistribution(_AT_ZERO, _OF_ONE, mirrored=True)),
}
"""Standard distributions by name: the code by which kernels know each, and its formulas."""


def shape_knots(base: str, n_levels: int) -> Floats:
    """Return the quantiles of a standard distribution at evenly spaced levels."""
    return np.ravel(BASES[base][1].quantile(even_grid(n_levels)))


@dataclass(frozen=True, eq=False)
class ShapeDistribution(FormulaDistribution):
    """Distributions whose quantile functions bend that of a standard distribution.

    The quantile at a level is linear in the standard distribution's own between knots, and both
    end segments are prolonged: their tails are those of the standard distribution.

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Quantiles of each individual at k evenly spaced levels, increasing; at least two.
    base : {"normal", "gumbel", "mirrored gumbel"}
    cap : float, default infinity
        Largest possible value: larger quantiles are moved down to it.
    """

    values: Floats
    base: str = "normal"
    cap: float = np.inf

    @property
    def _standard(self) -> FormulaDistribution:
        return BASES[self.base][1]

    @cached_property
    def _knots(self) -> Floats:
        return shape_knots(self.base, self.values.shape[1])

    def __len__(self) -> int:
        return len(self.values)

    def _take(self, rows: Any) -> Self:
        return replace(self, values=self.values[rows])

    def log_likelihood(self, time: Floats, event: NDArray[np.bool_]) -> Floats:
        """Return the log-density of events and the log-survival of censored individuals.

        The density is smoothed as in training: its logarithm is linear between the middles of the
        segments, where that of the piecewise distribution would jump.
        """
        out = np.empty(len(self))
        shape_log_likelihood(self.values, time, event, self._knots, BASES[self.base][0], out)
        return out

    def _averaged(self, parts: Sequence[Self]) -> Self:
        return replace(self, values=np.mean([part.values for part in parts], axis=0))

    def _quantile(self, p: Floats) -> Floats:
        return self._bent(self._standard.quantile(p))

    def _inverse_survival(self, p: Floats) -> Floats:
        return self._bent(self._standard.inverse_survival(p))

    def _cdf(self, t: Floats) -> Floats:
        return np.where(t >= self.cap, 1.0, self._standard.cdf(self._straightened(t)))

    def _survival(self, t: Floats) -> Floats:
        # What was moved down to the cap lies at it and not below.
        return np.where(t > self.cap, 0.0, self._standard.survival(self._straightened(t)))

    def _bent(self, u: Floats) -> Floats:
        """Return the values at places (1, k) or (n, k) of the standard distribution."""
        last = len(self._knots) - 2
        segment = np.clip(np.searchsorted(self._knots, u, side="right") - 1, 0, last)
        share = (u - self._knots[segment]) / np.diff(self._knots)[segment]
        rows = np.arange(len(self))[:, None]
        left, right = self.values[rows, segment], self.values[rows, segment + 1]
        return np.minimum(left + share * (right - left), self.cap)

    def _straightened(self, t: Floats) -> Floats:
        """Return the places in the standard distribution of values (T,) or (n, T)."""
        t = np.broadcast_to(t, (len(self), t.shape[-1]))
        segment = np.zeros(t.shape, dtype=np.intp)
        for knot in range(1, len(self._knots) - 1):
            segment += self.values[:, knot, None] <= t
        rows = np.arange(len(self))[:, None]
        left, right = self.values[rows, segment], self.values[rows, segment + 1]
        step = np.diff(self._knots)[segment]
        result: Floats = self._knots[segment] + (t - left) / (right - left) * step
        return result
