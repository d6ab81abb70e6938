"""``censquant failures``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from censquant.cli import _options as options

if TYPE_CHECKING:
    from censquant.cli._tables import Table

_AGES = "Ages"
_GROUPS = "Groups and limits"
_UNITS = "Table of the units"
_N_SHOWN = 5


@options.with_groups
def failures(
    model: options.Model,
    data: options.Data,
    *,
    age: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the time that each running unit has lasted.",
            rich_help_panel=_AGES,
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Instead of --age: column of first dates, by default that of the fit; with "
            "--as-of.",
            rich_help_panel=_AGES,
        ),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Day up to which the units have lasted, such as 2024-06-30: the tables then have "
            "dates.",
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
    horizons: Annotated[
        str,
        typer.Option(help="Times from now, in the unit of the model, such as 30,90,180,365."),
    ] = "30,90,180,365",
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of groups, which are counted too.",
            rich_help_panel=_GROUPS,
        ),
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Table that the model was fitted to, one row for each unit: the limits then "
            "contain the uncertainty of the model, not chance alone.",
            rich_help_panel=_GROUPS,
        ),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(help="Confidence of the limits, inside (0, 1).", rich_help_panel=_GROUPS),
    ] = 0.95,
    service_level: Annotated[
        float,
        typer.Option(help="Probability that the spares are enough.", rich_help_panel=_GROUPS),
    ] = 0.95,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="File for a table of the running units: age, risks, time and date until --risk "
            "is reached. Its name says the format, as in predict.",
            rich_help_panel=_UNITS,
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with names of units.", rich_help_panel=_UNITS),
    ] = None,
    risk: Annotated[
        float, typer.Option(help="Accepted probability of a failure.", rich_help_panel=_UNITS)
    ] = 0.1,
    early_cost: Annotated[
        float | None,
        typer.Option(
            help="Cost of a replacement before a failure: adds the age at which replacing costs "
            "least, for lives that count from new.",
            rich_help_panel=_UNITS,
        ),
    ] = None,
    late_cost: Annotated[
        float | None, typer.Option(help="Cost of a failure.", rich_help_panel=_UNITS)
    ] = None,
    text: options.TextFileOptions,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Count the failures to expect among running units, and say when each reaches a risk."""
    import numpy as np

    from censquant.cli._console import Reporter
    from censquant.cli._study import group_names, load_table, row_labels
    from censquant.estimators import load_model, load_notes
    from censquant.inspection import expected_failures, fleet_table, replacement_policy
    from censquant.io import TableError
    from censquant.io._predict import check_output
    from censquant.io._predictor import Ages
    from censquant.io._target import check_unit

    reporter = Reporter(as_json=as_json)
    times = options.number_list("--horizons", horizons) or []
    if (early_cost is None) != (late_cost is None):
        raise ValueError("--early-cost and --late-cost must be given together.")
    if output is not None:
        if output == "-":
            raise ValueError("--output must name a file, got '-'.")
        check_output(output, overwrite=force)
        options.refuse_same_file(Path(output), data, "the table")
    fitted, notes = load_model(model), load_notes(model)
    known = notes.get("target", {})
    unit, date_format = unit or known.get("unit") or "", date_format or known.get("date_format")
    if age is not None and start is not None:
        raise ValueError("--age and --start must not be given together: name one of them.")
    start = start or known.get("start")
    if age is None and (start is None or as_of is None):
        raise TableError(
            "The time that each unit has lasted must be given by --age COLUMN, or by --start "
            "COLUMN and --as-of DATE"
        )
    table = load_table(data, text.make_options(notes), reporter)
    features = table.frame_for(fitted)
    if age is not None:
        ages = table.numbers(age, "age")
    else:
        assert start is not None
        dates = table.column(start, "start")
        ages = Ages(start, as_of, unit, date_format).read(table.reader, dates, table.shown, 0, 0.0)
    day = None
    if as_of is not None:
        check_unit(unit)
        day = _day(as_of, date_format)
    columns = None
    if "target" in notes:
        columns = options.TargetOptions().change_columns(notes)
    groups = None if by is None else group_names(table, by, "by")
    labels = row_labels(table, label, len(table))
    kept = [name for name in table.columns if name not in features.columns]
    # A table in the form of the fit also has units that failed, and these are not running.
    running = np.ones(len(table), dtype=bool) if columns is None else columns.running(table)
    if not running.all():
        reporter.note(f"{np.count_nonzero(~running):,} units had failed and are left out.")
        features, ages = features[running], ages[running]
    places = np.flatnonzero(running)
    past: dict[str, Any] = {}
    if train is not None:
        if columns is None:
            columns = options.TargetOptions().change_columns(notes)
        behind = load_table(train, text.make_options(notes), reporter)
        target = columns.read(behind)
        past["y_train"] = (target.time, target.event)
        if by is not None:
            past["by_train"] = group_names(behind, by, "by")
    with reporter.noting_warnings():
        found = expected_failures(
            fitted,
            features,
            ages,
            times,
            by=None if groups is None else groups[running],
            confidence=confidence,
            service_level=service_level,
            **past,
        )
        units = fleet_table(
            fitted, features, ages, times, risk=risk, as_of=day, unit=unit or "days"
        )
        if early_cost is not None and late_cost is not None:
            policy = replacement_policy(fitted, features, early_cost, late_cost)
            _add_replacement(units, policy, day, unit)
    reporter.table(_count_table(found, unit, day))
    reporter.line(
        "The limits contain chance alone, not the error of the model: see --train."
        if found.n_learned is None
        else "The limits contain chance and the uncertainty of a risk that was learned from "
        f"{found.n_learned:,} failures."
    )
    reporter.line(
        "Supported: share of units for which follow-up reaches that far; the risk of the others is "
        "extrapolated."
    )
    if len(units):
        reporter.line()
        reporter.table(_unit_table(units, [labels[row] for row in places], risk, unit))
    if early_cost is not None and len(units):
        due = int((units["replace_in"] == 0).sum())
        reporter.line(f"{due:,} of {len(units):,} units have reached their cheapest age.")
    if output is not None:
        _write_units(output, table, kept, places, units, overwrite=force)
        reporter.line(f"Written: {output} ({len(units):,} units)")
    reporter.result(
        {
            "units": found.n_units,
            "confidence": found.confidence,
            "service_level": found.service_level,
            "learned_from": found.n_learned,
            "failures": [row._asdict() for row in found.rows],
            "output": output,
        }
    )


