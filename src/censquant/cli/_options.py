"""Options that several commands have, described once."""

from typing import Annotated

import typer

_TABLE = "Times and events"
_COLUMNS = "Columns"
_TEXT = "Text files"

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
Time = Annotated[str | None, typer.Option(help="Column of durations.", rich_help_panel=_TABLE)]
Event = Annotated[
    str | None,
    typer.Option(
        help="Column that says whether the event was observed (1) or the row is censored (0).",
        rich_help_panel=_TABLE,
    ),
]
EventValue = Annotated[
    list[str] | None,
    typer.Option(
        help="Value of that column that means the event, such as dead; may be repeated.",
        rich_help_panel=_TABLE,
    ),
]
Start = Annotated[str | None, typer.Option(help="Column of first dates.", rich_help_panel=_TABLE)]
End = Annotated[str | None, typer.Option(help="Column of last dates.", rich_help_panel=_TABLE)]
Until = Annotated[
    str | None,
    typer.Option(
        help="Date up to which rows without a last date were followed, such as 2024-06-30, or in "
        "the form of --date-format.",
        rich_help_panel=_TABLE,
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        help="Unit of time: days, hours, weeks, months, years, minutes, seconds; for durations any "
        "word.",
        rich_help_panel=_TABLE,
    ),
]
DateFormat = Annotated[
    str | None,
    typer.Option(help="Form of dates, such as %d.%m.%Y.", rich_help_panel=_TABLE),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        help="Columns to learn from, with commas between; all others by default.",
        rich_help_panel=_COLUMNS,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Columns not to learn from, with commas.", rich_help_panel=_COLUMNS),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Columns of numbers that are codes of categories.", rich_help_panel=_COLUMNS),
]
Groups = Annotated[
    str | None,
    typer.Option(
        help="Column that names rows that belong together (visits of a patient): they are held out "
        "together.",
        rich_help_panel=_COLUMNS,
    ),
]
Separator = Annotated[
    str | None, typer.Option(help="Character between columns.", rich_help_panel=_TEXT)
]
Decimal = Annotated[
    str | None, typer.Option(help="Decimal mark: . (default) or ,", rich_help_panel=_TEXT)
]
Thousands = Annotated[
    str | None,
    typer.Option(
        help="Mark between thousands, as . in 28.810; none by default.", rich_help_panel=_TEXT
    ),
]
Encoding = Annotated[
    str | None, typer.Option(help="Such as cp1252; UTF-8 by default.", rich_help_panel=_TEXT)
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="Text that stands for a missing value beside NA, null and the like; may be repeated.",
        rich_help_panel=_TEXT,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
Jobs = Annotated[int, typer.Option(help="Threads; -1 uses all cores.")]
Seed = Annotated[
    int,
    typer.Option(min=0, max=2**32 - 1, help="Of random numbers: the same seed, the same result."),
]
