"""Events of several kinds: codes or names of causes, read into the numbers 0 to K."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant.survival._columns import (
    as_array,
    column_names,
    is_missing,
    listed,
    quoted,
    read_codes,
    read_kinds,
)
from censquant.survival._read_target import event_field, read_target
from censquant.survival._target import GeneralTarget, Target

NO_EVENT = "censored"
"""What rows without an event are called, in any case, where kinds have names."""

# A row without an event may be called so elsewhere; as a kind of event these would be a mistake.
_LIKE_NO_EVENT = frozenset(
    {"0", "alive", "event-free", "event free", "false", "lost", "na", "nan", "no", "no event"}
    | {"none", "censoring", "right-censored", "right censored"}
)


@dataclass(frozen=True, eq=False)
class Causes:
    """Rows with events of the kinds 1 to K; of other rows the end of follow-up is known."""

    target: GeneralTarget
    kinds: NDArray[Any]
    """What the kinds are called: the numbers themselves, or names."""

    def __len__(self) -> int:
        return len(self.target)

    @property
    def code(self) -> NDArray[np.int64]:
        """0 where no event was seen, else the number of its kind."""
        return self.target.kind

    @property
    def of_any_kind(self) -> Target:
        """The rows with events of any kind as events."""
        rows = replace(self.target, kind=self.target.event.astype(np.int64))
        return rows.plain or rows

    def take(self, rows: NDArray[Any]) -> "Causes":
        """Return some of the rows."""
        return Causes(self.target.take(rows), self.kinds)


def read_causes(
    y: object,
    kinds: ArrayLike | None = None,
    *,
    n_samples: int | None = None,
    accepts: Sequence[str] = ("right", "competing"),
) -> Causes:
    """Read a target whose events are of several kinds.

    ``kinds`` are the names or numbers of all kinds, in order, of which ``y`` may lack some. Without
    them whole numbers must have no gap, and names are in the order of a categorical column or
    sorted.
    """
    if y is None:
        read_target(y)  # which refuses it
    if isinstance(y, Causes):
        return y
    event, rebuilt = _split(y)
    code, labels = _coded(event, None if kinds is None else np.asarray(kinds))
    target = read_target(rebuilt(code > 0), n_samples=n_samples, accepts=accepts)
    return Causes(replace(GeneralTarget.of(target), kind=code), labels)


def read_known_causes(y: object, model: Any, *, n_samples: int | None = None) -> Causes | None:
    """Read a target by the kinds that a fitted model knows.

    None where the model knows none, or where events are true or false: of any kind.
    """
    if not hasattr(model, "predict_cumulative_incidence") or not hasattr(model, "kinds_"):
        return None
    if isinstance(y, Causes):
        return y
    if y is None or isinstance(y, Target) or as_array(_split(y)[0], "event").dtype.kind == "b":
        return None
    return read_causes(y, model.kinds_, n_samples=n_samples)


def _split(y: Any) -> tuple[Any, Callable[[NDArray[np.bool_]], Any]]:
    """Return the column of events, and what returns the target with another in its place."""
    if isinstance(y, Target):
        return GeneralTarget.of(y).kind, lambda event: y
    if isinstance(y, tuple) and len(y) == 2:
        return y[1], lambda event: (y[0], event)
    if not isinstance(y, np.ndarray) and (isinstance(y, Mapping) or hasattr(y, "columns")):
        there = column_names(y)
        if "event" in there:
            return y["event"], lambda event: {**{n: y[n] for n in there}, "event": event}
    names = getattr(getattr(y, "dtype", None), "names", None)
    found = None if names is None else _field_of_kinds(y)
    if found is not None:
        return y[found], lambda event: _with_event(y, found, event)
    raise ValueError(
        "y must say for each row when and of which kind its event was, as a (time, event) tuple, "
        "the columns 'time' and 'event' of a frame or Surv.from_arrays(event=..., time=...), got "
        f"{type(y).__name__}."
    )


def _field_of_kinds(y: NDArray[Any]) -> str | None:
    """Return the field of a structured array that holds kinds of events."""
    names = list(y.dtype.names or ())
    if "event" in names:
        return "event"
    texts = [name for name in names if y[name].dtype.kind in "OU"]
    return texts[0] if len(texts) == 1 else event_field(y, names)


def _with_event(y: NDArray[Any], name: str, event: NDArray[np.bool_]) -> NDArray[Any]:
    """Return a structured array with a boolean field in place of another."""
    names = list(y.dtype.names or ())
    types = [(each, np.bool_ if each == name else y[each].dtype) for each in names]
    changed = np.empty(len(y), types)
    for each in names:
        changed[each] = event if each == name else y[each]
    return changed


def _coded(event: Any, kinds: NDArray[Any] | None) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the number of the kind of each event, and what the kinds are called."""
    declared = getattr(getattr(event, "dtype", None), "categories", None)
    # numpy would make text of missing values beside names.
    column = as_array(
        np.array(event, dtype=object) if isinstance(event, list | tuple) else event, "event"
    )
    if column.ndim != 1:
        raise ValueError(f"event must be one-dimensional, got shape {column.shape}.")
    if column.dtype.kind in "U" or any(isinstance(value, str) for value in column):
        return _coded_names(column, kinds, declared)
    if kinds is None:
        code = read_kinds(column)
        return code, np.arange(1, code.max(initial=0) + 1)
    if kinds.dtype.kind not in "iu":
        raise ValueError(
            f"event must hold the names {quoted(kinds.tolist())} of the kinds, got numbers."
        )
    if kinds.size > 1 and all(isinstance(value, bool) for value in column.tolist()):
        raise ValueError(
            "event must hold the kind of each event, 0 or one of "
            f"{listed(map(str, kinds.tolist()))}, got True and False, which do not tell kinds "
            "apart."
        )
    known = np.concatenate(([0], kinds))
    values = read_codes(column, name="event")
    unknown = np.setdiff1d(values, known)
    if unknown.size:
        raise ValueError(
            f"event must be 0 or one of the kinds {listed(map(str, kinds.tolist()))}, got "
            f"{listed(f'{code:g}' for code in unknown)}."
        )
    order = np.argsort(known, kind="stable")
    return order[np.searchsorted(known, values, sorter=order)].astype(np.int64), kinds


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
