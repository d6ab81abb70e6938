"""Columns that are no features: they give the outcome away, or only number rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats

# Fewer rows may agree with the outcome by chance.
FEWEST_ROWS = 20
# So many rows are evidence enough, however many there are.
_MOST_ROWS = 5_000
_FIRST_ROWS = 500
_MOST_LEVELS = 20
_NEARLY_THE_TIME, _PERHAPS = 0.99, 0.8

TIME = "the time itself, or a multiple of it"
EVENT = "the event itself"
ONLY_WITH_EVENT = "missing exactly where no event was observed"
ONLY_WITHOUT_EVENT = "missing exactly where the event was observed"
NEVER_WITHOUT_EVENT = "without a value wherever no event was observed"
TELLS_EVENT = "each value has the event in all rows or in none"
NEARLY_TIME = "nearly the same order as the time"


class Outcome:
    """Times and events, with which columns are compared; of many rows some at equal distances."""

    def __init__(self, time: Floats, event: NDArray[np.bool_]) -> None:
        self._rows: Any = slice(None)
        if len(time) > _MOST_ROWS:
            self._rows = np.linspace(0, len(time) - 1, _MOST_ROWS).astype(np.intp)
        self._time, self._event = time[self._rows], event[self._rows]
        self._order = np.argsort(self._time)

    def find_leak(self, values: NDArray[Any]) -> str:
        """Return how a column gives the outcome away, in words; empty if it does not.

        Values are numbers with NaN where one is missing, or codes of categories with -1 there.
        """
        values = values[self._rows]
        is_number = values.dtype.kind == "f"
        return (is_number and _gives_time(values, self._time)) or _gives_event(values, self._event)

    def find_near_leak(self, values: NDArray[Any]) -> str:
        """Return whether numbers have nearly the order of the times, in words; empty if not."""
        if values.dtype.kind != "f":
            return ""
        values = values[self._rows]
        known = np.isfinite(values)
        if known.sum() < FEWEST_ROWS:
            return ""
        in_order = values[self._order][known[self._order]]
        distance = len(in_order) // 4
        before, after = in_order[:-distance], in_order[distance:]
        # Most columns are far from it, as pairs of rows show without ranks.
        if abs(np.sum(after > before) - np.sum(after < before)) < _PERHAPS * len(after):
            return ""
        agreement = abs(_rank_correlation(values[known], self._time[known]))
        return NEARLY_TIME if agreement > _NEARLY_THE_TIME else ""


def _gives_event(values: NDArray[Any], event: NDArray[np.bool_]) -> str:
    """Return how a column determines the event, in words; empty if it does not."""
    n_events = np.count_nonzero(event)
    if n_events in (0, len(event)):
        return ""
    missing = np.isnan(values) if values.dtype.kind == "f" else values < 0
    if len(event) >= FEWEST_ROWS and missing.any():
        if (missing != event).all():
            return ONLY_WITH_EVENT
        if (missing == event).all():
            return ONLY_WITHOUT_EVENT
        n_known = len(event) - np.count_nonzero(missing)
        n_enough = max(FEWEST_ROWS, n_events / 2)
        if n_known >= n_enough and missing[~event].all() and np.sum(~event) >= FEWEST_ROWS:
            return NEVER_WITHOUT_EVENT
    most = 2 if len(event) < FEWEST_ROWS else max(2, min(_MOST_LEVELS, len(event) // 10))
    if len(np.unique(values[:_FIRST_ROWS])) > most:
        return ""
    levels, codes = np.unique(values, return_inverse=True)
    if len(levels) > most:
        return ""
    n_of_level = np.bincount(codes)
    with_event = np.bincount(codes, event)
    if not ((with_event == 0) | (with_event == n_of_level)).all():
        return ""
    return EVENT if len(levels) == 2 else TELLS_EVENT


def _gives_time(numbers: Floats, time: Floats) -> str:
    """Return whether numbers are the time in this or another unit, in words; empty if not."""
    if np.isnan(numbers).any() or len(time) < 2 or time.min() == time.max():
        return ""
    # Divided first: sums of numbers near the largest would overflow.
    largest = np.abs(numbers).max()
    if not 0 < largest < np.inf:
        return ""
    numbers, time = numbers / largest, time / np.abs(time).max()
    centred, own = numbers - numbers.mean(), time - time.mean()
    scale = np.abs(centred).max()
    if scale == 0:
        return ""
    slope = centred @ own / (own @ own)
    is_time = slope > 0 and np.abs(centred - slope * own).max() <= 1e-6 * scale
    return TIME if is_time else ""


def _rank_correlation(first: Floats, second: Floats) -> float:
    """Return Spearman's correlation, 0 where one of both is constant."""
    from scipy.stats import rankdata

    ranks = [rankdata(values) - (len(values) + 1) / 2 for values in (first, second)]
    norm = np.sqrt((ranks[0] @ ranks[0]) * (ranks[1] @ ranks[1]))
    return float(ranks[0] @ ranks[1] / norm) if norm else 0.0


def are_row_numbers(values: NDArray[np.float64]) -> bool:
    """Return whether whole numbers are distinct by design, as identifiers are.

    Among ``n`` values drawn from ``span`` whole numbers about ``n**2 / (2 * span)`` pairs are
    equal: where three or more are expected, no equal pair at all happens by chance in fewer than
    one of twenty columns.
    """
    n_rows = len(values)
    if n_rows < FEWEST_ROWS or not (values == np.floor(values)).all():
        return False
    with np.errstate(over="ignore"):
        span = values.max() - values.min()
    if not n_rows - 1 <= span < n_rows * (n_rows - 1) / 6.0:
        return False
    return bool((np.diff(np.sort(values)) > 0).all())
