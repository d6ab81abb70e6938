"""Options about times, events and text as objects of the library, and as notes in a model file."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from censquant.io import TableError, TargetColumns, TextOptions
from censquant.survival import Target

if TYPE_CHECKING:
    from censquant.cli._study import Study

_FORM = 1  # of the notes


def text_options(
    separator: str | None,
    decimal: str | None,
    thousands: str | None,
    encoding: str | None,
    missing: Sequence[str] | None,
    notes: dict[str, Any] | None = None,
) -> TextOptions:
    """Return how text is read; a tab may be typed as a backslash and a t.

    What is not given is as in the table of the fit, which the notes of a model describe.
    """
    typed = {"\\t": "\t", "tab": "\t"}
    mark = None if separator is None else typed.get(separator, separator)
    before = (notes or {}).get("text") or {}
    words = missing or before.get("missing", ())
    if decimal is None and thousands is None:
        decimal, thousands = before.get("decimal"), before.get("thousands")
        if mark is not None and mark == decimal:
            decimal = thousands = None
    return TextOptions(mark, decimal, encoding, tuple(words), thousands)


def target_columns(
    time: str | None,
    event: str | None,
    event_value: Sequence[str] | None,
    start: str | None,
    end: str | None,
    until: str | None,
    unit: str | None,
    date_format: str | None,
) -> TargetColumns:
    """Return which columns have times and events."""
    default = "" if time is not None else "days"
    return TargetColumns(
        time, event, tuple(event_value or ()), start, end, until, unit or default, date_format
    )


def target_notes(study: "Study") -> dict[str, Any]:
    """Return what a model file says about the table behind the model."""
    return {
        "form": _FORM,
        "target": study.columns.to_dict(),
        "text": study.table.text_notes(),
        "rows": len(study.target),
        "digest": target_digest(study.target),
    }


def given_columns(notes: dict[str, Any], **given: Any) -> TargetColumns:
    """Return the columns of the fit, with those replaced that are given now."""
    changed = {name: value for name, value in given.items() if value}
    if "event_value" in changed:
        changed["event_value"] = tuple(changed["event_value"])
    if notes.get("form") == _FORM and not {"time", "start", "end"} & set(changed):
        return replace(TargetColumns.from_dict(notes["target"]), **changed)
    if not changed:
        raise TableError(
            "The model does not say which columns have times and events, since it was not written "
            "by this command: name them by --time and --event"
        )
    return TargetColumns(**changed)


def target_digest(target: Target) -> str:
    """Return a hash of times and events, whatever their order."""
    order = np.lexsort((target.event, target.time))
    digest = hashlib.blake2b(target.time[order].astype("<f8").tobytes(), digest_size=16)
    digest.update(target.event[order].astype("u1").tobytes())
    return digest.hexdigest()
