"""A curve that answers by the formula of a distribution instead of a table of quantiles."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np

from censquant._typing import Floats
from censquant.quantiles._curve import QuantileCurve
from censquant.quantiles._tail import LimitedDistribution, TailLimit

# Nodes of the rule that integrates a quantile function; its error is far below that of any fit.
_NODES = 64


class Distribution(Protocol):
    """Distributions of n individuals with known formulas, in the user's unit of time."""

    def quantile(self, levels: Floats) -> Floats:
        """Return quantiles ``(n, k)`` at levels of shape ``(k,)`` or ``(n, k)``."""
        ...

    def cdf(self, times: Floats) -> Floats:
        """Return levels ``(n, T)`` of times ``(n, T)``, the inverse of :meth:`quantile`."""
        ...

    def take(self, rows: Any) -> Self:
        """Return the distributions of some of the individuals."""
        ...


class DistributionCurve(QuantileCurve):
    """Curves of a parametric model: any level and any time by its formula, tails included.

    Parameters
    ----------
    distribution : Distribution
    taus : ndarray of shape (n_levels,)
        Levels at which :attr:`values` are listed.
    lower : float
        Smallest possible time. What the formula puts below it becomes a point mass there: quantiles
        at levels up to F(lower) are `lower`, and F(Q(tau)) = max(tau, F(lower)).
    """

    def __init__(self, distribution: Distribution, taus: Floats, lower: float = -np.inf) -> None:
        values = np.maximum(distribution.quantile(taus), lower)
        vars(self).update(values=values, taus=taus, lower=lower, distribution=distribution)

    distribution: Distribution

    def limited(self, tail: TailLimit) -> Self:
        """Curve whose quantiles after the last observed time are not later than a limit."""
        distribution = LimitedDistribution(self.distribution, tail)
        values = self.values
        if (values[:, -1] > tail.end).any():
            values = np.maximum(distribution.quantile(self.taus), self.lower)
        return self._with(distribution=distribution, values=values)

    @property
    def is_whole(self) -> bool:
        """Whether the curve knows a distribution, which it always does."""
        return True

    def _rows(self, rows: Any) -> DistributionCurve:
        return DistributionCurve(self.distribution.take(rows), self.taus, self.lower)

    def _quantiles(self, levels: Floats) -> Floats:
        return np.maximum(self.distribution.quantile(levels), self.lower)

    def _levels(self, times: Floats) -> Floats:
        if np.isnan(times).any():
            raise ValueError("times must not contain NaN.")
        each = np.broadcast_to(times, (len(self), times.shape[-1]))
        return np.where(each < self.lower, 0.0, self.distribution.cdf(each))

    def _restricted_mean(self, horizon: float) -> Floats:
        end = np.broadcast_to(np.float64(horizon), (len(self), 1))
        share = self._levels(end)
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        # Between 0 and the level of the horizon; the substitution u = s^2 (3 - 2 s) tames the
        # logarithmic ends of quantile functions.
        place = 0.5 * (nodes + 1.0)
        levels = np.clip(share * (place**2 * (3.0 - 2.0 * place)), np.finfo(float).tiny, 1 - 1e-16)
        slope = share * (6.0 * place * (1.0 - place)) * (0.5 * weights)
        below = (np.minimum(self._quantiles(levels), horizon) * slope).sum(axis=1)
        rest = 1.0 - share[:, 0]
        return np.asarray(below + np.where(rest > 0, rest * horizon, 0.0))

    def _remaining(self, now: Floats, wanted: Floats, conditional: Floats) -> Floats:
        below_one = np.minimum(conditional, np.nextafter(1.0, 0.0))
        return np.maximum(self._quantiles(below_one) - now, 0.0)
