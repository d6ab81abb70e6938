"""Units of time that dates can be counted in."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats

_DAY = 86_400_000_000_000  # nanoseconds
UNITS = {
    "seconds": _DAY / 86_400,
    "minutes": _DAY / 1_440,
    "hours": _DAY / 24,
    "days": float(_DAY),
    "weeks": 7.0 * _DAY,
    "months": 365.25 / 12 * _DAY,
    "years": 365.25 * _DAY,
}
"""Nanoseconds of each unit."""

_MOST_DAYS = 365_250 * 2  # later days have years of five digits


def days_after(day: Any, times: Floats, unit: str) -> NDArray[np.datetime64]:
    """Return the days that lie so long after a day; NaT where that is none."""
    days = np.floor(times * (UNITS[unit] / UNITS["days"]))
    known = np.isfinite(days) & (np.abs(days) < _MOST_DAYS)
    ahead = np.where(known, days, 0.0).astype("timedelta64[D]")
    found = np.datetime64(day, "us").astype("datetime64[D]") + ahead
    return np.where(known, found, np.datetime64("NaT", "D"))
