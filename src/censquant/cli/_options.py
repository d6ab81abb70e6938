"""Options that several commands share, in groups, and lists as they are typed in a shell.

Whatever is slow to import is imported inside functions here and in the commands, so that
``--help`` is fast.
"""

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from censquant.io import TargetColumns, TextOptions

NOTES_FORM = 1
"""Version of what a model file notes about the table of the fit."""

_TABLE = "Times and events"
_COLUMNS = "Columns"
_TEXT = "Text files"
# Options that name the columns of times anew, not only what is changed about them.
_TIMES = {"time", "start", "end", "lower", "upper"}

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Table with a header: CSV, TSV, Parquet or Feather, gzipped or not; - for standard "
        "input.",
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="File that fit wrote.")]
Train = Annotated[
    str | None,
    typer.Option(
        metavar="DATA",
        help="Table that the model was fitted to, which says how rows are censored; by default "
        "DATA itself says it.",
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="Column of subgroups, such as sex, each of which has results of its own.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COLUMN",
        help="Column that names rows that belong together (visits of a patient): they are drawn "
        "together, so that intervals allow for what they share.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
Jobs = Annotated[int, typer.Option(help="Threads; -1 uses all cores.")]
Seed = Annotated[
    int,
    typer.Option(min=0, max=2**32 - 1, help="Of random numbers: the same seed, the same result."),
]


def _option(panel: str, text: str) -> Any:
    return typer.Option(help=text, rich_help_panel=panel)


@dataclass(frozen=True)
class TargetOptions:
    """The columns of times and events."""

    time: Annotated[str | None, _option(_TABLE, "Column of durations.")] = None
    event: Annotated[
        str | None,
        _option(
            _TABLE,
            "Column that says whether the event was observed (1) or the row is censored (0).",
        ),
    ] = None
    event_value: Annotated[
        list[str] | None,
        _option(
            _TABLE, "Value of that column that means the event, such as dead; may be repeated."
        ),
    ] = None
    start: Annotated[str | None, _option(_TABLE, "Column of first dates.")] = None
    end: Annotated[str | None, _option(_TABLE, "Column of last dates.")] = None
    until: Annotated[
        str | None,
        _option(
            _TABLE,
            "Date up to which rows without a last date were followed, such as 2024-06-30, or in "
            "the form of --date-format.",
        ),
    ] = None
    unit: Annotated[
        str | None,
        _option(
            _TABLE,
            "Unit of time: days, hours, weeks, months, years, minutes, seconds; for durations any "
            "word.",
        ),
    ] = None
    date_format: Annotated[str | None, _option(_TABLE, "Form of dates, such as %d.%m.%Y.")] = None
    lower: Annotated[
        str | None,
        _option(_TABLE, "Column of durations at which there was no event yet, as at a visit."),
    ] = None
    upper: Annotated[
        str | None,
        _option(_TABLE, "Column of durations by which there was one; missing where none was seen."),
    ] = None
    entry: Annotated[
        str | None,
        _option(
            _TABLE,
            "Column of durations, or with --start of dates, since when rows were under observation "
            "(delayed entry).",
        ),
    ] = None

    def make_columns(self) -> "TargetColumns":
        """Return the columns that a model is fitted to."""
        from censquant.io import TargetColumns

        values = {name: value for name, value in vars(self).items() if name != "event_value"}
        values["unit"] = self.unit or ("" if self.start is None and self.end is None else "days")
        return TargetColumns(event_value=tuple(self.event_value or ()), **values)

    def change_columns(self, notes: dict[str, Any]) -> "TargetColumns":
        """Return the columns of the fit, with those replaced that are given now."""
        from censquant.io import TableError, TargetColumns

        changed = {name: value for name, value in vars(self).items() if value}
        if "event_value" in changed:
            changed["event_value"] = tuple(changed["event_value"])
        if notes.get("form") == NOTES_FORM and not _TIMES & set(changed):
            return replace(TargetColumns.from_dict(notes["target"]), **changed)
        if not changed:
            raise TableError(
                "The model does not say which columns have times and events, since it was not "
                "written by this command: name them by --time and --event"
            )
        return TargetColumns(**changed)


@dataclass(frozen=True)
class FeatureOptions:
    """The columns to learn from, and the groups that are held out together."""

    features: Annotated[
        list[str] | None,
        _option(_COLUMNS, "Columns to learn from, with commas between; all others by default."),
    ] = None
    drop: Annotated[
        list[str] | None, _option(_COLUMNS, "Columns not to learn from, with commas.")
    ] = None
    categorical: Annotated[
        list[str] | None, _option(_COLUMNS, "Columns of numbers that are codes of categories.")
    ] = None
    groups: Annotated[
        str | None,
        _option(
            _COLUMNS,
            "Column that names rows that belong together (visits of a patient): they are held out "
            "together.",
        ),
    ] = None


@dataclass(frozen=True)
class TextFileOptions:
    """How text is read."""

    separator: Annotated[str | None, _option(_TEXT, "Character between columns.")] = None
    decimal: Annotated[str | None, _option(_TEXT, "Decimal mark: . (default) or ,")] = None
    thousands: Annotated[
        str | None, _option(_TEXT, "Mark between thousands, as . in 28.810; none by default.")
    ] = None
    encoding: Annotated[str | None, _option(_TEXT, "Such as cp1252; UTF-8 by default.")] = None
    missing: Annotated[
        list[str] | None,
        _option(
            _TEXT,
            "Text that stands for a missing value beside NA, null and the like; may be repeated.",
        ),
    ] = None

    def make_options(self, notes: dict[str, Any] | None = None) -> "TextOptions":
        """Return how text is read; a tab may be typed as a backslash and a t.

        What is not given is as in the table of the fit, which the notes of a model describe.
        """
        from censquant.io import TextOptions

        typed = {"\\t": "\t", "tab": "\t"}
        mark = None if self.separator is None else typed.get(self.separator, self.separator)
        before = (notes or {}).get("text") or {}
        words = self.missing or before.get("missing", ())
        decimal, thousands = self.decimal, self.thousands
        if decimal is None and thousands is None:
            decimal, thousands = before.get("decimal"), before.get("thousands")
            if mark is not None and mark == decimal:
                decimal = thousands = None
        return TextOptions(mark, decimal, self.encoding, tuple(words), thousands)


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Show typer the single options of a command that takes groups of them as objects."""
    groups: dict[str, Any] = {}
    options = list[inspect.Parameter]()
    keyword = inspect.Parameter.KEYWORD_ONLY
    for parameter in inspect.signature(command).parameters.values():
        if is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            options += [
                inspect.Parameter(field.name, keyword, default=field.default, annotation=field.type)
                for field in fields(parameter.annotation)
            ]
        else:
            options.append(parameter.replace(kind=keyword))

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    run.__annotations__ = {option.name: option.annotation for option in options}
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return run


def listed(text: str | None) -> list[str] | None:
    """Split a text at its commas."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def column_list(given: Sequence[str] | None, known: Collection[str] = ()) -> list[str]:
    """Return column names from options that may be repeated and have commas between names.

    A name with a comma in it is taken as it is where the table has such a column.
    """
    names = list[str]()
    for text in given or ():
        names.extend([text] if text in known else listed(text) or [])
    return list(dict.fromkeys(names))


def level_list(text: str | None) -> list[float] | None:
    """Return increasing levels inside (0, 1) from a text such as 0.1,0.5,0.9."""
    if text is None:
        return None
    try:
        levels = sorted({float(part) for part in listed(text) or []})
    except ValueError:
        raise ValueError(f"--quantiles must be levels such as 0.1,0.5,0.9, got {text!r}.") from None
    if not levels or not 0 < levels[0] <= levels[-1] < 1:
        raise ValueError(f"--quantiles must lie between 0 and 1, got {text!r}.")
    return levels


def number_list(option: str, text: str | None) -> list[float] | None:
    """Return numbers from a text such as 365,1825."""
    if text is None:
        return None
    try:
        return [float(part) for part in listed(text) or []]
    except ValueError:
        raise ValueError(f"{option} must be numbers such as 365,1825, got {text!r}.") from None


def row_list(option: str, text: str | None, n_rows: int) -> list[int] | None:
    """Return places, from 0, of rows that are typed from 1 as in 3,17,20-25; none for none."""
    if text is None:
        return None
    places = list[int]()
    for part in [] if text.strip() == "none" else listed(text) or []:
        ends = part.split("-") if "-" in part else [part, part]
        if len(ends) != 2 or not all(end.strip().isdigit() for end in ends):
            raise ValueError(f"{option} must be row numbers such as 3,17,20-25, got {text!r}.")
        first, last = map(int, ends)
        if not 1 <= first <= last <= n_rows:
            raise ValueError(f"{option} must lie between 1 and {n_rows}, got {part!r}.")
        places.extend(range(first - 1, last))
    return places


def check_file(option: str, path: Path, *, overwrite: bool) -> None:
    """Refuse a place where no file can be written, before any work is done."""
    from censquant._files import check_place

    _refuse_standard_output(option, path)
    check_place(path, overwrite=overwrite)


def _refuse_standard_output(option: str, path: Path) -> None:
    if str(path) == "-":
        raise ValueError(
            f"{option} must name a file or folder, got '-': only the table of predict can be "
            "written to standard output."
        )


def refuse_same_file(path: Path, other: str, words: str) -> None:
    """Refuse to write over a file that is read."""
    if path.exists() and Path(other).exists() and path.samefile(other):
        raise ValueError(f"{str(path)!r} is {words} itself: name another file.")


def check_folder(option: str, path: Path) -> None:
    """Refuse a place for a folder where there is a file."""
    _refuse_standard_output(option, path)
    for folder in (path, *path.parents):
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"{option} must be a folder, but {str(folder)!r} is a file.")
