"""``censquant cohort``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from censquant.cli import _options as options

_PAGE = (".html", ".htm")
_STYLE = (
    "table{border-collapse:collapse;font:15px/1.4 system-ui,sans-serif}"
    "th,td{padding:.25em .8em;text-align:right;border-bottom:1px solid #ddd}"
    "th:first-child,td:first-child{text-align:left}"
)


@options.with_groups
def cohort(
    data: options.Data,
    *,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of groups, such as the treatment or the event."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="File for the table: .html as it is printed, else one row per variable or level "
            "(.csv, .tsv, .parquet, .feather).",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="Columns to describe, with commas between; all others by default."),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="Columns to leave out, with commas between.")
    ] = None,
    target: options.TargetOptions,
    text: options.TextFileOptions,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Describe who is in a table: medians, counts, missing values, events, follow-up (Table 1)."""
    from censquant.cli._console import Reporter
    from censquant.cli._study import group_names, load_table
    from censquant.cli._tables import Table, TableCell
    from censquant.inspection import cohort_table
    from censquant.inspection._cohort import EVENT, flat_lines
    from censquant.io import TableError
    from censquant.io._predict import check_output

    reporter = Reporter(as_json=as_json)
    is_page = output is not None and output.lower().endswith(_PAGE)
    if output is not None:
        if output == "-":
            raise ValueError("--output must name a file, got '-'.")
        options.refuse_same_file(Path(output), data, "the table")
        if is_page:
            options.check_file("--output", Path(output), overwrite=force)
        else:
            check_output(output, overwrite=force)
    table = load_table(data, text.make_options(), reporter)
    has_target = any(value for value in vars(target).values())
    asked = target.make_columns() if has_target else None
    y = None if asked is None else asked.read(table)
    outcome = [] if asked is None else asked.names
    names = options.column_list(columns, table.columns)
    for name in [*names, *(left := options.column_list(drop, table.columns))]:
        table.column(name, "columns")
    if not names:
        names = [name for name in table.columns if name not in outcome]
    names = [name for name in names if name not in left and name != by]
    if dates := [name for name in names if table.kinds[name] not in ("number", "text")]:
        reporter.note(f"Dates are left out: {', '.join(map(repr, dates))}.")
    names = [name for name in names if name not in dates]
    if not names:
        raise TableError(f"{table.shown} has no column to describe")
    groups: Any = None
    if by is not None:
        is_event = asked is not None and by == asked.event
        groups = EVENT if is_event else group_names(table, by, "by")
    found = cohort_table(
        table.frame(names),
        None if y is None else (y.time, y.event),
        by=groups,
        unit="" if asked is None else asked.unit,
    )
    rows = tuple(tuple(TableCell(cell) for cell in line) for line in flat_lines(found))
    reporter.table(Table(f"{table.shown}: {len(table):,} rows", found.heading(), rows))
    if y is not None and by is not None:
        reporter.line(
            "SMD: largest standardised difference between two groups. NR: not reached."
            if groups is not EVENT
            else "Those with the event and those without were observed for different times: the "
            "table shows no effects."
        )
    if output is not None:
        _write(output, found, is_page=is_page, overwrite=force)
        reporter.line(f"Written: {output}")
    reporter.result(
        {
            "rows": len(table),
            "groups": dict(zip(found.groups, found.sizes, strict=True)),
            "table": [row._asdict() for row in found.rows],
            "output": output,
        }
    )


def _write(output: str, found: Any, *, is_page: bool, overwrite: bool) -> None:
    """Write the table as a page, or as one row per variable or level."""
    import pyarrow as pa

    from censquant._files import replacing
    from censquant.io._predict import writing

    if is_page:
        page = (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Cohort</title>'
            f"<style>{_STYLE}</style></head>\n<body>{found._repr_html_()}</body></html>\n"
        )
        with replacing(Path(output), overwrite=overwrite) as file:
            file.write(page.encode())
        return
    whole = pa.Table.from_pandas(found.to_frame(), preserve_index=False)
    with writing(output, whole.schema, overwrite=overwrite) as write:
        write(whole)
