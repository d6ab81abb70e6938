"""Rows (entry, lower, upper] with kinds of events, read from columns and checked."""

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.survival._columns import (
    read_events,
    read_kinds,
    read_numbers,
    read_times,
    refuse_nan,
)
from censquant.survival._target import GeneralTarget, Target

_FEWEST_EVENTS, _FEWEST_AT_RISK = 10, 10


def read_late_rows(
    time: object, event: object, entry: object, *, name: str = "time", kinds: bool = True
) -> Target:
    """Return rows with one time each, and perhaps entries and kinds of events.

    With ``kinds=False`` events are 0 and 1 alone.
    """
    end = read_times(time, name=name)
    kind = read_kinds(event) if kinds else read_events(event).astype(np.int64)
    if end.size != kind.size:
        raise ValueError(
            "time and event must have the same length, "
            f"got {end.size} times and {kind.size} events."
        )
    start = np.full(end.size, -np.inf) if entry is None else _read_entry(entry, end.size)
    if entry is not None:
        _refuse(
            end < 0,
            "time must not be negative where rows have an entry",
            end,
            "pass durations since the same start as the entries",
        )
        _refuse(
            (end == 0) & (kind > 0),
            "time must be positive where rows have an entry and an event",
            end,
            "add what the unit of time rounded off",
        )
    target = GeneralTarget(end, kind > 0, end, start, kind)
    _refuse_late(target, "time")
    return target.plain or target


def read_interval_rows(lower: object, upper: object, event: object, entry: object) -> Target:
    """Return rows whose events lie between two bounds; missing and infinite ones are open."""
    low, high = read_numbers(lower, name="lower"), read_numbers(upper, name="upper")
    if low.size == 0:
        raise ValueError("lower must hold at least one row, got none.")
    if low.size != high.size:
        raise ValueError(
            "lower and upper must have the same length, "
            f"got {low.size} lower and {high.size} upper bounds."
        )
    low = np.where(np.isnan(low), -np.inf, low)
    high = np.where(np.isnan(high), np.inf, high)
    _refuse(
        low > high,
        "lower must not exceed upper",
        low,
        "check whether the columns are exchanged",
        of=high,
    )
    _refuse(
        (low == -np.inf) & (high == np.inf) | np.isinf(low) & (low == high),
        "lower or upper must be known in each row",
        low,
        "drop rows that say nothing, or give the last time without an event as lower",
        of=high,
    )
    _refuse(
        (low < 0) & np.isfinite(low),
        "lower must not be negative",
        low,
        "pass durations, with 0 or -inf where nothing is known before upper",
    )
    _refuse(
        high <= 0,
        "upper must be positive",
        high,
        "the event has to come after the start: add what the unit of time rounded off",
    )
    right = high == np.inf
    low = np.where((low <= 0) & ~right, -np.inf, low)
    kind = (~right).astype(np.int64)
    if event is not None:
        kind = read_kinds(event)
        if kind.size != low.size:
            raise ValueError(
                "event must have one value for each row, "
                f"got {kind.size} events for {low.size} rows."
            )
        _refuse(
            (kind == 0) & ~right,
            "upper must be inf or missing where event is 0",
            high,
            "an event is known to lie before a finite upper bound",
        )
        _refuse(
            (kind > 0) & right,
            "upper must be finite where there is an event",
            kind,
            "set event to 0 where none was seen",
            noun="event",
        )
    start = np.full(low.size, -np.inf) if entry is None else _read_entry(entry, low.size)
    exact_or_open = right | (low == high)
    # A row that was seen without an event at its entry had none before.
    cut = np.where(exact_or_open, low, np.maximum(low, start))
    target = GeneralTarget.of_rows(cut, high, start, kind)
    _refuse_late(target, "upper")
    return target.plain or target


def refuse_unusable(target: GeneralTarget, weight: Floats, *, left: bool) -> None:
    """Refuse rows that no estimator can learn from, by intervals and entries alone."""
    if left:
        raise ValueError(
            "censoring must be 'right' where rows have intervals, entries or kinds of events, got "
            "'left': give left-censored rows as intervals with lower=0."
        )
    # A weight may be how often a row was counted.
    count = np.where(weight > 0, np.maximum(weight, 1.0), 0.0)
    n_known = int(count[target.event].sum())
    if not n_known:
        return  # `require_events` has the better words
    if bool((target.event & (target.lower == -np.inf) | (count == 0)).all()):
        raise ValueError(
            "lower must be above 0 in some row, or some row be censored, got intervals from 0 in "
            f"all {int(count.sum())} rows: events may then have come as early as one likes; add "
            "rows that were seen without an event."
        )
    if target.interval.any() and n_known < _FEWEST_EVENTS:
        raise ValueError(
            f"y must have a finite upper bound in at least {_FEWEST_EVENTS} rows where any is "
            f"interval-censored, got {n_known} of {int(count.sum())} rows: collect more rows."
        )
    if target.late.any() and (most := _largest_risk_set(target, count)) < _FEWEST_AT_RISK:
        raise ValueError(
            f"y must have a time of an event at which {_FEWEST_AT_RISK} rows or more are under "
            f"observation, got at most {most} of {int(count.sum())} rows: nothing "
            "is comparable; check whether entries and times are on the same clock."
        )


def _largest_risk_set(target: GeneralTarget, count: Floats) -> int:
    """Return the largest number of rows that are under observation at the time of an event."""
    at, before = target.time[target.event], []
    for times in (target.entry, target.time):
        order = np.argsort(times)
        sums = np.concatenate(([0.0], np.cumsum(count[order])))
        before.append(sums[np.searchsorted(times[order], at, side="left")])
    return int((before[0] - before[1]).max(initial=0))


def _read_entry(entry: object, n_rows: int) -> Floats:
    """Return entries, of which those at or before the start are -inf."""
    start = read_numbers(entry, name="entry")
    if start.size != n_rows:
        raise ValueError(
            f"entry must have one time for each row, got {start.size} entries for {n_rows} rows."
        )
    try:
        refuse_nan(start, name="entry", noun="entries")
    except ValueError as error:
        raise ValueError(
            f"{str(error)[:-1]}: give 0 to rows that were under observation from the start."
        ) from None
    return np.where(start <= 0, -np.inf, start)


def _refuse_late(target: GeneralTarget, end: str) -> None:
    """Refuse rows that were never under observation."""
    _refuse(
        target.entry >= target.time,
        f"entry must lie before {end if end == 'time' else 'the end of follow-up'}",
        target.entry,
        "check whether entry and end are exchanged, and drop rows that were never observed",
        of=target.time,
    )


def _refuse(
    wrong: NDArray[np.bool_],
    rule: str,
    values: NDArray[np.float64] | NDArray[np.int64],
    remedy: str,
    *,
    of: Floats | None = None,
    noun: str = "",
) -> None:
    """Raise if any row is wrong, with the count and the first one."""
    rows = np.flatnonzero(wrong)
    if not rows.size:
        return
    first = rows[0]
    given = f"{noun + ' ' if noun else ''}{values[first]:g}"
    if of is not None:
        given += f" and {of[first]:g}"
    raise ValueError(
        f"{rule}, got {rows.size} of {wrong.size} rows that break this, the first of them row "
        f"{first} with {given}: {remedy}."
    )
