"""Surv: constructors of structured targets."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant.survival._columns import column_names, quoted, read_events, read_kinds
from censquant.survival._general_rows import read_interval_rows, read_late_rows
from censquant.survival._read_target import ROLES
from censquant.survival._target import GeneralTarget, Target, read_columns


class Surv:
    """Constructors of a structured ``y``, for every kind of row.

    ============================================  ==================================================
    what is known of a row                        spelling
    ============================================  ==================================================
    a time, of the event or the end of follow-up  ``from_arrays(event, time)``
    it was under observation since a later time   ``from_arrays(event, time, entry=entry)``
    the event lies between two times              ``from_intervals(lower, upper)``
    events are of several kinds                   ``from_arrays(codes, time)``, codes 0, 1, ..., K
    ============================================  ==================================================

    Of the first, the event comes first and the time second: scikit-survival's functions read it.
    Which estimators take the others is said in their documentation; those that do not refuse them.

    Examples
    --------
    >>> from censquant.survival import Surv
    >>> Surv.from_arrays(event=[True, False], time=[5, 2])
    array([( True, 5.), (False, 2.)], dtype=[('event', '?'), ('time', '<f8')])
    """

    @staticmethod
    def from_arrays(
        event: ArrayLike,
        time: ArrayLike,
        name_event: str | None = None,
        name_time: str | None = None,
        *,
        entry: ArrayLike | None = None,
    ) -> NDArray[np.void]:
        """Structured array of events and times, and perhaps of entries.

        Parameters
        ----------
        event : array-like of shape (n,)
            Booleans, or numbers that are all 0 or 1; True where the event was observed. Whole
            numbers 0, 1, ..., K are kinds of events that exclude each other, 0 for none.
        time : array-like of shape (n,)
            Finite times.
        name_event, name_time : str, optional
            Names of the fields; ``"event"`` and ``"time"`` by default.
        entry : array-like of shape (n,), optional
            Delayed entry, or left truncation: the time since which a row was under observation, on
            the same clock as ``time``; 0 where that is the start. A row is among the data because
            its event came later than that. lifelines' ``entry_col``, R's first time of
            ``Surv(start, stop, event)``.

        Returns
        -------
        y : structured array of shape (n,)
            A boolean and a float64 field, of codes above 1 an int64 one; with ``entry`` a third
            field, ``"entry"``.

        Examples
        --------
        >>> from censquant.survival import Surv
        >>> Surv.from_arrays([1, 0], [5, 2], name_event="died", name_time="days")["died"]
        array([ True, False])

        Two residents of a home, of which one moved in at 71 years and died at 80:

        >>> Surv.from_arrays([1, 0], [80, 77], entry=[71, 68])["entry"]
        array([71., 68.])
        """
        names = name_event or "event", name_time or "time"
        if names[0] == names[1]:
            raise ValueError(f"name_event and name_time must differ, got {names[0]!r} for both.")
        if entry is not None:
            _refuse_names(names)
        columns = _read_arrays(event, time, entry)
        labels = (*names, "entry")[: len(columns)]
        return _structured(dict(zip(labels, columns, strict=True)))

    @staticmethod
    def from_intervals(
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        entry: ArrayLike | None = None,
        event: ArrayLike | None = None,
    ) -> NDArray[np.void]:
        """Structured array of events that lie between two times.

        Each event lies after ``lower``, the last time at which there was none, and not after
        ``upper``, the first at which there was one, as between two inspections. Equal bounds are
        an event at that time.

        Parameters
        ----------
        lower : array-like of shape (n,)
            0, -inf or missing where nothing is known before ``upper`` (left censoring).
        upper : array-like of shape (n,)
            inf or missing where no event was seen (right censoring).
        entry : array-like of shape (n,), optional
            As in `from_arrays`. An interval that begins before its entry begins there.
        event : array-like of shape (n,), optional
            Kinds of events 0, 1, ..., K; 0 where ``upper`` is open and nowhere else.

        Returns
        -------
        y : structured array of shape (n,)
            Fields ``"lower"``, ``"upper"`` and, where given, ``"entry"`` and ``"event"``; the
            bounds are infinite where they are open.

        Notes
        -----
        The bounds are those of lifelines' ``fit_interval_censoring``, of XGBoost's
        ``label_lower_bound`` and ``label_upper_bound``, and of R's
        ``Surv(lower, upper, type="interval2")``.

        Examples
        --------
        Found between the inspections at 2 and 5 years, before the first one, and not yet at 7:

        >>> from censquant.survival import Surv
        >>> Surv.from_intervals([2, 0, 7], [5, 1, float("inf")])["upper"]
        array([ 5.,  1., inf])
        """
        target = GeneralTarget.of(read_interval_rows(lower, upper, event, entry))
        fields: dict[str, NDArray[Any]] = {"lower": target.lower, "upper": target.upper}
        if entry is not None:
            fields["entry"] = np.maximum(target.entry, 0.0)
        if event is not None:
            fields["event"] = _as_codes(target.kind)
        return _structured(fields)

    @staticmethod
    def from_dataframe(
        event: str | None = None,
        time: str | None = None,
        data: Any = None,
        *,
        lower: str | None = None,
        upper: str | None = None,
        entry: str | None = None,
    ) -> NDArray[np.void]:
        """Structured array of columns of a table, of which event and time give fields their names.

        Parameters
        ----------
        event, time : str
            Names of the columns; with ``lower`` and ``upper`` there is no time, and an event only
            if there are several kinds.
        data : DataFrame or mapping of n rows
            Any table that gives a column by ``data[name]``.
        lower, upper : str, optional
            Names of the columns of bounds, as in `from_intervals`.
        entry : str, optional
            Name of the column of entries, as in `from_arrays`.

        Returns
        -------
        y : structured array of shape (n,)
            As of `from_arrays` and `from_intervals`.

        Examples
        --------
        >>> from censquant.survival import Surv
        >>> Surv.from_dataframe("died", "days", {"days": [5, 2], "died": [1, 0]})["days"]
        array([5., 2.])
        >>> table = {"clear": [2, 7], "found": [5, None]}
        >>> Surv.from_dataframe(data=table, lower="clear", upper="found")["upper"]
        array([ 5., inf])
        """
        if data is None:
            raise ValueError("data must be a table, got None: pass it as data=table.")
        there, given = column_names(data), {"event": event, "time": time, "entry": entry}
        given |= {"lower": lower, "upper": upper}
        for role, column in given.items():
            if column is not None and column not in there:
                raise ValueError(
                    f"{role} must name a column of data, got {column!r} where the columns are "
                    f"{quoted(there)}."
                )
        columns = {role: data[name] for role, name in given.items() if name is not None}
        by_bounds = "lower" in columns and "upper" in columns and "time" not in columns
        by_time = "event" in columns and "time" in columns and not {"lower", "upper"} & set(columns)
        if by_bounds:
            return Surv.from_intervals(**columns)
        if by_time:
            return Surv.from_arrays(**columns, name_event=str(event), name_time=str(time))
        raise ValueError(
            "from_dataframe must be given either event and time, or lower and upper, got "
            f"{quoted(columns)}."
        )


def _read_arrays(event: object, time: object, entry: object) -> tuple[NDArray[Any], ...]:
    """Return checked columns of events, times and, if they are given, entries."""
    kind = read_kinds(event)
    if kind.size and kind.max() == 2 and kind.min() > 0:
        read_events(event)  # 1 and 2 usually are another coding of one event
    if entry is None and (not kind.size or kind.max() <= 1):
        target: Target = read_columns(time, event)
        return target.event, target.time
    rows = GeneralTarget.of(read_late_rows(time, event, entry))
    columns = _as_codes(rows.kind), rows.time
    return columns if entry is None else (*columns, np.maximum(rows.entry, 0.0))


def _as_codes(kind: NDArray[np.int64]) -> NDArray[Any]:
    """Return kinds as booleans where there is one."""
    return kind if kind.max() > 1 else kind > 0


def _refuse_names(names: tuple[str, str]) -> None:
    """Refuse names of fields that would be read as something else beside an entry."""
    for argument, name in zip(("name_event", "name_time"), names, strict=True):
        if any(name.lower() in known for known in ROLES.values()):
            raise ValueError(
                f"{argument} must not be the name of a bound or an entry where entry is given, "
                f"got {name!r}: choose another name."
            )


def _structured(columns: dict[str, NDArray[Any]]) -> NDArray[np.void]:
    """Return columns as the fields of one array."""
    rows = np.empty(
        len(next(iter(columns.values()))), dtype=[(name, c.dtype) for name, c in columns.items()]
    )
    for name, column in columns.items():
        rows[name] = column
    return rows
