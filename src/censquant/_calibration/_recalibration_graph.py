"""Recalibrated curves in a graph: what `Recalibration.curve` computes, as operations."""

from censquant._calibration._family_graph import family_graph
from censquant._calibration._recalibration import LEVELS, Recalibration
from censquant.export import Value, interpolate
from censquant.quantiles._graph_curves import GridCurve


def recalibrated_graph(
    recalibration: Recalibration, curve: GridCurve, reach: Value
) -> tuple[GridCurve, Value]:
    """Return recalibrated curves of a graph, with the reach that is left of theirs."""
    times = family_graph(curve, recalibration.index_at(LEVELS))
    result = GridCurve.of_predictions(times, LEVELS, curve.lower)
    left = interpolate(reach, *recalibration.level_steps).minimum(recalibration.highest)
    return result, (reach >= 1.0).where(recalibration.highest, left)
