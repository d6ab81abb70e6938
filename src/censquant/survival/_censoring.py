"""Censoring: weights by its probability, the end of follow-up, known censoring times."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._follow_up_share import SMALLEST_CENSORING_CHANCE
from censquant.survival._columns import read_numbers
from censquant.survival._kaplan_meier import KaplanMeier, censoring_kaplan_meier
from censquant.survival._target import Target, read_columns

# Two computations of one censoring time may differ by this share.
_ROUNDING = 1e-9


def inverse_censoring_weights(
    time: ArrayLike,
    event: ArrayLike,
    *,
    curve: KaplanMeier | None = None,
    floor: float = SMALLEST_CENSORING_CHANCE,
    sample_weight: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Weights that let the rows with an event stand for all rows.

    A row whose event was observed at t had the probability G(t-) of not being censored before, so
    it counts as 1 / G(t-) rows; a censored row counts as none:

    .. math:: w_i = \delta_i / \max(G(t_i-), \mathrm{floor})

    The weights are right if censoring depends neither on the event time nor on the features, and
    if follow-up is long enough to observe every event time. The floor bounds the few large
    weights near the end of follow-up, at the price of a small bias.
    """
    target = read_columns(time, event)
    if not 0 <= floor <= 1:
        raise ValueError(f"floor must be in [0, 1], got {floor!r}.")
    if curve is None:
        curve = censoring_kaplan_meier(target.time, target.event, sample_weight)
    elif sample_weight is not None:
        raise ValueError(
            "sample_weight must be None where curve is given, since it only weights the rows "
            "that the curve is estimated from."
        )
    events = np.flatnonzero(target.event)
    chance = np.maximum(curve(target.time[events], side="left"), floor)
    zero = np.flatnonzero(chance == 0)
    if zero.size:
        raise ValueError(
            f"floor must be positive where the censoring curve falls to 0, got {floor!r} and "
            f"{zero.size} events past that point, the first in row {events[zero[0]]}."
        )
    weights = np.zeros(len(target))
    weights[events] = 1 / chance
    return weights


def follow_up_limit(time: ArrayLike, event: ArrayLike) -> float:
    """Largest time at which any row is at risk: the largest time of all.

    Past it nothing in the data supports one curve rather than another: a quantile beyond it is the
    model's extrapolation. A censored row counts as much as an event, because it was followed for
    just as long.
    """
    return float(read_columns(time, event).time.max())


def read_censoring_times(
    censoring_time: ArrayLike, target: Target, *, left: bool = False
) -> NDArray[np.float64]:
    """Censoring times that are known for every row, checked against the target."""
    limit = read_numbers(censoring_time, name="censoring_time")
    if len(limit) != len(target):
        raise ValueError(
            "censoring_time must have one value for each row, "
            f"got {len(limit)} values for {len(target)} rows."
        )
    side = -1.0 if left else 1.0
    rounding = _ROUNDING * np.abs(target.time)
    # Written so that NaN is refused.
    right = side * (limit - target.time) >= -rounding
    right &= target.event | (np.abs(limit - target.time) <= rounding)
    if not right.all():
        row = int(np.argmin(right))
        raise ValueError(
            "censoring_time must be the time of a censored row and not "
            f"{'after' if left else 'before'} the time of an event, got {limit[row]:g} in row "
            f"{row} with {'an event' if target.event[row] else 'censoring'} at "
            f"{target.time[row]:g}."
        )
    return limit
