"""Calibrated models in a graph: recalibrated curves and bounds."""

from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from censquant._calibration._censoring import CommonCensoring
from censquant._calibration._family import HIGHEST, LEVELS, LOWEST, BoundFamily, Recalibration
from censquant._calibration._methods import CutoffRule, SmallerOfTwo
from censquant._calibration._rules import BoundRule, IndexRule, Side
from censquant._validation import check_number
from censquant.export._graph import Graph, Value, count_in_table, interpolate
from censquant.export._graphs_curves import GraphCurve, GridCurve
from censquant.survival._kaplan_meier import SMALLEST_CENSORING_CHANCE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from censquant._calibration._groups import Group
    from censquant.estimators._conformal import ConformalSurvivalRegressor


_SIDES: tuple[tuple[Side, Side], ...] = (("lower", "upper"), ("upper", "lower"))


@dataclass(frozen=True, eq=False)
class CommonCensoringGraph:
    """One Kaplan-Meier curve of the censoring time, whose values are constants of a graph."""

    censoring: CommonCensoring
    graph: Graph

    def followed_until(self, share: float) -> float:
        """Return the last time at which at least a share is uncensored; infinite if all are."""
        return float(self.graph.row_limits(self.censoring.followed_until(share))[0])

    def before(self, time: float) -> float:
        """Return the chance to be uncensored just before a time."""
        return float(self.censoring.before(np.array([time]))[0])


@dataclass(frozen=True, eq=False)
class ModelledCensoringGraph:
    """Censoring times whose distribution depends on the features; values are ``(n, 1)``."""

    curve: GridCurve

    def followed_until(self, share: float) -> Value:
        """Return the last time at which at least a share of rows like each one is uncensored."""
        return self.curve.at([1.0 - share])

    def before(self, time: float) -> Value:
        """Return the chance to be uncensored just before a time."""
        asked = self.curve.values.graph.repeated(np.array([time]), self.curve.values)
        return (1.0 - self.curve.levels_of(asked)).maximum(SMALLEST_CENSORING_CHANCE)


GraphCensoring = CommonCensoringGraph | ModelledCensoringGraph


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


def family_graph(curve: GridCurve, indices: NDArray[np.float64]) -> Value:
    """Return times of shape (n, k) at finite indices ``(k,)`` of the family of each row's curve."""
    # The indices are constants, and so is how far times are stretched past the outermost levels.
    times = curve.at(np.clip(indices, LOWEST, HIGHEST))
    stretch = BoundFamily.stretch(indices, is_anchored=np.isfinite(curve.lower))
    if (stretch == 1.0).all():
        return times
    anchor = curve.lower if np.isfinite(curve.lower) else curve.at([0.5])
    flags = times.graph.constant(stretch != 1.0)
    return flags.where((times - anchor) * stretch + anchor, times)


def recalibrated_graph(
    recalibration: Recalibration, curve: GridCurve, reach: Value
) -> tuple[GridCurve, Value]:
    """Return recalibrated curves of a graph, with the reach that is left of theirs."""
    times = family_graph(curve, recalibration.index_at(LEVELS))
    result = GridCurve.of_predictions(times, LEVELS, curve.lower)
    left = interpolate(reach, *recalibration.level_steps).minimum(recalibration.highest)
    return result, (reach >= 1.0).where(recalibration.highest, left)


def own_graph(
    model: "ConformalSurvivalRegressor", curve: GraphCurve, reach: Value
) -> tuple[GridCurve, Value]:
    """Return right-censored curves on the common levels, and their reach; see ``curve_table``."""
    if model._left_censored:
        values, lower = -curve.at(1.0 - LEVELS[::-1]).reversed(), -np.inf
        reach = 1.0 - reach
    else:
        values, lower = curve.at(LEVELS), float(getattr(curve, "lower", model._lowest_time()))
    return GridCurve.of_predictions(values, LEVELS, lower), reach


def conformal_graph(
    model: "ConformalSurvivalRegressor", own: GridCurve, reach: Value
) -> tuple[GraphCurve, Value]:
    """Return what ``predict_curve`` of a calibrated model makes of the curves of `own_graph`."""
    new, reach = recalibrated_graph(_group(model).recalibration, own, reach)
    if not model._left_censored:
        return new, reach
    turned = GridCurve.of_predictions(
        -new.values.reversed(), 1.0 - LEVELS[::-1], model._lowest_time()
    )
    return turned, 1.0 - reach


def add_bounds(
    model: "ConformalSurvivalRegressor",
    graph: Graph,
    own: GridCurve,
    recalibrated: GraphCurve,
    confidence: "ArrayLike",
) -> None:
    """Make the calibrated bounds of some confidences outputs of a graph, one column each."""
    promised = [
        check_number("confidence", one, minimum=0.0, below=1.0, exclude_minimum=True)
        for one in np.atleast_1d(confidence).tolist()
    ]
    group, censoring, mirror = _group(model), _censoring(model, graph), model._left_censored
    for side, other in _SIDES:
        found = []
        for one in promised:
            missed = round(1.0 - one, 12)
            rule = group.rule(missed, other if mirror else side)
            quantile = recalibrated.at([missed if side == "lower" else 1.0 - missed])
            found.append(bounds_graph(rule, own, censoring, -quantile if mirror else quantile))
        bounds, limited = (graph.concat(list(each)) for each in zip(*found, strict=True))
        graph.outputs[f"{side}_bound"] = -bounds if mirror else bounds
        graph.outputs[f"{side}_bound_limited"] = limited.as_float()
    graph.facts["confidence"] = promised


def _group(model: "ConformalSurvivalRegressor") -> "Group":
    if model.by is not None:
        raise TypeError(
            f"{type(model).__name__} cannot be exported with by={model.by!r}: the export knows one "
            "calibration for all individuals."
        )
    (group,) = model._calibration.groups.values()
    return group


def _censoring(model: "ConformalSurvivalRegressor", graph: Graph) -> GraphCensoring:
    censoring = model._censoring
    if censoring.curve is not None:
        return CommonCensoringGraph(CommonCensoring(censoring.curve, 1), graph)
    return ModelledCensoringGraph(own_graph(model, *censoring.model._graph_curve(graph))[0])
