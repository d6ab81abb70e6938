"""Distributions with formulas in a graph: the operations of their quantiles and levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from censquant._engine._families import STANDARD
from censquant._engine.losses._likelihoods import LARGEST_LOG, SMALLEST_SCALE
from censquant._engine.objectives._likelihoods import (
    LEAST_LEFT,
    AsymmetricLaplaceLikelihood,
    LocationScaleLikelihood,
    ParameterBounds,
    ShapeLikelihood,
    shape_knots,
)
from censquant._typing import Floats
from censquant.export._graph import Value, count_in_rows, interpolate, mean_of

if TYPE_CHECKING:
    from censquant.estimators._cox import Baseline

# Halvings of an interval of log-odds: the last is shorter than rounding.
_HALVINGS = 60
_FARTHEST_PLACE = 40.0  # in a standard distribution: what lies beyond has no probability


class UnitDistribution(Protocol):
    """Distributions in model units: levels or probabilities ``(k,)``, times ``(n, T)``."""

    def quantile(self, levels: Floats) -> Value: ...
    def inverse_survival(self, probabilities: Floats) -> Value: ...
    def cdf(self, times: Value) -> Value: ...
    def survival(self, times: Value) -> Value: ...


@singledispatch
def distribution_graph(objective: Any, outputs: Sequence[Value]) -> UnitDistribution:
    """Return the distributions, in model units, that networks' outputs stand for in a graph."""
    raise TypeError(
        f"Predictions of {type(objective).__name__} cannot be exported: its distribution is not "
        "known to the export."
    )


@distribution_graph.register
def _location_scale(
    objective: LocationScaleLikelihood, outputs: Sequence[Value]
) -> UnitDistribution:
    return LocationScaleGraph(*_location_and_scale(objective.bounds, outputs), objective.base)


@distribution_graph.register
def _shape(objective: ShapeLikelihood, outputs: Sequence[Value]) -> UnitDistribution:
    bent = _Bent(mean_of(outputs), objective.base, objective.n_outputs, objective.cap)
    return bent if objective.floor == -np.inf else _Above(bent, objective.floor)


@distribution_graph.register
def _laplace(objective: AsymmetricLaplaceLikelihood, outputs: Sequence[Value]) -> UnitDistribution:
    members = []
    for output in outputs:
        values = _bounded(objective.bounds, output)
        log_scale = values.columns([1]).clip(-LARGEST_LOG, LARGEST_LOG)
        log_kappa = values.columns([2]).clip(-LARGEST_LOG, LARGEST_LOG)
        mean, kappa = log_scale.exp() / np.sqrt(2.0), log_kappa.exp()
        members.append((values.columns([0]), mean * kappa, mean / kappa, log_kappa * 2.0))
    return _Laplace(members)


def _bounded(bounds: ParameterBounds | None, output: Value) -> Value:
    """Return outputs within their bounds; see ``bound_outputs``."""
    if bounds is None:
        return output
    lowest, low, high, highest = np.array(bounds.limits).T
    with np.errstate(divide="ignore"):
        room_above, room_below = 1.0 / (highest - high), 1.0 / (low - lowest)
    above: Value = output > high
    below: Value = output < low
    upper: Value = high + 1.0 / (room_above + 1.0 / above.where(output - high, 1.0))
    lower: Value = low - 1.0 / (room_below + 1.0 / below.where(low - output, 1.0))
    return above.where(upper, below.where(lower, output))


def _location_and_scale(
    bounds: ParameterBounds | None, outputs: Sequence[Value]
) -> tuple[Value, Value]:
    values = [_bounded(bounds, output) for output in outputs]
    scales = [_softplus(value.columns([1])) + SMALLEST_SCALE for value in values]
    return mean_of([value.columns([0]) for value in values]), mean_of(scales)


def _softplus(x: Value) -> Value:
    return x.maximum(0.0) + _log1p((-x.abs()).exp())


