"""Calibrated bounds in a graph: what a `BoundRule` computes from curves, as operations."""

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Protocol

import numpy as np

from censquant._calibration._candes import CutoffRule
from censquant._calibration._censoring import CommonCensoring
from censquant._calibration._drcosarc import SmallerOfTwo
from censquant._calibration._family_graph import family_graph
from censquant._calibration._rules import BoundRule, IndexRule
from censquant._follow_up_share import SMALLEST_CENSORING_CHANCE
from censquant.export import Graph, Value, count_in_table
from censquant.quantiles._graph_curves import GridCurve


class GraphCensoring(Protocol):
    """What bounds need of the censoring times: constants, or values ``(n, 1)`` of a graph."""

    def followed_until(self, share: float) -> Value | float:
        """Last time up to which at least a share of rows like each one is uncensored."""
        ...

    def before(self, time: float) -> Value | float:
        """Chance to be uncensored just before a time, never below the floor."""
        ...


@dataclass(frozen=True, eq=False)
class CommonCensoringGraph:
    """One Kaplan-Meier curve of the censoring time, whose answers are constants.

    Parameters
    ----------
    censoring : CommonCensoring
    graph : Graph, optional
        Where the answers become constants, and which says whether times may be exact.
    """

    censoring: CommonCensoring
    graph: Graph | None = None

    def followed_until(self, share: float) -> float:
        """Return the last time at which at least a share is uncensored; infinite if all are."""
        until = self.censoring.followed_until(share)
        return float((until if self.graph is None else self.graph.row_limits(until))[0])

    def before(self, time: float) -> float:
        """Return the chance to be uncensored just before a time."""
        return float(self.censoring.before(np.array([time]))[0])


@dataclass(frozen=True, eq=False)
class ModelledCensoringGraph:
    """Censoring times whose distribution depends on the features.

    Parameters
    ----------
    curve : GridCurve
    """

    curve: GridCurve

    def followed_until(self, share: float) -> Value:
        """Return the last time at which at least a share of rows like each one is uncensored."""
        return self.curve.at([1.0 - share])

    def before(self, time: float) -> Value:
        """Return the chance to be uncensored just before a time."""
        asked = self.curve.values.graph.repeated(np.array([time]), self.curve.values)
        return (1.0 - self.curve.levels_of(asked)).maximum(SMALLEST_CENSORING_CHANCE)


def bounds_graph(
    rule: BoundRule, curve: GridCurve, censoring: GraphCensoring, quantile: Value
) -> tuple[Value, Value]:
    """Return what `consistent_bounds` makes of a rule in a graph, both of shape (n, 1)."""
    unlimited, end = _unlimited(rule, curve, censoring)
    if rule.side == "lower":
        bound = unlimited.minimum(quantile)
        return bound.minimum(end), bound > end
    bound = unlimited.maximum(quantile)
    return (bound <= end).where(bound, np.inf), bound > end


@singledispatch
def _unlimited(
    rule: Any, curve: GridCurve, censoring: GraphCensoring
) -> tuple[Value, Value | float]:
    """Return the bounds of a rule, and the times past which there is none."""
    raise TypeError(f"Bounds of the rule {type(rule).__name__} cannot be exported.")


@_unlimited.register
def _(rule: IndexRule, curve: GridCurve, censoring: GraphCensoring) -> tuple[Value, Value | float]:
    if np.isinf(rule.index):
        trivial = curve.lower if rule.index < 0 else np.inf
        bound = curve.values.graph.repeated(np.array([trivial]), curve.values)
    else:
        bound = _own(curve, rule.index)
    if rule.share <= 0:
        return bound, np.inf
    until = censoring.followed_until(rule.share)
    if isinstance(until, Value):
        return bound, _not_below(until, curve.lower)
    return bound, max(until, curve.lower)


@_unlimited.register
def _(
    rule: SmallerOfTwo, curve: GridCurve, censoring: GraphCensoring
) -> tuple[Value, Value | float]:
    calibrated, end = _unlimited(rule.calibrated, curve, censoring)
    return calibrated.minimum(_own(curve, rule.level)), end


@_unlimited.register
def _(rule: CutoffRule, curve: GridCurve, censoring: GraphCensoring) -> tuple[Value, Value | float]:
    graph, chance = curve.values.graph, censoring.before(rule.cutoff)
    if not isinstance(chance, Value):
        chance = graph.repeated(np.array([chance]), curve.values)
    passed = np.cumsum(rule.weight)
    wanted = (1.0 / chance + float(passed[-1])) * (1.0 - rule.missed)
    # The tolerance is in the table: onnxruntime takes a factor this close to 1 for none.
    place = count_in_table(passed / (1.0 - 1e-12), wanted, strictly=True)
    shift = graph.lookup(np.append(rule.score, np.inf), place)
    return _not_below(_own(curve, rule.missed) - shift, curve.lower), rule.cutoff


def _own(curve: GridCurve, index: float) -> Value:
    """Return the bound of each row at a finite index, such as a level of the model's curve."""
    return _not_below(family_graph(curve, np.array([index])), curve.lower)


def _not_below(times: Value, lower: float) -> Value:
    """Return times that are not below the smallest possible one."""
    return times if lower == -np.inf else times.maximum(lower)
