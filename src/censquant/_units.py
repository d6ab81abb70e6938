"""Units of time that dates can be counted in."""

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
