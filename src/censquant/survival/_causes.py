"""Events of several kinds: codes or names of causes, read into the numbers 0 to K."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.survival._columns import as_array, column_names, is_missing, listed, quoted
from censquant.survival._target import Target, read_target

NO_EVENT = "censored"
"""What rows without an event are called, in any case, where kinds have names."""

# A row without an event may be called so elsewhere; as a kind of event these would be a mistake.
_LIKE_NO_EVENT = frozenset(
    {"0", "alive", "event-free", "event free", "false", "lost", "na", "nan", "no", "no event"}
    | {"none", "censoring", "right-censored", "right censored"}
)
_EVENT_FIELDS = ("event", "status", "kind", "cause")
_MOST_CODES = 100  # larger whole numbers are times


@dataclass(frozen=True, eq=False)
class Causes:
    """Rows with events of the kinds 1 to K; of other rows the end of follow-up is known."""

    target: Target
    code: NDArray[np.int64]
    """0 where no event was seen, else the number of its kind."""
    kinds: NDArray[Any]
    """What the kinds are called: the numbers themselves, or names."""

    def __len__(self) -> int:
        return len(self.target)

    def of_kind(self, kind: int) -> Target:
        """Return the rows with one kind of event alone: others end the follow-up of their rows."""
        return Target(self.target.time, self.code == kind)


def read_causes(
    y: object, kinds: ArrayLike | None = None, *, n_samples: int | None = None
) -> Causes:
    """Read a target whose events are of several kinds.

    ``kinds`` are the names or numbers of all kinds, in order, of which ``y`` may lack some. Without
    them whole numbers must have no gap, and names are in the order of a categorical column or
    sorted.
    """
    if y is None:
        read_target(y)  # which refuses it
    event, rebuilt = _split(y)
    code, labels = _coded(event, None if kinds is None else np.asarray(kinds))
    target = read_target(rebuilt(code > 0), n_samples=n_samples)
    if len(code) != len(target):
        raise ValueError(
            f"time and event must have the same length, got {len(target)} times and {len(code)} "
            "events."
        )
    return Causes(target, code, labels)


def _split(y: Any) -> tuple[Any, Any]:
    """Return the column of events, and what puts another in its place."""
    if isinstance(y, tuple) and len(y) == 2:
        return y[1], lambda event: (y[0], event)
    if not isinstance(y, np.ndarray) and (isinstance(y, Mapping) or hasattr(y, "columns")):
        there = column_names(y)
        if "event" in there:
            return y["event"], lambda event: {**{n: y[n] for n in there}, "event": event}
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names is not None and len(names) >= 2:
        found = _event_field(y)
        if found is not None:
            others = [name for name in names if name != found]
            if len(others) == 1:
                return y[found], lambda event: (y[others[0]], event)
            return y[found], lambda event: {**{n: y[n] for n in others}, "event": event}
    raise ValueError(
        "y must say for each row when and of which kind its event was, as a (time, event) tuple, "
        "the columns 'time' and 'event' of a frame or Surv.from_arrays(event=..., time=...), got "
        f"{type(y).__name__}."
    )


def _event_field(y: NDArray[Any]) -> str | None:
    """Return the field of a structured array that holds kinds of events."""
    names = y.dtype.names or ()
    named = [name for name in names if name.lower() in _EVENT_FIELDS]
    if len(named) == 1:
        return named[0]
    other = [name for name in names if y[name].dtype.kind in "bOU"]
    codes = other or [
        name
        for name in names
        if y[name].dtype.kind in "iu" and ((y[name] >= 0) & (y[name] < _MOST_CODES)).all()
    ]
    return codes[0] if len(codes) == 1 else None


def _coded(event: Any, kinds: NDArray[Any] | None) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the number of the kind of each event, and what the kinds are called."""
    declared = getattr(getattr(event, "dtype", None), "categories", None)
    # numpy would make text of missing values beside names.
    column = as_array(
        np.array(event, dtype=object) if isinstance(event, list | tuple) else event, "event"
    )
    if column.ndim != 1:
        raise ValueError(f"event must be one-dimensional, got shape {column.shape}.")
    if column.dtype.kind == "O" and not any(isinstance(value, str) for value in column):
        column = _numbers(column)
    if column.dtype.kind in "biuf":
        return _coded_numbers(column, kinds)
    if column.dtype.kind not in "OU":
        raise TypeError(
            f"event must hold whole numbers or names of kinds, got dtype {column.dtype}."
        )
    return _coded_names(column, kinds, declared)


