"""``censquant compare``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from censquant.cli import _options as options
from censquant.cli._arguments import level_list, listed


def compare(
    data: options.Data,
    time: options.Time = None,
    event: options.Event = None,
    event_value: options.EventValue = None,
    start: options.Start = None,
    end: options.End = None,
    until: options.Until = None,
    unit: options.Unit = None,
    date_format: options.DateFormat = None,
    features: options.Features = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    groups: options.Groups = None,
    methods: Annotated[
        str,
        typer.Option(
            help="Methods with commas between: those of fit, kaplan_meier, and with "
            "censquant-bench methods of other libraries such as sksurv_forest or lifelines_cox, or "
            "peers for all of these that are installed. The others are compared with the first."
        ),
    ] = "recommended,cox,kaplan_meier",
    folds: Annotated[int, typer.Option(min=2, help="Of the cross-validation.")] = 5,
    quantiles: Annotated[
        str, typer.Option(help="Levels that are judged.")
    ] = "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9",
    resamples: Annotated[int, typer.Option(min=2, help="Draws of the bootstrap.")] = 500,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT.csv", help="Also write a table.")
    ] = None,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Compare methods on a table by cross-validation, with intervals and paired tests."""
    from censquant.cli._comparison import (
        check_table_place,
        comparison_table,
        made_methods,
        method_list,
        write_comparison,
    )
    from censquant.cli._console import Reporter, bar
    from censquant.cli._study import read_study
    from censquant.cli._target import target_columns, text_options
    from censquant.metrics import compare as run

    report = Reporter(as_json=as_json)
    check_table_place(output, overwrite=force)
    levels = level_list(quantiles) or []
    made = made_methods(method_list(listed(methods) or []), levels, n_jobs=jobs, seed=seed)
    study = read_study(
        data,
        target_columns(time, event, event_value, start, end, until, unit, date_format),
        report,
        options=text_options(separator, decimal, thousands, encoding, missing),
        features=features,
        drop=drop,
        categorical=categorical,
        groups=groups,
    )
    study.tell(report)
    n_fits, n_done = folds * len(made), 0
    with bar("fitting") as progress, report.noting_warnings():

        def advance(name: str) -> None:
            nonlocal n_done
            n_done += 1
            progress(n_done, n_fits, "fits")

        found = run(
            made,
            study.X,
            study.y,
            quantiles=levels,
            cv=folds,
            groups=study.groups,
            n_resamples=resamples,
            random_state=seed,
            progress=advance,
        )
    report.line()
    report.table(comparison_table(found))
    report.line(_explained(found))
    for row in found.rows:
        if row.error:
            report.note(f"{row.method} failed: {row.error}")
    if output is not None:
        write_comparison(found, output, overwrite=force)
        report.line(f"Written: {output}")
    report.result({**study.entries(), **found.to_dict()})


def _explained(found: Any) -> str:
    return (
        f"{found.n_folds}-fold cross-validation on {found.n_rows:,} rows with {found.n_events:,} "
        "events. A smaller pinball loss is better, in units of time, and a larger concordance (0.5 "
        "is chance). A small calibration p says that quantiles are wrong. Differences are from "
        f"{found.reference} on the same rows, with 95 % intervals and p-values corrected for the "
        "number of methods (Holm)."
    )
