"""Recalibrated curves in a graph: what `Recalibration.curve` computes, as operations."""

from censquant._calibration._family_graph import family_graph
from censquant._calibration._recalibration import LEVELS, Recalibration
from censquant.export import Value, interpolate
from censquant.quantiles import GridCurve


def recalibrated_graph(
    recalibration: Recalibration, curve: GridCurve, reach: Value
) -> tuple[GridCurve, Value]:
    """Return recalibrated curves of a graph, with the reach that is left of theirs.

    Parameters
    ----------
    recalibration : Recalibration
    curve : GridCurve
        Right-censored, on the levels of `censquant.quantiles.CURVE_QUANTILES`.
    reach : Value of shape (n, 1)

    Returns
    -------
    curve : GridCurve
    reach : Value of shape (n, 1)

    Examples
    --------
    >>> import numpy as np
    >>> from censquant._calibration import Recalibration, recalibrated_graph
    >>> from censquant.export import Graph
    >>> from censquant.quantiles import CURVE_QUANTILES, GridCurve
    >>> x, levels = Graph().numbers(27), np.array(CURVE_QUANTILES)
    >>> curve = GridCurve.of_predictions(x.columns(np.arange(26)), levels, 0.0)
    >>> learned = Recalibration(np.array([0.2, 0.4]), np.array([0.3, 0.6]))
    >>> new, reach = recalibrated_graph(learned, curve, x.columns([26]))
    >>> new.at([0.5]).shape, reach.shape
    ((None, 1), (None, 1))
    """
    times = family_graph(curve, recalibration.index_at(LEVELS))
    result = GridCurve.of_predictions(times, LEVELS, curve.lower)
    left = interpolate(reach, *recalibration.level_steps).minimum(recalibration.highest)
    return result, (reach >= 1.0).where(recalibration.highest, left)
