"""Times in the form that a peer takes: positive, or on a coarse grid."""

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats

# Far enough from 0 that the logarithm of the smallest time is no outlier.
_MARGIN = 0.01


def positive_shift(time: Floats) -> float:
    """Return what to add to the times so that the smallest is positive: 0 if it is.

    Otherwise the smallest becomes a hundredth of the range, so that its logarithm is no outlier.
    """
    lowest, spread = float(time.min()), float(np.ptp(time))
    if lowest > 0:
        return 0.0
    return (_MARGIN * spread if spread > 0 else 1.0) - lowest


def event_grid(time: Floats, event: NDArray[np.bool_], size: int) -> Floats:
    """At most `size` increasing times: evenly spaced quantiles of the events, and the last time.

    Equal shares of the events fall between neighbours, so that the grid is fine where the curve
    falls.
    """
    levels = np.linspace(0.0, 1.0, size - 1)
    quantiles = np.quantile(time[event], levels, method="higher")
    return np.unique(np.append(quantiles, time.max()))


def rounded_up(time: Floats, grid: Floats) -> Floats:
    """Each time moved to the next one of the grid, whose last is at or after all of them."""
    return grid[np.searchsorted(grid, time)]
