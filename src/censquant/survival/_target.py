"""The target of every method: a time, and whether it is the time of an observed event."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import check_choice
from censquant.exceptions import NoEventsError
from censquant.survival._columns import (
    as_array,
    column_names,
    listed,
    quoted,
    read_events,
    read_times,
)

_MOST_CODES = 10  # a field of larger whole numbers may be times
_REMEDY = "pass Surv.from_arrays(event=..., time=...) or a (time, event) tuple"


# Kinds of targets that can be read: one time for each row, of its event or its censoring.
_READABLE = ("right",)


@dataclass(frozen=True, eq=False)
class Target:
    """Times and events of n rows, checked.

    Made by `read_target`; the constructor itself checks nothing.

    Parameters
    ----------
    time : ndarray of shape (n,), float64
        Time of the event, or of the end of follow-up. Finite, of any sign.
    event : ndarray of shape (n,), bool
        True where the event was observed, False where the row is censored.

    Examples
    --------
    >>> from censquant.survival import read_target
    >>> target = read_target(([5.0, 2.0, 9.0], [True, False, True]))
    >>> len(target), target.n_events
    (3, 2)
    >>> target.take([2, 0]).time
    array([9., 5.])
    """

    time: Floats
    event: NDArray[np.bool_]

    def __len__(self) -> int:
        return self.time.size

    @property
    def n_events(self) -> int:
        """Number of rows whose event was observed."""
        return int(np.count_nonzero(self.event))

    def take(self, index: ArrayLike | slice) -> "Target":
        """Rows at the given positions, as a new target.

        Parameters
        ----------
        index : array-like of int or bool, or slice
            Whatever selects rows of a numpy array.

        Returns
        -------
        target : Target
        """
        rows = index if isinstance(index, slice) else np.asarray(index)
        return Target(self.time[rows], self.event[rows])


def read_target(
    y: object, *, n_samples: int | None = None, accepts: Sequence[str] = ("right",)
) -> Target:
    """Target read from any usual form of ``y``.

    An event is True everywhere; codes such as 1 and 2 are refused rather than guessed, because
    a flipped indicator yields a plausible and wrong model. A plain vector of times means that
    every event was observed.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        A structured array with one boolean and one numeric field, in either order and of any
        names; a ``(time, event)`` tuple; a DataFrame or mapping with the columns ``event`` and
        ``time`` or ``duration``; or one-dimensional times, all of them observed.
    n_samples : int, optional
        Number of rows of ``X``, which ``y`` must match.
    accepts : sequence of str, default ("right",)
        Kinds of targets that the caller can use. A target of another kind, recognised by its
        columns (bounds of interval censoring, times of delayed entry), is refused and never
        read in part. Left censoring has the form of right censoring; the estimator's parameter
        ``censoring`` tells them apart.

    Returns
    -------
    target : Target
        The arrays may share memory with ``y``.

    Examples
    --------
    >>> from censquant.survival import read_target
    >>> read_target({"duration": [5, 2], "event": [1, 0]})
    Target(time=array([5., 2.]), event=array([ True, False]))
    >>> read_target([5.0, 2.0]).event
    array([ True,  True])
    """
    _check_accepts(accepts)
    if y is None:
        raise ValueError(
            "Censored regression requires y to be passed, but the target y is None: "
            "pass times and events."
        )
    if isinstance(y, tuple):
        target = _from_tuple(y)
    elif not isinstance(y, np.ndarray) and (isinstance(y, Mapping) or hasattr(y, "columns")):
        target = _from_table(y, accepts)
    else:
        target = _from_array(y, accepts)
    if n_samples is not None and len(target) != n_samples:
        raise ValueError(
            "y must have one row for each row of X, "
            f"got {len(target)} rows in y and {n_samples} in X."
        )
    return target


def read_columns(time: object, event: object, *, name: str = "time") -> Target:
    """Target of two separate columns, under the checks of `read_target`."""
    target = Target(read_times(time, name=name), read_events(event))
    if target.time.size != target.event.size:
        raise ValueError(
            "time and event must have the same length, "
            f"got {target.time.size} times and {target.event.size} events."
        )
    return target


def require_events(target: Target) -> None:
    """Raise `NoEventsError` if every row of the target is censored.

    Fitting needs an event; reading a target does not, so that predictions can be scored on rows
    that hold none.
    """
    if target.n_events == 0:
        n = len(target)
        raise NoEventsError(
            f"y has no event: {n} of {n} rows are censored, so no quantile can be fitted."
        )


def require_durations(target: Target) -> None:
    """Raise `ValueError` if a time of the target is negative, as no duration is.

    Reading a target does not require it: the logarithm of a time, or a measurement, may be
    negative, and many methods fit them.
    """
    n_negative = int(np.count_nonzero(target.time < 0))
    if n_negative:
        raise ValueError(
            f"y must hold durations, none of them negative, got {n_negative} of {len(target)} "
            f"times below 0, the smallest {target.time.min():g}: check whether start and end are "
            "swapped, or pass allow_negative=True to the estimator if these values are meant."
        )


def _from_tuple(y: tuple[Any, ...]) -> Target:
    """Target of a ``(time, event)`` pair."""
    if len(y) != 2:
        raise ValueError(
            f"y must be a (time, event) tuple of two arrays, got a tuple of {len(y)} items: "
            "delayed entry and interval censoring are not supported."
        )
    return read_columns(*y, name="y")


def _from_table(y: Any, accepts: Sequence[str]) -> Target:
    """Target of a DataFrame or mapping with known column names."""
    there = column_names(y)
    _refuse_other_kinds(there, accepts)
    times = [name for name in ("time", "duration") if name in there]
    if len(times) == 2:
        raise ValueError(
            "y must have one of the columns 'time' and 'duration', got both: drop one of them."
        )
    if not times or "event" not in there:
        raise ValueError(
            "y must have the columns 'event' and 'time' (or 'duration'), got "
            f"{quoted(there)}: rename them or pass Surv.from_dataframe(event, time, data)."
        )
    return read_columns(y[times[0]], y["event"], name="y")


def _from_array(y: object, accepts: Sequence[str]) -> Target:
    """Target of a structured array, or of times that are all observed."""
    array = as_array(y, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        _warn_column()
        array = array.ravel()
    if array.ndim == 2 and array.shape[1] == 2:
        raise ValueError(
            "y must not be a two-column array, since the order of its columns cannot be known, "
            f"got shape {array.shape}: {_REMEDY}."
        )
    if array.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {array.shape}: {_REMEDY}.")
    if array.dtype.names is not None:
        return _from_structured(array, accepts)
    times = read_times(array, name="y")
    return Target(times, np.ones(times.size, dtype=np.bool_))


def _from_structured(y: NDArray[Any], accepts: Sequence[str]) -> Target:
    """Target of the boolean and the numeric field of a structured array."""
    kinds = {name: y[name].dtype.kind for name in y.dtype.names or ()}
    events = [name for name, kind in kinds.items() if kind == "b"]
    times = [name for name, kind in kinds.items() if kind in "iufc"]
    if len(kinds) != 2 or len(events) != 1 or len(times) != 1:
        _refuse_other_kinds(kinds, accepts)
        for name in _code_fields(y, times):
            read_events(y[name], name=name)  # tells competing risks from another form
        fields = listed(f"{name!r} ({y[name].dtype})" for name in kinds)
        raise ValueError(
            "y must be a structured array with exactly one boolean and one numeric field, "
            f"got {fields or 'no field'}: {_REMEDY}."
        )
    return read_columns(y[times[0]], y[events[0]], name="y")


def _code_fields(y: NDArray[Any], times: list[str]) -> list[str]:
    """Return the field that must be the codes of events: the only one of whole, small numbers."""
    whole = [name for name in times if y[name].dtype.kind in "iu"]
    codes = [name for name in whole if ((y[name] >= 0) & (y[name] < _MOST_CODES)).all()]
    return codes if len(codes) == 1 else []


def _warn_column() -> None:
    """Warn as scikit-learn does where a column stands for a vector; its checks demand it."""
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. "
        "Please change the shape of y to (n_samples, ), for example using ravel().",
        DataConversionWarning,
        stacklevel=4,
    )


@dataclass(frozen=True)
class _Kind:
    """A kind that columns of certain names announce, and what to do where it is not accepted."""

    words: str
    columns: frozenset[str]
    remedy: str


_ANNOUNCED = {
    "interval": _Kind(
        "interval censoring",
        frozenset(
            f"{prefix}{bound}"
            for prefix in ("", "time_", "t_")
            for bound in ("lower", "upper", "left", "right", "lower_bound", "upper_bound")
        ),
        "give one time and one event for each row",
    ),
    "delayed_entry": _Kind(
        "delayed entry",
        frozenset(
            {"entry", "entry_time", "time_entry", "start", "start_time", "time_start", "tstart"}
            | {"truncation", "truncation_time", "left_truncation"}
        ),
        "drop the column if everybody was followed from time 0",
    ),
}


def _check_accepts(accepts: Sequence[str]) -> None:
    """Refuse kinds of targets that cannot be read."""
    for kind in accepts:
        check_choice("Every entry of accepts", kind, _READABLE)


def _refuse_other_kinds(names: Iterable[Any], accepts: Sequence[str]) -> None:
    """Raise if columns announce a kind of target that the caller cannot use.

    Reading only the time and the event of such a target would give a plausible and wrong model.
    """
    there = list(names)
    for kind, announced in _ANNOUNCED.items():
        found = [name for name in there if str(name).lower() in announced.columns]
        if found and kind not in accepts:
            raise ValueError(
                f"y must be a target of kind {' or '.join(map(repr, accepts))}, got one with "
                f"{announced.words} (by its columns {quoted(found)}): {announced.remedy}."
            )


class Surv:
    """Constructors of a structured ``y`` that scikit-survival's functions also read.

    The event comes first and the time second, as they expect; scikit-survival itself is not
    needed.

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
    ) -> NDArray[np.void]:
        """Structured array of two columns.

        Parameters
        ----------
        event : array-like of shape (n,)
            Booleans, or numbers that are all 0 or 1; True where the event was observed.
        time : array-like of shape (n,)
            Finite times.
        name_event, name_time : str, optional
            Names of the fields; ``"event"`` and ``"time"`` by default.

        Returns
        -------
        y : structured array of shape (n,)
            A boolean and a float64 field.

        Examples
        --------
        >>> from censquant.survival import Surv
        >>> Surv.from_arrays([1, 0], [5, 2], name_event="died", name_time="days")["died"]
        array([ True, False])
        """
        names = name_event or "event", name_time or "time"
        if names[0] == names[1]:
            raise ValueError(f"name_event and name_time must differ, got {names[0]!r} for both.")
        target = read_columns(time, event)
        y = np.empty(len(target), dtype=[(names[0], np.bool_), (names[1], np.float64)])
        y[names[0]] = target.event
        y[names[1]] = target.time
        return y

    @staticmethod
    def from_dataframe(event: str, time: str, data: Any) -> NDArray[np.void]:
        """Structured array of two columns of a table, which give the fields their names.

        Parameters
        ----------
        event, time : str
            Names of the columns.
        data : DataFrame or mapping of n rows
            Any table that gives a column by ``data[name]``.

        Returns
        -------
        y : structured array of shape (n,)
            A boolean and a float64 field.

        Examples
        --------
        >>> from censquant.survival import Surv
        >>> Surv.from_dataframe("died", "days", {"days": [5, 2], "died": [1, 0]})["days"]
        array([5., 2.])
        """
        there = column_names(data)
        for role, column in (("event", event), ("time", time)):
            if column not in there:
                raise ValueError(
                    f"{role} must name a column of data, got {column!r} where the columns are "
                    f"{quoted(there)}."
                )
        return Surv.from_arrays(data[event], data[time], name_event=str(event), name_time=str(time))
