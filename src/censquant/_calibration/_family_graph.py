"""A family of bounds in a graph: what `BoundFamily` computes at constant indices, as operations."""

import numpy as np
from numpy.typing import NDArray

from censquant._calibration._family import HIGHEST, LOWEST, BoundFamily
from censquant.export import Value
from censquant.quantiles._graph_curves import GridCurve


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
