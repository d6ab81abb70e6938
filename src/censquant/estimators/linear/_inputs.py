"""Checks of what a linear fit is given, beyond those of every estimator."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from censquant._typing import Floats
from censquant.survival import Target
from censquant.survival._kaplan_meier import read_censoring_times
from censquant.survival._transform import TimeTransform

_LARGEST = float(np.finfo(np.float64).max)


def refuse_overflow(features: Floats, target: Target, names: Sequence[str]) -> None:
    """Raise if values are so large that sums of them are not finite."""
    bound = _LARGEST / (4 * len(features))
    sizes = [*np.abs(features).max(axis=0).tolist(), float(np.abs(target.time).max())]
    places = [*(f"column {name!r} of X" for name in names), "y"]
    for size, where in zip(sizes, places, strict=True):
        if size > bound:
            raise ValueError(
                f"X and y must hold values below {bound:.1g} in size for {len(features)} rows, got "
                f"{size:.3g} in {where}: rescale it."
            )


def read_transform(kind: str | None, target: Target, *, mirror: bool) -> TimeTransform:
    """Return the units of the coefficients: times as they are, or their logarithms."""
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
    if method not in ("powell", "fitzenberger"):
        if censoring_time is not None:
            raise ValueError(
                "censoring_time must be None unless method='powell' or 'fitzenberger', got "
                f"censoring times with method={method!r}: leave it out."
            )
        return never
    if censoring_time is None:
        n_censored = len(target) - target.n_events
        if n_censored:
            raise ValueError(
                f"censoring_time must be given for method={method!r} where rows are censored, got "
                f"None with {n_censored} of {len(target)} rows censored: pass every row's "
                "censoring time, also of rows with an event, or use method='portnoy'."
            )
        return never
    return read_censoring_times(censoring_time, target, left=left)
