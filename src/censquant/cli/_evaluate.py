"""``censquant evaluate``."""

from typing import Annotated, Any

import typer

from censquant.cli import _options as options


@options.with_groups
def evaluate(
    model: options.Model,
    data: options.Data,
    *,
    train: options.Train = None,
    target: options.TargetOptions,
    at: Annotated[
        str | None,
        typer.Option(help="Times by which predicted risks are judged, such as 365,1825."),
    ] = None,
    by: options.By = None,
    groups: options.Groups = None,
    resamples: Annotated[int, typer.Option(min=2, help="Draws of the bootstrap.")] = 200,
    seed: options.Seed = 0,
    text: options.TextFileOptions,
    as_json: options.Json = False,
) -> None:
    """Judge a model on rows that it was not fitted to: ranking, calibration, closeness.

    Columns of times and events are those of the fit, unless others are named.
    """
    from censquant.cli._console import Reporter
    from censquant.cli._study import read_fitted
    from censquant.metrics import evaluate as run

    report = Reporter(as_json=as_json)
    times = options.number_list("--at", at)
    read = read_fitted(model, data, train, target, text, report)
    if read.is_training_data:
        report.note(
            "These are the rows that the model was fitted to, so that its scores are too good: "
            "evaluate it on others."
        )
    behind = read.target if read.train is None else read.train
    with report.noting_warnings():
        result = run(
            read.model,
            behind.for_fit,
            read.table.frame_for(read.model),
            read.target.for_fit,
            at=times,
            by=read.levels(by),
            groups=read.groups(groups),
            n_resamples=resamples,
            random_state=seed,
        )
    report.line(f"{read.table.shown}: {result.n_rows:,} rows, {result.n_events:,} events")
    report.table(_score_table(result))
    report.line(result.verdict)
    found = _for_machines(result)
    if by is not None:
        report.table(_level_table(result, by))
        found["by"] = {
            "column": by,
            "levels": [{"level": label, **_for_machines(one)} for label, one in result.by.items()],
        }
    report.result(found)


def _for_machines(result: Any) -> dict[str, Any]:
    return {
        "rows": result.n_rows,
        "events": result.n_events,
        "scores": [row._asdict() for row in result.rows],
        "identified": result.identified,
        "censoring_p_value": result.censoring_p_value,
        "verdict": result.verdict,
    }


def _level_table(result: Any, column: str) -> Any:
    from censquant.cli._tables import Table, TableCell

    names, lines = result.level_table()
    rows = tuple(tuple(map(TableCell, line)) for line in lines)
    return Table(f"Scores by {column}", names, rows)


def _score_table(result: Any) -> Any:
    from censquant.cli._tables import Table, TableCell

    rows = []
    for row in result.rows:
        ends = "" if row.lower != row.lower else f"{row.lower:.4g} to {row.upper:.4g}"
        value = "-" if row.value != row.value else f"{row.value:.4g}"
        note = f"{row.direction} is better; {row.note}"
        rows.append(tuple(TableCell(text) for text in (row.metric, value, ends, note)))
    return Table(
        "Scores", ("score", "value", "95 % interval", "what it says"), tuple(rows), n_labels=4
    )
