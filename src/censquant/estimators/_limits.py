"""Censoring times that are known for every row, event or not."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant.survival import Target, read_numbers


def read_limits(
    censoring_time: ArrayLike | None, target: Target, *, left: bool
) -> NDArray[np.float64] | None:
    """Return the known censoring times, checked against what was seen; None if none are given."""
    if censoring_time is None:
        return None
    limit = read_numbers(censoring_time, name="censoring_time")
    if len(limit) != len(target):
        raise ValueError(
            f"censoring_time must have one value for each row, got {len(limit)} values for "
            f"{len(target)} rows."
        )
    if not np.isfinite(limit).all():
        raise ValueError(
            "censoring_time must be finite, got "
            f"{int((~np.isfinite(limit)).sum())} values that are not: leave it out if some are "
            "unknown."
        )
    side = -1.0 if left else 1.0
    wrong = np.where(target.event, side * target.time > side * limit, target.time != limit)
    if wrong.any():
        row = int(np.argmax(wrong))
        rule = "at or before" if left else "at or after"
        raise ValueError(
            f"censoring_time must lie {rule} the time of an event and equal the time of a censored "
            f"row, got {limit[row]:g} for time {target.time[row]:g} in row {row}."
        )
    return limit