def _numbers(column: NDArray[Any]) -> NDArray[Any]:
    """Return objects that are no text as numbers, with NaN where one is missing."""
    try:
        return np.array([np.nan if is_missing(v) else float(v) for v in column], np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            "event must hold whole numbers or names of kinds, got other objects."
        ) from None


def _coded_numbers(
    column: NDArray[Any], kinds: NDArray[Any] | None
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    values = column.astype(np.float64)
    missing = np.flatnonzero(np.isnan(values))
    if missing.size:
        raise ValueError(
            f"event contains missing values: {missing.size} of {values.size} are missing, the "
            f"first in row {missing[0]}; write 0 where no event was seen, or drop those rows."
        )
    found = np.unique(values)
    text = listed(f"{code:g}" for code in found)
    whole = (found == np.round(found)) & (found >= 0) & (found < _MOST_CODES)
    if not whole.all():
        raise ValueError(
            f"event must be whole numbers 0, 1, ..., K, got the values {text}: 0 where no event "
            "was seen, else the number of its kind."
        )
    code = values.astype(np.int64)
    if kinds is None:
        n_kinds = int(found[-1]) if found.size else 0
        gaps = sorted(set(range(1, n_kinds + 1)) - set(found.astype(int).tolist()))
        if gaps:
            raise ValueError(
                f"event must number its kinds from 1 on without a gap, got the values {text} and "
                f"none of {listed(map(str, gaps))}: renumber the kinds, or leave out what is no "
                "event."
            )
        return code, np.arange(1, n_kinds + 1)
    if kinds.dtype.kind not in "iu":
        raise ValueError(
            f"event must hold the names {quoted(kinds.tolist())} of the kinds, got numbers."
        )
    known = np.concatenate(([0], kinds))
    unknown = np.setdiff1d(code, known)
    if unknown.size:
        raise ValueError(
            f"event must be 0 or one of the kinds {listed(map(str, kinds.tolist()))}, got "
            f"{listed(map(str, unknown.tolist()))}."
        )
    order = np.argsort(known, kind="stable")
    return order[np.searchsorted(known, code, sorter=order)].astype(np.int64), kinds


def _coded_names(
    column: NDArray[Any], kinds: NDArray[Any] | None, declared: Any
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    texts = [None if is_missing(value) else str(value).strip() for value in column]
    texts = [None if text is None or text.lower() in ("", NO_EVENT) else text for text in texts]
    found = sorted({text for text in texts if text is not None})
    if kinds is None:
        names = found
        if declared is not None:  # a category that does not occur is no kind
            names = [str(name).strip() for name in declared if str(name).strip() in found]
        odd = [name for name in names if name.lower() in _LIKE_NO_EVENT]
        if odd:
            raise ValueError(
                f"event must have no name where no event was seen, or be {NO_EVENT!r} there, got "
                f"{quoted(odd)}, which would be a kind of event: replace it by {NO_EVENT!r}."
            )
        labels: NDArray[Any] = np.array(names, dtype=object)
    else:
        labels = kinds
        names = [str(name) for name in kinds.tolist()]
        unknown = [text for text in found if text not in names]
        if unknown:
            raise ValueError(
                f"event must be {NO_EVENT!r} or one of the kinds {quoted(names)}, got "
                f"{quoted(unknown)}."
            )
    place = {name: number for number, name in enumerate(names, start=1)}
    return np.array([0 if t is None else place[t] for t in texts], np.int64), labels
