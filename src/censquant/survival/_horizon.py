"""The last time at which enough individuals are still under observation."""

import numpy as np
from numpy.typing import ArrayLike

from censquant.survival._columns import read_numbers, read_weights

_SMALLEST_SHARE = 0.05
_FEWEST = 5
_ROUNDING = 1e-9  # a share that is met exactly counts


def risk_horizon(
    time: ArrayLike, sample_weight: ArrayLike | None = None, *, left: bool = False
) -> float:
    """Last time at which at least a twentieth of the individuals, and five, are still at risk.

    Up to there the data can speak of all individuals taken together: it is the default horizon of
    restricted means.

    Parameters
    ----------
    time : array-like of shape (n,)
        Time of the event or of the end of follow-up.
    sample_weight : array-like of shape (n,), optional
    left : bool, default False
        Whether times are left-censored; the horizon is then the earliest such time.

    Returns
    -------
    horizon : float

    Examples
    --------
    >>> from censquant.survival import risk_horizon
    >>> risk_horizon(range(1, 101))
    96.0
    """
    times = read_numbers(time, name="time")
    weight = read_weights(sample_weight, times.size)
    order = np.argsort(-times if not left else times, kind="stable")
    # The count matters as well as the share: a twentieth of few individuals is nobody.
    enough = np.cumsum(weight[order]) >= _SMALLEST_SHARE * float(weight.sum()) - _ROUNDING
    enough &= np.cumsum(weight[order] > 0) >= min(_FEWEST, int(np.count_nonzero(weight)))
    return float(times[order][np.argmax(enough)])
