"""Curves in a graph: what the arrays of a curve say, written as operations instead of computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant.export._graph import Value, count_in_rows
from censquant.quantiles._distribution_curve import TailLimit
from censquant.quantiles._grid import check_levels, same_level_only, tail_log


class GraphDistribution(Protocol):
    """Distributions with formulas, in the user's unit of time."""

    def quantile(self, levels: Floats) -> Value: ...
    def cdf(self, times: Value) -> Value: ...


@dataclass(frozen=True, eq=False)
class GridCurve:
    """A graph's curves through quantiles on a grid of levels, as :class:`QuantileCurve`."""

    values: Value  # shape (n, n_levels); sorted, and not below ``lower``
    taus: Floats  # shape (n_levels,)
    lower: float = -np.inf

    @classmethod
    def of_predictions(
        cls, predicted: Value, taus: Floats, lower: float = -np.inf, *, ordered: bool = False
    ) -> GridCurve:
        """Return curves of predictions, sorted and clipped from below."""
        values = predicted if ordered or len(taus) == 1 else predicted.sort()[0]
        return cls(values if lower == -np.inf else values.maximum(lower), taus, lower)

    def at(self, levels: ArrayLike) -> Value:
        """Return quantiles at constant levels."""
        asked = check_levels(levels)
        place = np.minimum(np.searchsorted(self.taus, asked), len(self.taus) - 1)
        if np.array_equal(self.taus[place], asked):
            return self.values if np.array_equal(asked, self.taus) else self.values.columns(place)
        if len(self.taus) == 1:
            same_level_only(self.taus, asked)
            return self.values.columns(np.zeros(len(asked), np.int64))
        return self._between(asked)

    def _between(self, levels: Floats) -> Value:
        """Return quantiles off the grid; see ``_quantile_block``, whose arithmetic this is."""
        taus, last = self.taus, len(self.taus) - 1
        right = np.clip(np.searchsorted(taus, levels, side="right"), 1, last)
        low, high = levels < taus[0], levels >= taus[-1]
        weight = (levels - taus[right - 1]) / (taus[right] - taus[right - 1])
        weight = np.where(low, levels / taus[0] - 1.0, weight)
        weight = np.where(high, np.log((1.0 - taus[-1]) / (1.0 - levels)) / tail_log(taus), weight)
        left_value, right_value = self.values.columns(right - 1), self.values.columns(right)
        step = right_value - left_value
        if low.any():
            flag = self.values.graph.constant(low)
            step = flag.where(self._lower_reach(left_value, step), step)
        above = self.values.graph.constant(high)
        result = above.where(right_value, left_value) + step * weight
        result = above.where(result, result.minimum(right_value))
        return result if self.lower == -np.inf else result.maximum(self.lower)

    def limited(self, tail: TailLimit) -> GridCurve:
        """Return what :meth:`QuantileCurve.limited` does."""
        tail = tail.in_graph(self.values.graph)
        between = [int(length or 0) for length in self.values.shape[1:-1]]
        at_end = self.values.graph.repeated(np.zeros((*between, 1)), self.values)
        if len(self.taus) > 1:
            at_end = self.levels_of(at_end + tail.end)
        return replace(self, values=tail.quantiles_graph(self.values, self.taus, at_end))

    def lower_reach(self) -> Value:
        """Return how far below its first quantile each distribution starts, of shape (n, 1)."""
        first = self.values.columns([0])
        return self._lower_reach(first, self.values.columns([1]) - first)

    def _lower_reach(self, first: Value, gap: Value) -> Value:
        reach = gap * float(self.taus[0] / (self.taus[1] - self.taus[0]))
        return reach if self.lower == -np.inf else reach.minimum(first - self.lower)

    def levels_of(self, times: Value, passed: Value | None = None) -> Value:
        """Return F(t) of each row's times."""
        taus, last, graph = self.taus, len(self.taus) - 1, self.values.graph
        passed = count_in_rows(self.values, times) if passed is None else passed
        right = passed.clip(1, last)
        left_value, right_value = (
            self.values.take_along(right - 1),
            self.values.take_along(right),
        )
        gap = right_value - left_value
        wide = gap > 0.0
        share = wide.where((times - left_value) / wide.where(gap, 1.0), 1.0)
        below, above = graph.lookup(taus, right - 1), graph.lookup(taus, right)
        level = (below + (above - below) * share).minimum(above)
        hazard = (times - right_value) / wide.where(gap, 1.0) * tail_log(taus)
        tail = wide.where(taus[-1] + (1.0 - taus[-1]) * (1.0 - (-hazard).exp()), 1.0)
        level = passed.equals(last + 1).where(tail.minimum(1.0), level)
        first = self.values.columns([0])
        reach = self.lower_reach()
        starts = reach > 0.0
        distance = (first - times) / starts.where(reach, 1.0)
        start = starts.where(((1.0 - distance) * taus[0]).maximum(0.0), 0.0)
        return passed.equals(0).where(start, level)


@dataclass(frozen=True, eq=False)
class FormulaCurve:
    """A graph's curves that answer by a formula, as :class:`DistributionCurve`."""

    distribution: GraphDistribution
    taus: Floats  # shape (n_levels,)
    lower: float = -np.inf

    def at(self, levels: ArrayLike) -> Value:
        """Return quantiles ``(n, k)`` at constant levels."""
        values = self.distribution.quantile(check_levels(levels))
        return values if self.lower == -np.inf else values.maximum(self.lower)

    def levels_of(self, times: Value) -> Value:
        """Return the levels ``(n, T)`` of times ``(n, T)``."""
        levels = self.distribution.cdf(times)
        return levels if self.lower == -np.inf else (times < self.lower).where(0.0, levels)

    def limited(self, tail: TailLimit) -> FormulaCurve:
        """Return what :meth:`DistributionCurve.limited` does."""
        return replace(self, distribution=_LimitedGraph(self.distribution, tail))


@dataclass(frozen=True, eq=False)
class _LimitedGraph:
    """See ``LimitedDistribution``."""

    own: GraphDistribution
    tail: TailLimit

    def quantile(self, levels: Floats) -> Value:
        own = self.own.quantile(levels)
        tail = self.tail.in_graph(own.graph)
        return tail.quantiles_graph(own, levels, self._level_of(tail.end, own))

    def cdf(self, times: Value) -> Value:
        tail = self.tail.in_graph(times.graph)
        return tail.levels_graph(self.own.cdf(times), times, self._level_of(tail.end, times))

    def _level_of(self, end: float, like: Value) -> Value:
        return self.own.cdf(like.graph.repeated(np.array([end]), like))


GraphCurve = GridCurve | FormulaCurve
"""One distribution per row of a graph, as `QuantileCurve` is one per row of arrays."""


def graph_reach(curve: GraphCurve, limit: Value, *, lowest: bool) -> Value:
    """Return the level of each row's curve at the end of its follow-up, as ``reach_until`` does."""
    end = float(curve.taus[0] if lowest else curve.taus[-1])
    if isinstance(curve, GridCurve) and len(curve.taus) == 1:
        known = limit <= curve.values if lowest else limit >= curve.values
        level = known.where(end, 1.0 if lowest else 0.0)
    else:
        level = curve.levels_of(limit)
    return level.maximum(end) if lowest else level.minimum(end)
