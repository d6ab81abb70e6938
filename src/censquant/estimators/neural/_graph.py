"""Trained networks in a graph: from features to curves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from censquant._engine.networks import network_graph
from censquant._engine.objectives import UnitDistribution, distribution_graph
from censquant._typing import Floats
from censquant.estimators.neural._trained_model import TrainedModel
from censquant.export import Value
from censquant.quantiles._graph_curves import FormulaCurve, GraphCurve, GridCurve
from censquant.survival._transform import TimeTransform

CurveGraph = tuple[GraphCurve, Value]
"""Curves, and their reach of shape (n, 1)."""


def ensemble_graph(
    models: Sequence[TrainedModel], x: Value, levels: Floats | None = None
) -> GraphCurve:
    """Return what ``ensemble_curve`` does, in a graph."""
    first = models[0]
    outputs = [network_graph(model.network, scaled_graph(model, x)) for model in models]
    objective: Any = first.objective
    if hasattr(objective, "distribution"):
        times = UserTimesGraph(distribution_graph(objective, outputs), first.time_transform)
        return FormulaCurve(times, first.quantiles if levels is None else levels, first.lower)
    values = outputs[0]
    if len(models) > 1:
        # Crossed quantiles are put in order before they are averaged.
        members = [GridCurve.of_predictions(out, first.quantiles).values for out in outputs]
        values = members[0]
        for member in members[1:]:
            values = values + member
        values = values / float(len(members))
    times_of_levels = first.time_transform.graph_inverse(values)
    if first.time_transform.mirror:
        times_of_levels = times_of_levels.reversed()
    return GridCurve.of_predictions(times_of_levels, first.quantiles, first.lower)


def scaled_graph(model: TrainedModel, x: Value) -> Value:
    """Return centred and scaled features."""
    scale = model.feature_scale
    return x if scale.center is None else (x - scale.center) / scale.scale


@dataclass(frozen=True, eq=False)
class UserTimesGraph:
    """See ``UserTimes``: a distribution in model units, asked in the user's unit of time."""

    inner: UnitDistribution
    transform: TimeTransform

    def quantile(self, levels: Floats) -> Value:
        """Return quantiles in the user's unit."""
        inner = self.inner
        mirror = self.transform.mirror
        z = inner.inverse_survival(levels) if mirror else inner.quantile(levels)
        return self.transform.graph_inverse(z)

    def cdf(self, times: Value) -> Value:
        """Return the levels of times in the user's unit."""
        u = times
        if self.transform.log:
            positive = times > 0.0
            u = positive.where(positive.where(times, 1.0).log(), -np.inf)
        z = (u - self.transform.center) / self.transform.scale
        return self.inner.survival(-z) if self.transform.mirror else self.inner.cdf(z)
