"""A calibrated model in a graph: the curves of its model, recalibrated, and its bounds."""

from typing import TYPE_CHECKING

import numpy as np

from censquant._calibration import (
    CommonCensoring,
    CommonCensoringGraph,
    GraphCensoring,
    ModelledCensoringGraph,
    bounds_graph,
    recalibrated_graph,
)
from censquant._validation import check_number
from censquant.estimators.meta._bounds._calibration import OTHER_SIDE, Group
from censquant.estimators.meta._bounds._cross_fit import LEVELS
from censquant.export import Graph, Value
from censquant.quantiles._graph_curves import GraphCurve, GridCurve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from censquant.estimators.meta._bounds._calibrates import CalibratesBounds


def own_graph(
    model: "CalibratesBounds", curve: GraphCurve, reach: Value
) -> tuple[GridCurve, Value]:
    """Return right-censored curves on the common levels, and their reach; see ``curve_table``."""
    if model._left_censored:
        values, lower = -curve.at(1.0 - LEVELS[::-1]).reversed(), -np.inf
        reach = 1.0 - reach
    else:
        values, lower = curve.at(LEVELS), float(getattr(curve, "lower", model._lowest))
    return GridCurve.of_predictions(values, LEVELS, lower), reach


def conformal_graph(
    model: "CalibratesBounds", own: GridCurve, reach: Value
) -> tuple[GraphCurve, Value]:
    """Return what ``predict_curve`` of a calibrated model makes of the curves of `own_graph`."""
    new, reach = recalibrated_graph(_group(model).recalibration, own, reach)
    if not model._left_censored:
        return new, reach
    turned = GridCurve.of_predictions(-new.values.reversed(), 1.0 - LEVELS[::-1], model._lowest)
    return turned, 1.0 - reach


def add_bounds(
    model: "CalibratesBounds",
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
    for side in OTHER_SIDE:
        found = []
        for one in promised:
            missed = round(1.0 - one, 12)
            rule = group.rule(missed, OTHER_SIDE[side] if mirror else side)
            quantile = recalibrated.at([missed if side == "lower" else 1.0 - missed])
            found.append(bounds_graph(rule, own, censoring, -quantile if mirror else quantile))
        bounds, limited = (graph.concat(list(each)) for each in zip(*found, strict=True))
        graph.outputs[f"{side}_bound"] = -bounds if mirror else bounds
        graph.outputs[f"{side}_bound_limited"] = limited.as_float()
    graph.facts["confidence"] = promised


def _group(model: "CalibratesBounds") -> Group:
    if model.by is not None:
        raise TypeError(
            f"{type(model).__name__} cannot be exported with by={model.by!r}: the export knows one "
            "calibration for all individuals."
        )
    (group,) = model._calibration.groups.values()
    return group


def _censoring(model: "CalibratesBounds", graph: Graph) -> GraphCensoring:
    censoring = model._censoring
    if censoring.curve is not None:
        return CommonCensoringGraph(CommonCensoring(censoring.curve, 1), graph)
    return ModelledCensoringGraph(own_graph(model, *censoring.model._graph_curve(graph))[0])
