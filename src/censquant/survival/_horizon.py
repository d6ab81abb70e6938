"""The last time up to which a mean can be trusted."""

import numpy as np
from numpy.typing import ArrayLike

from censquant._follow_up_share import SMALLEST_FOLLOWED_SHARE
from censquant.survival._columns import read_times, read_weights

# A share that is met exactly counts, whichever way its sum was rounded.
_ROUNDING = 1e-12


def default_horizon(
    time: ArrayLike, sample_weight: ArrayLike | None = None, *, left: bool = False
) -> float:
    """Last time at which at least one in twenty individuals is still at risk.

    Up to this horizon the data can speak for a restricted mean; past it few individuals decide.
    An individual is at risk at t if its own time, event or end of follow-up, is t or later.
    """
    times = read_times(time, name="time")
    weights = read_weights(sample_weight, times.size)
    latest = np.argsort(times if left else -times, kind="stable")
    at_risk = np.cumsum(weights[latest])
    enough = SMALLEST_FOLLOWED_SHARE * at_risk[-1] * (1.0 - _ROUNDING)
    return float(times[latest[np.searchsorted(at_risk, enough)]])
