"""Coverage that calibration rows show of given bounds, with its standard error."""

import numpy as np
from numpy.typing import NDArray

from censquant._calibration._chance import chance_before
from censquant._calibration._rows import CalibrationRows
from censquant._calibration._rules import Side
from censquant._typing import Floats


def estimated_coverage(
    rows: CalibrationRows, bounds: Floats, side: Side, *, among: NDArray[np.bool_] | None = None
) -> tuple[Floats, Floats]:
    """Return the estimated share of events on the right side of their bounds.

    Doubly robust, see `chance_before`. That of upper bounds is the share among finite ones.
    """
    finite = np.isfinite(bounds)
    limits = np.where(finite, bounds, rows.target.time[:, None])
    if side == "lower":  # an event at its lower bound is covered
        limits = np.nextafter(limits, -np.inf)
    model = rows.curve if rows.model is None else rows.model
    early = chance_before(rows.target, limits, rows.censoring, model)
    counted = rows.weight[:, None] * (finite if among is None else finite & among)
    total = counted.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (counted * early).sum(axis=0) / total
        error = np.sqrt((counted**2 * (early - mean) ** 2).sum(axis=0)) / total
    return np.clip(1.0 - mean if side == "lower" else mean, 0.0, 1.0), error