def _day(text: str, date_format: str | None) -> str:
    """Return a day in the form 2024-06-30."""
    import numpy as np

    from censquant.io._target import read_day

    found = np.datetime64(int(read_day("as_of", text, date_format)), "us")
    return str(found.astype("datetime64[D]"))


def _add_replacement(units: Any, policy: Any, day: str | None, unit: str) -> None:
    """Add the age of the cheapest replacement, the time until then, and its date."""
    import numpy as np

    from censquant.inspection._ages import dates_of

    left = np.maximum(policy.age - units["age"].to_numpy(), 0.0)
    units["replace_at"] = policy.age
    units["replace_in"] = left
    if day is not None:
        units["replace_date"] = dates_of(left, day, unit).astype("datetime64[us]")
    units["advice"] = policy.advice


def _count_table(found: Any, unit: str, day: str | None) -> "Table":
    """Return the numbers of failures for the terminal."""
    import numpy as np

    from censquant.cli._tables import Table, TableCell
    from censquant.inspection._ages import dates_of

    by_group = len({row.group for row in found.rows}) > 1
    columns = (
        *(("group", "units") if by_group else ()),
        unit or "within",
        *(("until",) if day is not None else ()),
        "expected",
        f"{100 * found.confidence:g} % limits",
        f"spares ({100 * found.service_level:g} %)",
        "supported",
    )
    lines, breaks = list[tuple[TableCell, ...]](), set[int]()
    for place, row in enumerate(found.rows):
        if place and row.group != found.rows[place - 1].group:
            breaks.add(place)
        date = () if day is None else (str(dates_of(np.array([row.horizon]), day, unit)[0]),)
        cells = (
            *((row.group, f"{row.n_units:,}") if by_group else ()),
            f"{row.horizon:g}",
            *date,
            f"{row.expected:.1f}",
            f"{row.low} to {row.high}",
            f"{row.spares}",
            f"{row.supported:.0%}",
        )
        lines.append(tuple(TableCell(text) for text in cells))
    title = f"Failures among {found.n_units:,} running units"
    return Table(title, columns, tuple(lines), breaks=frozenset(breaks))


def _unit_table(units: Any, labels: list[str], risk: float, unit: str) -> "Table":
    """Return the units with the highest risk for the terminal."""
    from censquant.cli._tables import Table, TableCell

    risks = [name for name in units.columns if name.startswith("risk_")]
    words = f" ({unit})" if unit else ""
    shown = units.reset_index(drop=True).sort_values(
        risks, ascending=False, na_position="last", kind="stable"
    )
    has_dates, has_costs = "date" in units, "replace_at" in units
    columns = (
        "unit",
        f"age{words}",
        f"fails within {risks[0].removeprefix('risk_')}",
        f"{100 * risk:g} % risk in",
        *(("on",) if has_dates else ()),
        *(("replace at age",) if has_costs else ()),
    )
    lines = []
    for row, one in shown.head(_N_SHOWN).iterrows():
        soon = "-" if one[risks[0]] != one[risks[0]] else f"{one[risks[0]]:.0%}"
        cells = (
            labels[row],
            f"{one['age']:.4g}",
            f"{'at least ' if one['supported'] < float(risks[0][5:]) else ''}{soon}",
            f"{'at least ' if one['limited'] else ''}{one['remaining']:.4g}",
            *((str(one["date"])[:10],) if has_dates else ()),
            *((_replace_text(one),) if has_costs else ()),
        )
        lines.append(tuple(TableCell(text) for text in cells))
    title = f"Units with the highest risk, {len(lines)} of {len(units):,}"
    return Table(title, columns, tuple(lines))


def _replace_text(one: Any) -> str:
    if one["advice"] == "replace":
        return "due now" if one["replace_in"] == 0 else f"{one['replace_at']:.4g}"
    return str(one["advice"])


def _write_units(
    output: str, table: Any, kept: list[str], places: Any, units: Any, *, overwrite: bool
) -> None:
    """Write one row for each running unit, with the columns that are no features in front."""
    import pyarrow as pa

    from censquant.io import TableError
    from censquant.io._columns import list_names
    from censquant.io._predict import writing

    if clash := [name for name in kept if name in units.columns]:
        raise TableError(
            f"{table.shown} has columns called as those of the units: {list_names(clash)}",
            remedy="rename them",
        )
    parts = {name: table.columns[name].take(pa.array(places)) for name in kept}
    for name in units.columns:
        values = units[name]
        if name in ("date", "replace_date"):
            parts[name] = pa.array(values.to_numpy().astype("datetime64[D]"))
        else:
            parts[name] = pa.array(values.to_numpy(), from_pandas=True)
    whole = pa.table(parts)
    with writing(output, whole.schema, overwrite=overwrite) as write:
        write(whole)
