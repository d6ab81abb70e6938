"""Arguments of a linear fit that no other estimator has."""

from typing import Any

import numpy as np

from censquant.linear._program import Floats
from censquant.survival import Target, TimeTransform, read_numbers

# Two computations of one censoring time may differ by this share.
_ROUNDING = 1e-9


def read_transform(kind: str | None, target: Target, *, mirror: bool) -> TimeTransform:
    """Return the scale of the coefficients: times as they are, or their logarithms."""
    if kind is None:
        return TimeTransform(mirror=mirror)
    lowest = target.time.min()
    if lowest < 0:
        raise ValueError(
            f"time must not be negative for time_transform='log', got a minimum of {lowest:g}: "
            "use time_transform=None."
        )
    fitted = TimeTransform.fit(target.time, target.event, "log")
    return TimeTransform(log=True, floor=fitted.floor, mirror=mirror)


def read_censoring_time(censoring_time: Any, target: Target, method: str, *, left: bool) -> Floats:
    """Return the known censoring times, infinite where none was given."""
    never = np.full(len(target), -np.inf if left else np.inf)
    if method != "powell":
        if censoring_time is not None:
            raise ValueError(
                "censoring_time is taken by method='powell' alone, got it with "
                f"method={method!r}: leave it out."
            )
        return never
    if censoring_time is None:
        n_censored = len(target) - target.n_events
        if n_censored:
            raise ValueError(
                "censoring_time must be given for method='powell' where rows are censored, got "
                f"None with {n_censored} of {len(target)} rows censored: pass every row's "
                "censoring time, also of rows with an event, or use method='portnoy'."
            )
        return never
    limit = read_numbers(censoring_time, name="censoring_time")
    if len(limit) != len(target):
        raise ValueError(
            "censoring_time must have one value for each row, "
            f"got {len(limit)} values for {len(target)} rows."
        )
    side = -1.0 if left else 1.0
    rounding = _ROUNDING * np.abs(target.time)
    # Written so that a NaN is wrong.
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
