"""Numbers as a reader sees them, and round times to look at."""

import math

import numpy as np

UNKNOWN = "beyond the data"
"""What stands in place of a time that the data cannot speak for."""

NO_BREAK = "\u00a0"
"""A space at which no line ends."""

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def shown(value: float, digits: int = 3) -> str:
    """Return a number with some significant digits, and no decimals where it is large."""
    if not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def fixed(value: float, digits: int = 4) -> str:
    """Return a finite number with some significant digits, zeros at the end included."""
    if 0 < abs(value) < 1e-4:
        return f"{value:.{digits - 1}e}"
    size = math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{max(0, digits - 1 - size)}f}"


def percent(share: float) -> str:
    """Return a share in per cent, with a decimal where it is near 0 or 1."""
    if not math.isfinite(share):
        return "not known"
    if 0.0 < share < 0.0005 or 0.9995 < share < 1.0:
        return f"{'below 0.1' if share < 0.5 else 'above 99.9'}{NO_BREAK}%"
    digits = 0 if 0.0195 <= share <= 0.9805 or f"{100 * share:.1f}".endswith(".0") else 1
    return f"{100 * share:.{digits}f}{NO_BREAK}%"


def with_unit(text: str, unit: str) -> str:
    """Return a number that was written out, with its unit if it has one."""
    return f"{text}{NO_BREAK}{unit}" if unit and text != UNKNOWN else text


def time_text(value: float, unit: str) -> str:
    """Return a time with its unit; the words for an unknown one stay without."""
    return with_unit(shown(value), unit)


def p_text(value: float) -> str:
    """Return a p-value as it is written in a sentence."""
    return f"p = {value:.2g}" if value >= 0.001 else "p < 0.001"


def round_times(end: float, n_steps: int) -> tuple[float, ...]:
    """Return about so many equal steps to a round time at or below an end."""
    if not (math.isfinite(end) and end > 0):
        return ()
    rough = end / n_steps
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((one * power for one in _STEPS), key=lambda one: abs(one - rough))
    count = max(1, math.floor(end / step + 1e-9))
    return tuple(float(f"{step * (k + 1):.12g}") for k in range(count))


def rounded(value: float, digits: int = 3) -> float:
    """Return a number with a few significant digits."""
    return float(np.format_float_positional(value, digits, unique=False, fractional=False))
