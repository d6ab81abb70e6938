"""One column of numbers, times, event codes or weights, read and checked."""

from collections.abc import Iterable
from decimal import Decimal
from math import inf, nan
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats

# Values listed in a message; more would bury the remedy.
_LISTED = 5
# Codes of events that look like causes rather than like another column.
_CAUSES = range(100)


def as_array(values: object, name: str) -> NDArray[Any]:
    """Values as an array of any dtype and shape, with None where a mask hides an entry."""
    if isinstance(values, np.ma.MaskedArray):
        # np.asarray would drop the mask and let the hidden numbers through. The fields of a
        # structured array carry their own masks and come here one by one.
        if values.dtype.names is not None:
            return values
        plain = np.array(values.data, dtype=object)
        plain[np.ma.getmaskarray(values)] = None
        return plain
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(
            f"{name} must be a rectangular array, got a sequence of items of different lengths."
        ) from None


def read_numbers(values: object, *, name: str) -> Floats:
    """Column of real numbers as float64, with NaN where a value is missing.

    Text, booleans and dates are refused rather than converted: a column of the wrong kind is
    nearly always the wrong column. Missing and infinite entries are left to the caller.
    """
    column = _one_dimensional(as_array(values, name), name)
    kind = column.dtype.kind
    if kind in "iuf":
        return np.ascontiguousarray(column, dtype=np.float64)
    if kind == "O":
        return np.array([_number(v, name, row) for row, v in enumerate(column)], dtype=np.float64)
    if kind == "c":
        raise ValueError(
            f"Complex data not supported: {name} must hold real numbers, got dtype {column.dtype}."
        )
    if kind == "b":
        raise TypeError(
            f"{name} must hold numbers, got booleans, which are the values of an event column."
        )
    if kind in "mM":
        raise TypeError(
            f"{name} must hold numbers, got dtype {column.dtype}: "
            "divide the time since the start by a unit, as in (end - start) / one_day."
        )
    raise TypeError(
        f"{name} must hold numbers, got dtype {column.dtype}: convert the column to float."
    )


def read_times(values: object, *, name: str) -> Floats:
    """Column of finite times, of any sign."""
    times = read_numbers(values, name=name)
    if times.size == 0:
        raise ValueError(f"{name} must hold at least one row, got none.")
    refuse_nan(times, name=name, noun="times")
    infinite = np.flatnonzero(np.isinf(times))
    if infinite.size:
        raise ValueError(
            f"{name} contains infinity: {infinite.size} of {times.size} times are infinite, the "
            f"first in row {infinite[0]}; give the last observed time and event=False instead."
        )
    return times


def read_events(values: object, *, name: str = "event") -> NDArray[np.bool_]:
    """Column of event indicators: booleans, or numbers that are all 0 or 1."""
    column = _one_dimensional(as_array(values, name), name)
    kind = column.dtype.kind
    if kind == "b":
        return np.ascontiguousarray(column, dtype=np.bool_)
    if kind == "O":
        missing = np.array([is_missing(v) for v in column], dtype=np.bool_)
        known = np.array([_is_event_code(v) for v in column], dtype=np.bool_)
    elif kind in "iuf":
        missing = np.isnan(column)
        known = (column == 0) | (column == 1)
    else:
        missing = known = np.zeros(column.shape, dtype=np.bool_)
    if missing.any():
        rows = np.flatnonzero(missing)
        raise ValueError(
            f"{name} contains missing values: {rows.size} of {column.size} are missing, "
            f"the first in row {rows[0]}; drop those rows."
        )
    if not known.all():
        raise ValueError(_unknown_codes(column, name))
    return np.ascontiguousarray(column == 1, dtype=np.bool_)


def read_kinds(values: object, *, name: str = "event") -> NDArray[np.int64]:
    """Column of kinds of events: booleans, or whole numbers 0, 1, ..., K, with 0 for no event."""
    codes = np.unique(_plain_codes(values, name))
    if not codes.size or codes[-1] <= 1:
        return read_events(values, name=name).astype(np.int64)
    if codes[-1] not in _CAUSES:
        read_events(values, name=name)  # which says what is wrong
    kinds = codes[codes != 0]
    if not np.array_equal(kinds, np.arange(1, kinds.size + 1)):
        raise ValueError(
            f"{name} must be codes 0, 1, ..., K without a gap, got the values "
            f"{listed(f'{code:g}' for code in codes)}: number the kinds of events from 1, with 0 "
            "where none was seen."
        )
    return _plain_codes(values, name).astype(np.int64)


def read_codes(values: object, *, name: str) -> Floats:
    """Column of numbers of kinds of events, of which some may be lacking."""
    codes = _plain_codes(values, name)
    if not codes.size:
        read_events(values, name=name)  # which says what is wrong
    return codes