def _log1p(x: Value) -> Value:
    """Return ``log(1 + x)`` without loss of the digits of a small ``x``."""
    # The rounding of 1 + x is divided out again.
    total = x + 1.0
    rounded = total - 1.0
    same = rounded.equals(0.0)
    return same.where(x, total.log() * x / same.where(1.0, rounded))


@dataclass(frozen=True, eq=False)
class LocationScaleGraph:
    """See ``LocationScaleDistribution``; location of shape (n, 1), scale of that or one."""

    location: Value
    scale: Value | float
    base: str

    def quantile(self, levels: Floats) -> Value:
        return self.location + self.scale * STANDARD[self.base].quantile(levels)

    def inverse_survival(self, probabilities: Floats) -> Value:
        return self.location + self.scale * STANDARD[self.base].inverse_survival(probabilities)

    def cdf(self, times: Value) -> Value:
        return STANDARD[self.base].cdf_graph((times - self.location) / self.scale)

    def survival(self, times: Value) -> Value:
        return STANDARD[self.base].survival_graph((times - self.location) / self.scale)


@dataclass(frozen=True, eq=False)
class _Bent:
    """See ``ShapeDistribution``."""

    values: Value
    base: str
    n_knots: int
    cap: float

    @property
    def _knots(self) -> Floats:
        return shape_knots(self.base, self.n_knots)

    def quantile(self, levels: Floats) -> Value:
        return self._bent(STANDARD[self.base].quantile(levels))

    def inverse_survival(self, probabilities: Floats) -> Value:
        return self._bent(STANDARD[self.base].inverse_survival(probabilities))

    def cdf(self, times: Value) -> Value:
        inside = STANDARD[self.base].cdf_graph(self._straightened(times))
        return (times >= self.cap).where(1.0, inside)

    def survival(self, times: Value) -> Value:
        inside = STANDARD[self.base].survival_graph(self._straightened(times))
        return (times > self.cap).where(0.0, inside)

    def _bent(self, u: Floats) -> Value:
        knots = self._knots
        segment = np.clip(np.searchsorted(knots, u, side="right") - 1, 0, len(knots) - 2)
        share = (u - knots[segment]) / np.diff(knots)[segment]
        left, right = self.values.columns(segment), self.values.columns(segment + 1)
        return (left + (right - left) * share).minimum(self.cap)

    def bent_at(self, u: Value) -> Value:
        """Return the values at places ``(n, k)`` that differ from row to row."""
        graph, knots = self.values.graph, self._knots
        segment = count_in_rows(graph.repeated(knots[1:-1], u), u)
        left, right = self.values.take_along(segment), self.values.take_along(segment + 1)
        share = (u - graph.lookup(knots, segment)) / graph.lookup(np.diff(knots), segment)
        return (left + (right - left) * share).minimum(self.cap)

    def _straightened(self, times: Value) -> Value:
        graph, knots = self.values.graph, self._knots
        if len(knots) > 2:
            inner = self.values.columns(np.arange(1, len(knots) - 1))
            segment = count_in_rows(inner, times)
        else:
            segment = graph.repeated(np.zeros(int(times.shape[-1] or 0), np.int64), times)
        left, right = self.values.take_along(segment), self.values.take_along(segment + 1)
        share = (times - left) / (right - left)
        return graph.lookup(knots, segment) + share * graph.lookup(np.diff(knots), segment)


@dataclass(frozen=True, eq=False)
class _Above:
    """A bent distribution given a value above a floor."""

    own: _Bent
    floor: float

    def quantile(self, levels: Floats) -> Value:
        return self.inverse_survival(1.0 - levels)

    def inverse_survival(self, probabilities: Floats) -> Value:
        values = self.own.values
        graph, standard = values.graph, STANDARD[self.own.base]
        wanted = self._left(values) * probabilities
        far = wanted * 0.0 + _FARTHEST_PLACE

        def halve(number: Value, low: Value, high: Value) -> list[Value]:
            middle = (low + high) * 0.5
            early = standard.survival_graph(middle) >= wanted
            return [early.where(middle, low), early.where(high, middle)]

        low, high = graph.loop(_HALVINGS, [-far, far], halve)
        return self.own.bent_at((low + high) * 0.5).maximum(self.floor)

    def cdf(self, times: Value) -> Value:
        return 1.0 - self.survival(times)

    def survival(self, times: Value) -> Value:
        return (self.own.survival(times) / self._left(times)).minimum(1.0)

    def _left(self, like: Value) -> Value:
        """Return the probability above the floor, of shape (n, 1)."""
        floor = like.graph.repeated(np.array([self.floor]), like)
        return self.own.survival(floor).maximum(LEAST_LEFT)


