"""Times that units have lasted: as numbers, or from the dates of their starts."""

from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant._units import UNITS, days_after
from censquant._validation import check_choice
from censquant.adapters._predictions import is_left_censored

DEFAULT_UNIT = "days"


def require_running(model: Any) -> None:
    """Refuse a model of events before their censored times: running units have theirs after."""
    if is_left_censored(model):
        raise ValueError(
            "model must be fitted with censoring='right', got censoring='left': units that run "
            "have their failure after their age."
        )


def read_ages(elapsed: Any, n_units: int, *, as_of: Any = None, unit: str = DEFAULT_UNIT) -> Floats:
    """Return the time that each unit has lasted; dates are counted up to ``as_of``."""
    given = np.asarray(elapsed)
    if given.dtype.kind in "OUSM":
        given = _since(given, as_of, unit)
    age = np.asarray(given, dtype=np.float64)
    if age.shape not in ((), (n_units,)):
        raise ValueError(f"elapsed must be a number or have shape ({n_units},), got {age.shape}.")
    age = np.broadcast_to(age, (n_units,))
    wrong = np.flatnonzero(~np.isfinite(age) | (age < 0))
    if wrong.size:
        row = wrong[0]
        if given.dtype.kind != np.asarray(elapsed).dtype.kind:
            first = np.asarray(elapsed).reshape(-1)[row]
            raise ValueError(
                f"elapsed must hold dates up to as_of ({as_of}), got {first} in row {row}."
            )
        raise ValueError(f"elapsed must be a time of 0 or more, got {age[row]:g} in row {row}.")
    return age


def _since(starts: NDArray[Any], as_of: Any, unit: str) -> Floats:
    """Return the times from dates to ``as_of``."""
    check_choice("unit", unit, UNITS)
    try:
        found = starts.astype("datetime64[us]")
    except (TypeError, ValueError):
        # Numbers that are held as objects.
        try:
            return starts.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                "elapsed must hold times or dates such as 2024-06-30, got "
                f"{str(starts.reshape(-1)[0])!r}."
            ) from None
    if as_of is None:
        raise ValueError(
            "as_of must be the day up to which the units have lasted where elapsed are dates, got "
            "None: pass as_of='2024-06-30', or the ages as numbers."
        )
    lasted = (read_day(as_of) - found).astype(np.float64)
    return np.where(np.isnat(found), np.nan, lasted / (UNITS[unit] / 1_000))


def read_day(as_of: Any) -> np.datetime64:
    """Return a day."""
    try:
        found = np.datetime64(as_of.isoformat() if isinstance(as_of, date) else as_of, "us")
    except (TypeError, ValueError):
        found = np.datetime64("NaT")
    if np.isnat(found):
        raise ValueError(f"as_of must be a date such as 2024-06-30, got {as_of!r}.")
    return found


def dates_of(remaining: Floats, as_of: Any, unit: str) -> NDArray[np.datetime64]:
    """Return the days on which times that are left end; NaT where that is not known."""
    check_choice("unit", unit, UNITS)
    return days_after(read_day(as_of), remaining, unit)