def read_weights(sample_weight: object, n_samples: int) -> Floats:
    """Sample weights as float64, one for each row; ones where None is given.

    A weight counts a row as that many equal rows, and a weight of 0 as no row at all. Weights
    must be finite and not negative, and at least one must be positive.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    weights = read_numbers(sample_weight, name="sample_weight")
    if weights.size != n_samples:
        raise ValueError(
            "sample_weight must have one value for each row, "
            f"got {weights.size} values for {n_samples} rows."
        )
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if bad.size:
        raise ValueError(
            "sample_weight must be finite and not negative, "
            f"got {weights[bad[0]]:g} in row {bad[0]}."
        )
    if not weights.any():
        raise ValueError("sample_weight must hold a positive value, got only zeros.")
    return weights


def read_entry(entry: object, time: Floats) -> Floats:
    """Return the times from which on rows were under observation, each before the row's own."""
    start = read_numbers(entry, name="entry")
    if start.size != time.size:
        raise ValueError(
            f"entry must have one value for each row, got {start.size} values for {time.size} rows."
        )
    refuse_nan(start, name="entry", noun="times")
    late = np.flatnonzero(start >= time)
    if late.size:
        row = late[0]
        raise ValueError(
            f"entry must be before the row's time, got {start[row]:g} and the time {time[row]:g} "
            f"in row {row} ({late.size} such rows): drop rows that were never under observation."
        )
    return start


def refuse_nan(column: Floats, *, name: str, noun: str) -> None:
    """Raise `ValueError` if a number is missing, with the count and the first row."""
    missing = np.flatnonzero(np.isnan(column))
    if missing.size:
        raise ValueError(
            f"{name} contains NaN: {missing.size} of {column.size} {noun} are missing, "
            f"the first in row {missing[0]}."
        )


def listed(values: Iterable[str]) -> str:
    """Words for a message, joined by commas and cut after a few."""
    words = list(values)
    return ", ".join(words[:_LISTED] + ["..."] * (len(words) > _LISTED))


def column_names(table: Any) -> list[Any]:
    """Names of the columns of a DataFrame, or the keys of a mapping."""
    return list(table.columns if hasattr(table, "columns") else table)


def quoted(names: Iterable[Any]) -> str:
    """Column names for a message."""
    return listed(repr(name) for name in names) or "none"


def _one_dimensional(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Raise unless the array is a vector."""
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}.")
    return array


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN or one of pandas' missing values."""
    # By name, since pandas need not be installed.
    named = type(value).__name__ in {"NAType", "NaTType"}
    return named or value is None or (_is_number(value) and value != value)


def _is_number(value: object) -> bool:
    """Whether a value is a real number other than a boolean."""
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def _is_event_code(value: Any) -> bool:
    """Whether a value of an object column is a boolean, 0 or 1."""
    return isinstance(value, bool | np.bool_) or (_is_number(value) and value in (0, 1))


def _number(value: Any, name: str, row: int) -> float:
    """One entry of an object column as a float."""
    if is_missing(value):
        return nan
    if not _is_number(value):
        raise TypeError(
            f"{name} must hold numbers, got {value!r} ({type(value).__name__}) in row {row}."
        )
    try:
        return float(value)
    except OverflowError:
        return inf


def _plain_codes(values: object, name: str) -> Floats:
    """Codes of events as numbers; empty where they are anything else or one is missing."""
    column = _one_dimensional(as_array(values, name), name)
    if column.dtype.kind in "iufb":
        codes = column.astype(np.float64)
    elif column.dtype.kind == "O" and all(
        isinstance(code, bool | np.bool_) or _is_number(code) for code in column
    ):
        # As whole numbers, since a boolean is an event as well.
        known = [int(code) if isinstance(code, np.bool_ | bool) else code for code in column]
        codes = np.array([_number(code, name, 0) for code in known], dtype=np.float64)
    else:
        return np.empty(0)
    return codes if np.isfinite(codes).all() else np.empty(0)


def _unknown_codes(column: NDArray[Any], name: str) -> str:
    """Message about event codes that are neither boolean nor 0 and 1."""
    plain = column.dtype.kind in "iufO"
    codes = column.tolist() if plain else column.astype(str).tolist()
    numeric = all(_is_number(code) for code in codes)
    if numeric:
        found = [f"{_number(code, name, 0):g}" for code in sorted(set(codes))]
    else:
        found = sorted({repr(code) for code in codes})
    remedy = "compare the column with the value that means the event"
    if numeric and set(codes) <= {1, 2}:
        remedy = (
            "2 usually means the event, write event == 2; kinds of events are 0, 1 and 2 for "
            "CompetingRisksRegressor, with 0 where none was seen"
        )
    elif numeric and all(code in _CAUSES for code in codes):
        remedy = (
            "codes above 1 usually mean competing risks, which CompetingRisksRegressor takes; "
            f"write {name} == 1 for the first cause, and rows with another cause count as "
            "censored, so that the predictions are those for that cause alone, as if the others "
            "did not occur"
        )
    return f"{name} must be boolean or 0 and 1, got the values {listed(found)}: {remedy}."
