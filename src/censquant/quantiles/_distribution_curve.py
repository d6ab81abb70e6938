"""Curves given by the formula of a distribution, and the limit of curves after follow-up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import numpy as np

from censquant._typing import Floats
from censquant.quantiles._curve import QuantileCurve
from censquant.quantiles._grid import tail_log

if TYPE_CHECKING:
    from censquant.export._graph import Graph, Value

# Nodes of the rule that integrates a quantile function; its error is far below that of any fit.
_NODES = 64


# A quantile after the end grows by this power of the inverse survival: 20 ** 0.75 < 10.
_POWER = 0.75


@dataclass(frozen=True)
class TailLimit:
    r"""After the last observed time, survival falls at least as fast as a power of time.

    With the last observed time :math:`e`, counted like all times from the start of follow-up,

    .. math:: S(t) \le S(e) (e / t)^{4/3} \quad\text{for } t > e.

    A curve that falls faster by itself is unchanged. No data tell what happens after :math:`e`, and
    a curve without this limit can put a median at a thousand times the follow-up. With it, no
    median exceeds :math:`1.7 e`, and no quantile of level 0.95 exceeds :math:`9.5 e`. The limit is
    tight near :math:`e` and wide far from it, because tails of event times are often long.

    Parameters
    ----------
    end : float
        Last observed time.
    start : float
        Start of follow-up, at most ``end``.
    """

    end: float
    start: float = 0.0

    @classmethod
    def of(cls, first: float, last: float) -> TailLimit:
        """Return the limit of times that were observed from ``first`` to ``last``."""
        return cls(last, min(first, 0.0))

    @property
    def length(self) -> float:
        """Length of follow-up."""
        return self.end - self.start

    def limited_grid(self, values: Floats, taus: Floats, lower: float) -> Floats:
        """Limit quantiles ``(n, n_levels)`` on a grid; the same array if none exceeds the limit."""
        if not (values[:, -1] > self.end).any():
            return values
        limited = values.copy()
        self.limit_rows(limited, taus, lower)
        return limited

    def limit_rows(self, values: Floats, taus: Floats, lower: float) -> None:
        """Limit quantiles ``(n, n_levels)`` on a grid in place."""
        from censquant.quantiles._row_kernels import limit_rows

        # Of a single level nothing else is known.
        tail = tail_log(taus) if len(taus) > 1 else 1.0
        growth = (1.0 - taus) ** -_POWER
        limit_rows(values, taus, lower, tail, self.end, self.start, growth, _POWER)

    def quantiles(self, own: Floats, levels: Floats, at_end: Floats) -> Floats:
        """Return quantiles ``(n, k)`` under the limit; ``at_end`` are the levels of ``end``."""
        # Rounding may put a level behind the end below the level of the end.
        rest = np.maximum((1.0 - at_end) / (1.0 - levels), 1.0)
        latest = self.start + self.length * rest**_POWER
        return np.where(own > self.end, np.minimum(own, latest), own)

    def levels(self, own: Floats, times: Floats, at_end: Floats) -> Floats:
        """Return the levels ``(n, T)`` of times under the limit, the inverse of `quantiles`."""
        late = times > self.end
        share = self.length / np.where(late, times - self.start, 1.0)
        return np.where(late, np.maximum(own, 1.0 - (1.0 - at_end) * share ** (1.0 / _POWER)), own)

    def area(self, rate: Floats, horizon: float) -> Floats:
        """Return the area under the survival given survival to ``end``, up to a later horizon.

        ``rate`` are constant own hazards ``(n,)``; where they are low the limit holds at first.
        """
        from scipy.special import lambertw  # slow to import, and most curves need no area

        length, power = self.length, 1.0 / _POWER
        # Both laws meet again where a (x - 1) = log(x) for x times the length of follow-up.
        a = np.minimum(rate * length / power, 1.0)
        low = np.maximum(a, np.finfo(float).tiny)
        meet = np.where(a < 1.0, -lambertw(-low * np.exp(-low), -1).real / low, 1.0)
        last = (horizon - self.start) / length
        x = np.minimum(np.maximum(meet, 1.0), last)
        limited = length / (power - 1.0) * (1.0 - x ** (1.0 - power))
        own = np.exp(-rate * length * (x - 1.0)) - np.exp(-rate * length * (last - 1.0))
        return np.asarray(limited + own / rate)

    def in_graph(self, graph: Graph) -> TailLimit:
        """Return the limit with the times that a graph may hold."""
        end, start = graph.row_limits(np.array([self.end, self.start])).tolist()
        return TailLimit(end, start)

    def quantiles_graph(self, own: Value, levels: Floats, at_end: Value) -> Value:
        """Return what `quantiles` does at levels ``(k,)``, in a graph."""
        rest = ((1.0 - at_end) / (1.0 - levels)).maximum(1.0)
        latest = (rest.log() * _POWER).exp() * self.length + self.start
        return (own > self.end).where(own.minimum(latest), own)

    def levels_graph(self, own: Value, times: Value, at_end: Value) -> Value:
        """Return what `levels` does, in a graph."""
        late = times > self.end
        share = self.length / late.where(times - self.start, 1.0)
        positive = share > 0.0
        power = positive.where((positive.where(share, 1.0).log() * (1.0 / _POWER)).exp(), 0.0)
        return late.where(own.maximum(1.0 - (1.0 - at_end) * power), own)


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


Own = TypeVar("Own", bound=Distribution)


@dataclass(frozen=True, eq=False)
class LimitedDistribution(Generic[Own]):
    """Distributions with formulas whose tails are limited."""

    own: Own
    tail: TailLimit

    def quantile(self, levels: Floats) -> Floats:
        """Return quantiles ``(n, k)`` at levels of shape ``(k,)`` or ``(n, k)``."""
        own = self.own.quantile(levels)
        if not (own > self.tail.end).any():
            return own
        return self.tail.quantiles(own, levels, self._at_end(len(own)))

    def cdf(self, times: Floats) -> Floats:
        """Return levels ``(n, T)`` of times ``(n, T)``."""
        own = self.own.cdf(times)
        if not (times > self.tail.end).any():
            return own
        return self.tail.levels(own, times, self._at_end(len(own)))

    def _at_end(self, n: int) -> Floats:
        return self.own.cdf(np.full((n, 1), self.tail.end))

    def take(self, rows: Any) -> Self:
        """Return the distributions of some of the individuals."""
        return type(self)(self.own.take(rows), self.tail)


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
        # Where nothing is left, an infinite horizon adds nothing.
        beyond = np.multiply(rest, horizon, out=np.zeros_like(rest), where=rest > 0)
        return np.asarray(below + beyond)

    def _remaining(self, now: Floats, wanted: Floats, conditional: Floats) -> Floats:
        below_one = np.minimum(conditional, np.nextafter(1.0, 0.0))
        return np.maximum(self._quantiles(below_one) - now, 0.0)
