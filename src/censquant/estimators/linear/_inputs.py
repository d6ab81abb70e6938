"""Arguments of a linear fit that no other estimator has."""

from typing import Any

import numpy as np

from censquant.estimators.linear._program import Floats
from censquant.survival import Target, TimeTransform, read_censoring_times


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
    return read_censoring_times(censoring_time, target, left=left)