@dataclass(frozen=True, eq=False)
class _Laplace:
    """See ``AsymmetricLaplaceDistribution``; location, early, late and log-odds per member."""

    members: list[tuple[Value, Value, Value, Value]]

    def quantile(self, levels: Floats) -> Value:
        graph = self.members[0][0].graph
        return self._of_logs(graph.value(np.log(levels)), graph.value(np.log1p(-levels)))

    def inverse_survival(self, probabilities: Floats) -> Value:
        graph = self.members[0][0].graph
        p = probabilities
        return self._of_logs(graph.value(np.log1p(-p)), graph.value(np.log(p)))

    def cdf(self, times: Value) -> Value:
        return 1.0 / ((-self._log_odds_at(times)).exp() + 1.0)

    def survival(self, times: Value) -> Value:
        return 1.0 / (self._log_odds_at(times).exp() + 1.0)

    def _of_logs(self, log_p: Value, log_q: Value) -> Value:
        parts = []
        for location, early, late, odds in self.members:
            below = early * (log_p - _log_expit(odds)).minimum(0.0)
            above = late * (log_q - _log_expit(-odds)).minimum(0.0)
            parts.append(location + below - above)
        return mean_of(parts)

    def _log_odds_at(self, times: Value) -> Value:
        each = [_log_odds_of_one(times, *member) for member in self.members]
        if len(each) == 1:
            return each[0]
        low, high = each[0], each[0]
        for odds in each[1:]:
            low, high = low.minimum(odds), high.maximum(odds)

        def halve(number: Value, low: Value, high: Value) -> list[Value]:
            middle = (low + high) * 0.5
            early = self._of_logs(_log_expit(middle), _log_expit(-middle)) <= times
            return [early.where(middle, low), early.where(high, middle)]

        low, high = times.graph.loop(_HALVINGS, [low, high], halve)
        return (low + high) * 0.5


def _log_expit(x: Value) -> Value:
    return -_softplus(-x)


def _log_odds_of_one(
    times: Value, location: Value, early: Value, late: Value, odds: Value
) -> Value:
    below = times < location
    distance = (times - location).abs() / below.where(early, late)
    tail = below.where(_log_expit(odds), _log_expit(-odds)) - distance
    # log(1 - exp(tail)), whose argument is negative.
    far = _log1p(-tail.minimum(-1.0).exp())
    near = (1.0 - tail.maximum(-1.0).exp()).log()
    size = tail - (tail < -1.0).where(far, near)
    return below.where(size, -size)


@dataclass(frozen=True, eq=False)
class HazardsGraph:
    """See ``ProportionalHazards``; ``risk`` has the shape (n, 1)."""

    risk: Value
    baseline: Baseline

    def quantile(self, levels: Floats) -> Value:
        """Return quantiles ``(n, k)`` at levels ``(k,)``."""
        known = self.baseline
        hazard: Value = -np.log1p(-levels) / self.risk
        tail = (hazard - float(known.hazard[-1])).maximum(0.0) / known.tail_rate
        return interpolate(hazard, known.hazard, known.time) + tail

    def cdf(self, times: Value) -> Value:
        """Return levels ``(n, T)`` of times ``(n, T)``."""
        known = self.baseline
        inside = interpolate(times, known.time, known.hazard)
        tail = (times - float(known.time[-1])).maximum(0.0) * known.tail_rate
        return 1.0 - (-self.risk * (inside + tail)).exp()
