"""Times and events from the columns of a table; what is not clear is refused, never guessed."""

import contextlib
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant._units import UNITS
from censquant.io._columns import DATE, NUMBER, level_texts
from censquant.io._options import TableError, option
from censquant.io._table import Table
from censquant.survival import Target
from censquant.survival._general_rows import read_interval_rows, read_late_rows

_EVENT_WORDS = frozenset(
    (
        *("1", "2", "yes", "y", "true", "t", "dead", "died", "death", "deceased", "event"),
        *("failed", "failure", "fail", "fault", "broken", "churned", "churn", "relapse"),
        *("relapsed", "recurrence", "progressed", "exited", "left", "cancelled", "defaulted"),
    )
)
_CENSORED_NAMES = ("cens", "cnsr", "alive", "running", "active", "surviv")
_MOST_VALUES = 6


@dataclass(frozen=True)
class TargetColumns:
    r"""Which columns of a table say when the event happened, or that it had not yet.

    Either ``time`` names a column of durations, or ``start`` and ``end`` name columns of dates, or
    ``lower`` and ``upper`` name columns of durations between which the event lies. Events are never
    guessed: codes other than 0 and 1 need ``event_value``.

    Parameters
    ----------
    time : str, optional
        Column of durations.
    event : str, optional
        Column that says whether the event was observed. It may be left out where ``until`` is
        given: rows with an end then have the event.
    event_value : tuple of str, default ()
        Values of ``event`` that mean that the event was observed; all others mean censoring.
    start, end : str, optional
        Columns of dates.
    until : str, optional
        Date up to which individuals without an end were followed, such as 2024-06-30 or in the
        form ``date_format``.
    unit : str, default "days"
        Unit in which dates are counted, from "seconds" to "years"; otherwise a word for messages.
    date_format : str, optional
        Form of the dates, as of :meth:`datetime.datetime.strptime`.
    lower, upper : str, optional
        Columns of durations at which there was no event yet, and by which there was one; missing
        where nothing is known. There is no ``event`` then.
    entry : str, optional
        Column of durations, or with ``start`` of dates, since when rows were under observation.

    Examples
    --------
    >>> from censquant.io import TargetColumns, read_table
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "fleet.csv"
    ...     _ = path.write_text("days,status\n3,failed\n5,running\n")
    ...     table = read_table(path)
    >>> TargetColumns(time="days", event="status", event_value=("failed",)).read(table)
    Target(time=array([3., 5.]), event=array([ True, False]))
    """

    time: str | None = None
    event: str | None = None
    event_value: tuple[str, ...] = ()
    start: str | None = None
    end: str | None = None
    until: str | None = None
    unit: str = "days"
    date_format: str | None = None
    lower: str | None = None
    upper: str | None = None
    entry: str | None = None

    def __post_init__(self) -> None:
        if self.lower is not None or self.upper is not None:
            self._check_bounds()
            return
        if (self.time is None) == (self.start is None and self.end is None):
            raise TableError(
                f"The times must be given either by one column ({option('time')}) or by two "
                f"columns of dates ({option('start')} and {option('end')})"
            )
        if self.time is None:
            if self.start is None or self.end is None:
                given, other = ("start", "end") if self.end is None else ("end", "start")
                raise TableError(
                    f"{option(given)} and {option(other)} must be given together, got "
                    f"{option(given)} alone"
                )
            check_unit(self.unit)
        if self.event is None and self.until is None:
            raise TableError(
                f"{option('event')} must name the column that says whether the event was observed",
                remedy=f"give {option('until')}, the date of the last follow-up, where each row "
                "with an end had the event",
            )
        if self.until is not None and self.time is not None:
            raise TableError(
                f"{option('until')} is a date, and needs columns of dates ({option('start')} and "
                f"{option('end')})"
            )
        if self.event_value and self.event is None:
            raise TableError(
                f"{option('event_value')} needs {option('event')}, the column that has these values"
            )

    def _check_bounds(self) -> None:
        """Refuse bounds of which one is not named, or that are not alone."""
        if self.lower is None or self.upper is None:
            given, other = ("lower", "upper") if self.upper is None else ("upper", "lower")
            raise TableError(
                f"{option(given)} and {option(other)} must be given together, got "
                f"{option(given)} alone"
            )
        for name in ("time", "event", "start", "end", "until"):
            if getattr(self, name) is not None:
                raise TableError(
                    f"{option('lower')} and {option('upper')} stand without {option(name)}: an "
                    "upper bound that is missing says that no event was seen"
                )

    @property
    def names(self) -> list[str]:
        """Names of the columns that are used."""
        found = (self.time, self.event, self.start, self.end, self.lower, self.upper, self.entry)
        return [name for name in found if name is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters, as notes of a model file can hold them."""
        return {**asdict(self), "event_value": list(self.event_value)}

    @classmethod
    def from_dict(cls, entries: dict[str, Any]) -> "TargetColumns":
        """Return what :meth:`to_dict` described."""
        return cls(**{**entries, "event_value": tuple(entries["event_value"])})

    def read(self, table: Table) -> Target:
        """Return the :class:`~censquant.survival.Target` of a table; a piece may have no event."""
        target = self._read(table)
        if table.n_before is None and not target.event.any():
            raise self.no_events(table.shown)
        return target

    def running(self, table: Table) -> NDArray[np.bool_]:
        """Return which rows of a table had no event; all of them if the columns are not there."""
        if all(name in table.kinds for name in self.names):
            return ~self._read(table).event
        return np.ones(len(table), dtype=bool)

    def _read(self, table: Table) -> Target:
        if self.lower is not None and self.upper is not None:
            low, high = table.numbers(self.lower, "lower"), table.numbers(self.upper, "upper")
            return read_interval_rows(low, high, None, self._entries(table))
        if self.time is not None:
            time, has_end = self._given_times(table, self.time), None
        else:
            time, has_end = self._times_of_dates(table)
        event = has_end if self.event is None else self._events(table, self.event)
        assert event is not None
        if self.event is not None and has_end is not None:
            problem = (
                f"{self.event!r} says that the event was observed, but {self.end!r} is missing,"
            )
            _refuse_rows(table, event & ~has_end, problem)
        if self.entry is not None:
            return read_late_rows(time, event, self._entries(table))
        return Target(time, event)

    def _entries(self, table: Table) -> Floats | None:
        """Return since when rows were under observation, None if all were from the start on."""
        if self.entry is None:
            return None
        column = table.column(self.entry, "entry")
        missing = np.asarray(column.is_null().to_numpy())
        _refuse_rows(table, missing, f"The entry {self.entry!r} is missing")
        if table.kinds[self.entry] != DATE:
            return np.ascontiguousarray(table.numbers(self.entry, "entry"))
        if self.start is None:
            raise TableError(
                f"The column {self.entry!r} of {table.shown} must hold durations, got dates",
                remedy=f"name columns of dates by {option('start')} and {option('end')} as well",
            )
        start, entry = (
            table.dates(name, role, self.date_format)
            for name, role in ((self.start, "start"), (self.entry, "entry"))
        )
        self._refuse_other_zones(start, entry)
        return (microseconds(entry) - microseconds(start)) / (UNITS[self.unit] / 1_000)

    def day(self, name: str, text: str) -> str:
        """Return a date that was typed as the option ``name``, in the form 2024-06-30."""
        found = np.datetime64(int(read_day(name, text, self.date_format)), "us")
        return str(found.astype("datetime64[D]"))

    def no_events(self, shown: str) -> TableError:
        """Return the error for data without any event."""
        return TableError(
            f"No row of {shown} has the event, so that no time to it can be learned",
            remedy=f"check {option('event')}"
            + (f" and {option('event_value')}" if self.event_value else ""),
        )

    def _given_times(self, table: Table, name: str) -> Floats:
        column = table.column(name, "time")
        if table.kinds[name] == DATE:
            raise TableError(
                f"The column {name!r} of {table.shown} must hold durations, got dates",
                remedy=f"name two columns of dates by {option('start')} and {option('end')}",
            )
        if str(column.type) == "bool":
            raise TableError(
                f"The column {name!r} of {table.shown} must hold durations, got truth values"
            )
        time = table.numbers(name, "time")
        _refuse_rows(table, np.isnan(time), f"The time {name!r} is missing")
        _refuse_rows(table, np.isinf(time), f"The time {name!r} is infinite")
        return np.ascontiguousarray(time)

    def _times_of_dates(self, table: Table) -> tuple[Floats, NDArray[np.bool_]]:
        assert self.start is not None
        assert self.end is not None
        start, end = (
            table.dates(name, role, self.date_format)
            for name, role in ((self.start, "start"), (self.end, "end"))
        )
        self._refuse_other_zones(start, end)
        begin, stop = (microseconds(column) for column in (start, end))
        has_end = ~np.asarray(end.is_null().to_numpy())
        _refuse_rows(
            table, np.asarray(start.is_null().to_numpy()), f"The date {self.start!r} is missing"
        )
        if self.until is None and not has_end.all():
            latest = np.datetime64(int(max(stop.max(), begin.max())), "us")
            raise TableError(
                f"The date {self.end!r} is missing in {(~has_end).sum()} of {len(end)} rows",
                [("until", self._shown_day(latest, zoned=start.type.tz is not None))],
                "give another date up to which these rows were followed without the event",
            )
        if self.until is not None:
            until = read_day("until", self.until, self.date_format, zoned=start.type.tz is not None)
            stop = np.where(has_end, stop, until)
        time = (stop - begin) / (UNITS[self.unit] / 1_000)
        ends = f"{self.end!r}"
        if self.until is not None:
            ends = f"{self.end!r} or {option('until')} ({self.until})"
        _refuse_rows(table, time < 0, f"{self.start!r} lies after {ends}")
        return time, has_end

    def _refuse_other_zones(self, start: Any, end: Any) -> None:
        """Refuse dates of which one has a time zone and the other has none."""
        if len(end) in (start.null_count, end.null_count):
            return
        if (start.type.tz is None) != (end.type.tz is None):
            with_zone, without = (self.start, self.end) if start.type.tz else (self.end, self.start)
            raise TableError(
                f"The dates {with_zone!r} have a time zone and {without!r} have none, so that "
                "the time between them is not known",
                remedy="write both with their zone or both without",
            )

    def _shown_day(self, day: np.datetime64, *, zoned: bool) -> str:
        """Return a date as the table has dates."""
        if self.date_format is not None:
            return str(day.astype("datetime64[s]").item().strftime(self.date_format))
        return f"{str(day)[:10]}T00:00+00:00" if zoned else str(day)[:10]

    def _events(self, table: Table, name: str) -> NDArray[np.bool_]:
        column = table.column(name, "event")
        missing = np.asarray(column.is_null().to_numpy())
        if table.n_before is None and len(missing) == missing.sum():
            raise TableError(f"The event {name!r} has no value in any row of {table.shown}")
        _refuse_rows(table, missing, f"The event {name!r} is missing")
        if self.event_value:
            return _with_values(table, column, name, self.event_value)
        if str(column.type) == "bool":
            flags = np.asarray(column.to_numpy(), dtype=np.bool_)
        else:
            numbers = table.numbers(name, "event") if table.kinds[name] == NUMBER else None
            if numbers is None or not np.isin(numbers, (0.0, 1.0)).all():
                raise _unclear_events(table, column, name)
            flags = numbers == 1.0
        if any(word in name.lower() for word in _CENSORED_NAMES):
            words = ("true", "false") if str(column.type) == "bool" else ("1", "0")
            raise TableError(
                f"The name of the event {name!r} suggests that {words[0]} means no event",
                [("event_value", words[1]), ("event_value", words[0])],
            )
        return np.ascontiguousarray(flags)


def _with_values(
    table: Table, column: Any, name: str, wanted: tuple[str, ...]
) -> NDArray[np.bool_]:
    """Return which rows have one of the wanted values; one that no row has is refused."""
    texts = np.array(level_texts(column).to_pylist(), dtype=object)
    there = Counter(texts.tolist())
    for value in wanted:
        if table.n_before is None and value not in there:
            near = [one for one in there if one.lower() == value.lower()]
            raise TableError(
                f"No row of {table.shown} has the value {value!r} of {name!r}, which has "
                f"{_listed(there)}",
                [("event_value", near[0])] if near else [],
            )
    return np.isin(texts, wanted)


def _unclear_events(table: Table, column: Any, name: str) -> TableError:
    """Return the error that lists the values of an event and the options that explain them."""
    there = Counter(level_texts(column).to_pylist())
    values = sorted(there)
    likely = [value for value in values if value.lower() in _EVENT_WORDS]
    if set(values) == {"1", "2"}:
        likely = ["2"]
    options = likely if len(likely) == 1 else values
    if len(there) > _MOST_VALUES:
        return TableError(
            f"The event {name!r} must hold 0 and 1, got {len(there)} different values such as "
            f"{values[0]!r}",
            remedy="name the column that says whether the event was observed",
        )
    return TableError(
        f"The event {name!r} must hold 0 and 1, got {_listed(there)}",
        [("event_value", value) for value in options],
        "another value if that one does not mean that the event was observed"
        if len(options) == 1
        else "",
    )


def _listed(there: Counter[str]) -> str:
    shown = [f"{value!r} ({count})" for value, count in there.most_common(_MOST_VALUES)]
    more = ", ..." if len(there) > _MOST_VALUES else ""
    return ", ".join(shown) + more + (" rows" if len(there) == 1 else "")


def microseconds(column: Any) -> Floats:
    """Return dates as microseconds since 1970, 0 where one is missing."""
    zero = column.cast(pa.int64()).fill_null(0)
    return np.asarray(zero.to_numpy(), dtype=np.float64)


def check_unit(unit: str) -> None:
    """Refuse a unit that dates cannot be counted in."""
    if unit not in UNITS:
        raise TableError(
            f"{option('unit')} must be one of {', '.join(UNITS)} where dates are given, got "
            f"{unit!r}"
        )


def read_day(name: str, text: str, date_format: str | None, *, zoned: bool | None = None) -> float:
    """Return a date that was given as an option, in microseconds since 1970."""
    found = None
    with contextlib.suppress(ValueError):
        found = datetime.fromisoformat(text)
    if date_format is not None:  # of two meanings that of the table
        with contextlib.suppress(ValueError):
            found = datetime.strptime(text, date_format)
    if found is None:
        form = "" if date_format is None else f" or of the form {date_format}"
        raise TableError(f"{option(name)} must be a date such as 2024-06-30{form}, got {text!r}")
    if zoned not in (None, found.tzinfo is not None):
        words = ("without", "no") if not zoned else ("with", "a")
        example = "2024-06-30T00:00+00:00" if zoned else "2024-06-30"
        raise TableError(
            f"{option(name)} must be a date {words[0]} a time zone such as {example}, since the "
            f"table's dates have {words[1]} zone, got {text!r}"
        )
    if found.tzinfo is not None:
        found = found.astimezone(UTC).replace(tzinfo=None)
    return float(np.datetime64(found, "us").astype(np.int64))


def _refuse_rows(table: Table, wrong: NDArray[np.bool_], problem: str) -> None:
    rows = np.flatnonzero(wrong)
    if rows.size and table.n_before is not None:
        raise TableError(
            f"{problem} in row {table.n_before + rows[0] + 1} of {table.shown}",
            remedy="fix or remove such rows",
        )
    if rows.size:
        raise TableError(
            f"{problem} in {rows.size} of {len(wrong)} rows of {table.shown}, first in row "
            f"{rows[0] + 1}",
            remedy="fix or remove these rows",
        )
