"""``censquant predict``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from censquant.cli import _options as options

_ALL, _NONE = "all", "none"
_AGES = "Ages from dates"


@options.with_groups
def predict(
    model: options.Model,
    data: options.Data,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="File for the predictions; its name says the format (.csv, .tsv, .parquet, "
            ".feather, text also .gz). - writes CSV to standard output. A folder if DATA is one.",
        ),
    ],
    *,
    quantiles: Annotated[
        str, typer.Option(help="Levels, such as 0.1,0.5,0.9: columns q0.1, q0.5, q0.9.")
    ] = "0.1,0.25,0.5,0.75,0.9",
    interval: Annotated[
        float | None,
        typer.Option(help="Adds the central interval with this probability: lower and upper."),
    ] = None,
    lower_bound: Annotated[
        float | None,
        typer.Option(
            help="Adds a time that this share of individuals outlives, such as 0.9: column "
            "bound0.9, of a model that was fitted with --calibrate. The column limited says "
            "whether follow-up ends before the bound would."
        ),
    ] = None,
    remaining: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the time that each individual has lasted already: times are then "
            "those that are left.",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Instead of --remaining: column of first dates, by default that of the fit; with "
            "--as-of.",
            rich_help_panel=_AGES,
        ),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Day up to which each individual has lasted, such as 2024-06-30: times are then "
            "those that are left, and columns date_q0.1, ... the days on which they end.",
            rich_help_panel=_AGES,
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            help="Unit of the model's times, by default that of the fit.", rich_help_panel=_AGES
        ),
    ] = None,
    date_format: Annotated[
        str | None,
        typer.Option(
            help="Form of dates, such as %d.%m.%Y, by default that of the fit.",
            rich_help_panel=_AGES,
        ),
    ] = None,
    beyond: Annotated[
        str,
        typer.Option(
            help="What to write after the end of follow-up: nan (nothing), inf, limit (the last "
            "supported time) or extrapolate."
        ),
    ] = "nan",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns of the table to write in front, with commas between, all or none; by "
            "default those that are no features."
        ),
    ] = None,
    chunk_rows: Annotated[int, typer.Option(min=1, help="Rows in memory at a time.")] = 100_000,
    text: options.TextFileOptions,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Predict when the event will have happened, for every row of a table.

    Rows are read and written in pieces, so that files may be larger than memory. DATA may be a
    folder of tables: OUT is then a folder of Parquet files, and the same command resumes one that
    was killed.
    """
    from censquant.cli._console import Reporter, bar
    from censquant.estimators import load_model, load_notes
    from censquant.io import PredictedDataset, PredictedFile, predict_dataset, predict_file

    report = Reporter(as_json=as_json, on_stderr=output == "-")
    if as_json and output == "-":
        raise ValueError("--json and -o - both write to standard output: name a file.")
    is_folder = Path(data).is_dir()
    if is_folder and (force or output == "-"):
        given = "--force" if force else "-o -"
        raise ValueError(
            f"{given} must not be given with a folder of tables: its predictions are a folder that "
            "the same command resumes; name one that is new."
        )
    fitted, notes = load_model(model), load_notes(model)
    known = notes.get("target", {})
    if as_of is not None and remaining is None:
        start = start or known.get("start")
    with bar("predicting") as progress, report.noting_warnings():
        settings: dict[str, Any] = {
            "quantiles": options.level_list(quantiles) or [],
            "interval": interval,
            "lower_bound": lower_bound,
            "remaining": remaining,
            "start": start,
            "as_of": as_of,
            "unit": unit or known.get("unit") or "",
            "date_format": date_format or known.get("date_format"),
            "beyond": beyond,
            "keep": _read_keep(keep),
            "options": text.make_options(notes),
            "chunk_rows": chunk_rows,
        }
        written: PredictedFile | PredictedDataset
        if is_folder:
            written = predict_dataset(
                fitted, data, output, progress=lambda done: progress(done, None, "rows"), **settings
            )
        else:
            written = predict_file(
                fitted, data, output, overwrite=force, progress=progress, **settings
            )
    report.line(f"Predicted {written.n_rows:,} rows: {', '.join(written.columns)}")
    share = written.identified_share if isinstance(written, PredictedFile) else None
    if share is not None and share < 1:
        marks = {
            "nan": "empty",
            "inf": "infinite",
            "limit": "the last that follow-up supports",
            "extrapolate": "extrapolated",
        }
        report.line(
            f"{1 - share:.0%} of the times are {marks[beyond]}, because nobody "
            "like that individual was followed for so long; the column identified has the highest "
            "level that the data can speak for."
        )
    limited = written.limited_share if isinstance(written, PredictedFile) else None
    if limited:
        report.line(
            f"{limited:.0%} of the bounds end where follow-up does: they hold with more than "
            f"{lower_bound:g}; the column limited has true."
        )
    if output != "-":
        report.line(f"Written: {output}")
    report.result(
        {
            "output": output,
            "rows": written.n_rows,
            "columns": list(written.columns),
            "identified_share": share,
            "limited_share": limited,
        }
    )


def _read_keep(keep: list[str] | None) -> list[str] | str | None:
    if keep is None or keep == [_ALL]:
        return None if keep is None else _ALL
    return [] if keep == [_NONE] else options.column_list(keep)
