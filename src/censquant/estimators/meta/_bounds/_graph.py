"""A calibrated model in a graph: the curves of its model, recalibrated."""

from typing import TYPE_CHECKING

import numpy as np

from censquant.calibration import recalibrated_graph
from censquant.estimators.meta._bounds._cross_fit import LEVELS
from censquant.export import Value
from censquant.quantiles import GraphCurve, GridCurve

if TYPE_CHECKING:
    from censquant.estimators.meta._bounds._calibrates import CalibratesBounds


def conformal_graph(
    model: "CalibratesBounds", curve: GraphCurve, reach: Value
) -> tuple[GraphCurve, Value]:
    """Return what ``predict_curve`` of a calibrated model makes of the curves of its model."""
    if model.by is not None:
        raise TypeError(
            f"{type(model).__name__} cannot be exported with by={model.by!r}: the export knows one "
            "calibration for all individuals."
        )
    (group,) = model._calibration.groups.values()
    mirror = model._left_censored
    lowest = 0.0 if model.follow_up_[0] >= 0 else -np.inf
    if mirror:
        values, lower = -curve.at(1.0 - LEVELS[::-1]).reversed(), -np.inf
        reach = 1.0 - reach
    else:
        values, lower = curve.at(LEVELS), float(getattr(curve, "lower", lowest))
    own = GridCurve.of_predictions(values, LEVELS, lower)
    new, reach = recalibrated_graph(group.recalibration, own, reach)
    if not mirror:
        return new, reach
    turned = GridCurve.of_predictions(-new.values.reversed(), 1.0 - LEVELS[::-1], lowest)
    return turned, 1.0 - reach
