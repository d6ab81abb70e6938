"""What kind of target the names of its columns announce."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from censquant._validation import check_choice
from censquant.survival._columns import quoted

READABLE = ("right",)
"""Kinds of targets that can be read: one time for each row, of its event or its censoring."""


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


def check_accepts(accepts: Sequence[str]) -> None:
    """Refuse kinds of targets that cannot be read."""
    for kind in accepts:
        check_choice("Every entry of accepts", kind, READABLE)


def refuse_other_kinds(names: Iterable[Any], accepts: Sequence[str]) -> None:
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
