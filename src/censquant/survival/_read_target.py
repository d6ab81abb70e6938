"""The one reader of targets, in whatever form a user has them."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._validation import check_choice
from censquant.survival._columns import (
    as_array,
    column_names,
    listed,
    quoted,
    read_events,
    read_times,
)
from censquant.survival._general_rows import read_interval_rows, read_late_rows
from censquant.survival._kinds_of_rows import READABLE, refusal
from censquant.survival._target import GeneralTarget, Target, read_columns

_MOST_CODES = 10  # a field of larger whole numbers may be times
_REMEDY = "pass Surv.from_arrays(event=..., time=...) or a (time, event) tuple"
_PREFIXES = ("", "time_", "t_", "label_")

ROLES = {
    "lower": frozenset(
        f"{prefix}{bound}" for prefix in _PREFIXES for bound in ("lower", "left", "lower_bound")
    ),
    "upper": frozenset(
        f"{prefix}{bound}" for prefix in _PREFIXES for bound in ("upper", "right", "upper_bound")
    ),
    "entry": frozenset(
        {"entry", "entry_time", "time_entry", "start", "start_time", "time_start", "tstart"}
        | {"truncation", "truncation_time", "left_truncation"}
    ),
}
"""Names of columns, in small letters, by what they say of a row."""


def read_target(
    y: object, *, n_samples: int | None = None, accepts: Sequence[str] = ("right",)
) -> Target:
    """Target read from any usual form of ``y``.

    An event is True everywhere; codes such as 1 and 2 are refused rather than guessed, because
    a flipped indicator yields a plausible and wrong model. A plain vector of times means that
    every event was observed. Rows may also have two bounds instead of a time, and a time of entry:
    see `Surv`.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        A structured array with one boolean and one numeric field, in either order and of any
        names; a ``(time, event)`` tuple; a DataFrame or mapping with the columns ``event`` and
        ``time`` or ``duration``; or one-dimensional times, all of them observed. A table or a
        structured array may also have ``entry`` (or ``start``, ``tstart``), and instead of a time
        ``lower`` and ``upper``.
    n_samples : int, optional
        Number of rows of ``X``, which ``y`` must match.
    accepts : sequence of str, default ("right",)
        Kinds of rows that the caller can use: ``"right"``, ``"interval"``, ``"delayed_entry"`` and
        ``"competing"``. A target with rows of another kind is refused and never read in part. Left
        censoring has the form of right censoring; the estimator's parameter ``censoring`` tells
        them apart.

    Returns
    -------
    target : Target
        The arrays may share memory with ``y``. Where rows are not plain, it is one with the
        further columns ``lower``, ``entry`` and ``kind``.

    Examples
    --------
    >>> from censquant.survival import read_target
    >>> read_target({"duration": [5, 2], "event": [1, 0]})
    Target(time=array([5., 2.]), event=array([ True, False]))
    >>> read_target([5.0, 2.0]).event
    array([ True,  True])
    """
    for kind in accepts:
        check_choice("Every entry of accepts", kind, READABLE)
    if y is None:
        raise ValueError(
            "Censored regression requires y to be passed, but the target y is None: "
            "pass times and events."
        )
    kinds = "competing" in accepts
    if isinstance(y, Target):
        target = y
    elif isinstance(y, tuple):
        target = _from_tuple(y, kinds)
    elif not isinstance(y, np.ndarray) and (isinstance(y, Mapping) or hasattr(y, "columns")):
        target = _from_table(y, kinds)
    else:
        target = _from_array(y, kinds)
    if isinstance(target, GeneralTarget):
        for kind, count in target.needs.items():
            if kind not in accepts:
                raise ValueError(refusal(accepts, kind, count, len(target)))
    if n_samples is not None and len(target) != n_samples:
        raise ValueError(
            "y must have one row for each row of X, "
            f"got {len(target)} rows in y and {n_samples} in X."
        )
    return target


def _one_time(time: object, event: object, kinds: bool) -> Target:
    """Target of one time for each row, and of kinds of events if these can be used."""
    if kinds:
        return read_late_rows(time, event, None, name="y")
    return read_columns(time, event, name="y")


def _from_tuple(y: tuple[Any, ...], kinds: bool) -> Target:
    """Target of a ``(time, event)`` pair."""
    if len(y) != 2:
        raise ValueError(
            f"y must be a (time, event) tuple of two arrays, got a tuple of {len(y)} items: for "
            "delayed entry pass Surv.from_arrays(event, time, entry=...), for intervals "
            "Surv.from_intervals(lower, upper)."
        )
    return _one_time(*y, kinds)


def _from_table(y: Any, kinds: bool) -> Target:
    """Target of a DataFrame or mapping with known column names."""
    there = column_names(y)
    times = [name for name in ("time", "duration") if name in there]
    if len(times) == 2:
        raise ValueError(
            "y must have one of the columns 'time' and 'duration', got both: drop one of them."
        )
    role = _roles(there)
    has_bounds = "lower" in role or "upper" in role
    if has_bounds:
        event = y["event"] if "event" in there else None
        return _from_roles(y, role, times, event)
    if not times or "event" not in there:
        raise ValueError(
            "y must have the columns 'event' and 'time' (or 'duration'), got "
            f"{quoted(there)}: rename them or pass Surv.from_dataframe(event, time, data)."
        )
    if "entry" in role:
        return read_late_rows(y[times[0]], y["event"], y[role["entry"]], name="y", kinds=kinds)
    return _one_time(y[times[0]], y["event"], kinds)


def _from_array(y: object, kinds: bool) -> Target:
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
        return _from_structured(array, kinds)
    times = read_times(array, name="y")
    return Target(times, np.ones(times.size, dtype=np.bool_))


def _from_structured(y: NDArray[Any], kinds: bool) -> Target:
    """Target of the fields of a structured array, by their types and, if there are more, names."""
    types = {name: y[name].dtype.kind for name in y.dtype.names or ()}
    has_event = list(types.values()).count("b") == 1
    # A boolean and a number are an event and a time whatever their names.
    role = {} if has_event and len(types) == 2 else _roles(types)
    others = [name for name in types if name not in role.values()]
    event = event_field(y, others)
    times = [name for name in others if name != event and types[name] in "iufc"]
    if "lower" in role or "upper" in role:
        if len(times) + (event is not None) == len(others):
            return _from_roles(y, role, times, None if event is None else y[event])
    elif event is not None and len(others) == 2 and len(times) == 1:
        if role:
            entry = y[role["entry"]]
            return read_late_rows(y[times[0]], y[event], entry, name="y", kinds=kinds)
        if has_event or kinds:
            return _one_time(y[times[0]], y[event], kinds)
        read_events(y[event], name=event)  # tells competing risks from another form
    fields = listed(f"{name!r} ({y[name].dtype})" for name in types)
    raise ValueError(
        "y must be a structured array with exactly one boolean and one numeric field, "
        f"got {fields or 'no field'}: {_REMEDY}."
    )


def event_field(y: NDArray[Any], names: Sequence[str]) -> str | None:
    """Return the field of events: the boolean one, or the only one of whole, small numbers."""
    booleans = [name for name in names if y[name].dtype.kind == "b"]
    if booleans:
        return booleans[0] if len(booleans) == 1 else None
    whole = [name for name in names if y[name].dtype.kind in "iu"]
    codes = [name for name in whole if ((y[name] >= 0) & (y[name] < _MOST_CODES)).all()]
    return codes[0] if len(codes) == 1 else None


def _from_roles(y: Any, role: Mapping[str, Any], times: Sequence[Any], event: object) -> Target:
    """Target of rows with two bounds."""
    if times:
        raise ValueError(
            "y must have either a time or two bounds in each row, got the columns "
            f"{quoted([*times, *role.values()])}: drop one of both."
        )
    missing = [bound for bound in ("lower", "upper") if bound not in role]
    if missing:
        raise ValueError(
            f"y must have both bounds of each row, got {quoted(role.values())}: add a column "
            f"{missing[0]!r}, with missing values where it is open."
        )
    entry = y[role["entry"]] if "entry" in role else None
    return read_interval_rows(y[role["lower"]], y[role["upper"]], event, entry)


def _roles(names: Iterable[Any]) -> dict[str, Any]:
    """Return the columns of bounds and of entries by what their names say."""
    there, found = list(names), {}
    for role, known in ROLES.items():
        columns = [name for name in there if str(name).lower() in known]
        if len(columns) > 1:
            raise ValueError(
                f"y must have one column of {'entries' if role == 'entry' else f'{role} bounds'}, "
                f"got {quoted(columns)}: drop or rename the others."
            )
        if columns:
            found[role] = columns[0]
    return found


def _warn_column() -> None:
    """Warn as scikit-learn does where a column stands for a vector; its checks demand it."""
    from sklearn.exceptions import DataConversionWarning

    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. "
        "Please change the shape of y to (n_samples, ), for example using ravel().",
        DataConversionWarning,
        stacklevel=4,
    )
