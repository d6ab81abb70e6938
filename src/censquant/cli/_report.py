"""``censquant report``."""

from pathlib import Path
from typing import Annotated

import typer

from censquant.cli import _options as options

_FLEET = "Reliability"
_EFFECT = "Effect of one column"


@options.with_groups
def report(
    model: options.Model,
    data: options.Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="PAGE.html", help="File for the page.")
    ],
    *,
    preset: Annotated[
        str, typer.Option(help="Kind of report: clinical or reliability.")
    ] = "clinical",
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    horizons: Annotated[
        str | None,
        typer.Option(
            help="Times at which risks are told, such as 365,1825; round ones by default."
        ),
    ] = None,
    ahead: Annotated[
        str | None,
        typer.Option(
            help="Times from now within which failures are counted, such as 30,90,365.",
            rich_help_panel=_FLEET,
        ),
    ] = None,
    individuals: Annotated[
        str | None,
        typer.Option(
            help="Rows of the table, from 1, that are shown one by one, such as 3,17,20-25; none "
            "for none. All others are in the page as aggregates alone; by default the table of a "
            "fleet lists the units that are still running, without their features."
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with names of the individuals that are shown."),
    ] = None,
    age: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the time that each unit has lasted; by default its observed time.",
            rich_help_panel=_FLEET,
        ),
    ] = None,
    risk: Annotated[
        float,
        typer.Option(
            help="Accepted chance of a failure before replacement.", rich_help_panel=_FLEET
        ),
    ] = 0.1,
    early_cost: Annotated[
        float | None,
        typer.Option(help="Cost of a replacement before a failure.", rich_help_panel=_FLEET),
    ] = None,
    late_cost: Annotated[
        float | None, typer.Option(help="Cost of a failure.", rich_help_panel=_FLEET)
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            help="Day to which the ages belong, such as 2024-06-30: adds dates of replacement.",
            rich_help_panel=_FLEET,
        ),
    ] = None,
    effect: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column whose effect on the restricted mean gets a section, with --to and --from, "
            "by doubly robust estimates from the rows of DATA.",
            rich_help_panel=_EFFECT,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE", help="Value that everybody is given.", rich_help_panel=_EFFECT
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="VALUE",
            help="Value that it is compared with.",
            rich_help_panel=_EFFECT,
        ),
    ] = None,
    train: options.Train = None,
    target: options.TargetOptions,
    by: options.By = None,
    groups: options.Groups = None,
    resamples: Annotated[int, typer.Option(min=2, help="Draws of the bootstrap.")] = 100,
    seed: options.Seed = 0,
    panel_limit: Annotated[
        float,
        typer.Option(metavar="MB", help="Largest page that holds the model and its what-if panel."),
    ] = 2.0,
    text: options.TextFileOptions,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Write a page on a model and a table: cohort, scores, calibration, individuals, what-if.

    One HTML file that needs no network.
    """
    from censquant._validation import check_choice
    from censquant.cli._console import Reporter, bar
    from censquant.cli._contrast import doubly_robust_mean
    from censquant.cli._study import read_fitted, row_labels
    from censquant.report import write_report
    from censquant.report._study import PRESETS

    reporter = Reporter(as_json=as_json)
    check_choice("--preset", preset, PRESETS)
    options.check_file("--output", output, overwrite=force)
    if (effect is None) != (to is None) or (effect is None) != (from_ is None):
        raise ValueError("--effect, --to and --from must be given together.")
    times = options.number_list("--horizons", horizons)
    options.refuse_same_file(output, data, "the table")
    read = read_fitted(model, data, train, target, text, reporter)
    table, n_rows = read.table, len(read.target)
    rows = options.row_list("--individuals", individuals, n_rows)
    with bar("report") as progress, reporter.noting_warnings():
        found = None if effect is None else doubly_robust_mean(read, effect, to, from_, by, seed)
        written = write_report(
            read.model,
            table.frame_for(read.model),
            read.target.for_fit,
            output,
            preset=preset,
            title=title,
            unit=read.columns.unit,
            horizons=times,
            ahead=options.number_list("--ahead", ahead),
            individuals=rows,
            labels=row_labels(table, label, n_rows),
            age=None if age is None else table.numbers(age, "age"),
            risk=risk,
            early_cost=early_cost,
            late_cost=late_cost,
            as_of=None if as_of is None else read.columns.day("as_of", as_of),
            y_train=None if read.train is None else read.train.for_fit,
            are_training_rows=read.is_training_data,
            by=read.levels(by),
            groups=read.groups(groups),
            n_resamples=resamples,
            random_state=seed,
            panel_limit=panel_limit,
            contrast=found,
            overwrite=force,
            progress=progress,
        )
    facts = written.facts
    for note in facts.notes:
        reporter.note(note)
    reporter.line(f"{table.shown}: {facts.cohort.n_rows:,} rows, {facts.cohort.n_events:,} events")
    reporter.line(facts.verdict)
    if not written.has_panel:
        reporter.note(f"The page is without its what-if panel: {written.panel_reason}")
    reporter.line(f"Written: {output} ({written.n_bytes / 1e6:.2f} MB)")
    reporter.result(
        {
            "report": str(output),
            "preset": preset,
            "bytes": written.n_bytes,
            "rows": facts.cohort.n_rows,
            "events": facts.cohort.n_events,
            "individuals": [one.label for one in facts.individuals],
            "units": 0 if facts.fleet is None else len(facts.fleet.units),
            "what_if": written.has_panel,
            "verdict": facts.verdict,
        }
    )
