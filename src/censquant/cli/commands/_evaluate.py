"""``censquant evaluate``."""

from typing import Annotated, Any

import typer

from censquant.cli import _options as options


def evaluate(
    model: options.Model,
    data: options.Data,
    train: options.Train = None,
    time: options.Time = None,
    event: options.Event = None,
    event_value: options.EventValue = None,
    start: options.Start = None,
    end: options.End = None,
    until: options.Until = None,
    unit: options.Unit = None,
    date_format: options.DateFormat = None,
    resamples: Annotated[int, typer.Option(min=2, help="Draws of the bootstrap.")] = 200,
    seed: options.Seed = 0,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    as_json: options.Json = False,
) -> None:
    """Judge a model on rows that it was not fitted to: ranking, calibration, closeness.

    Columns of times and events are those of the fit, unless others are named.
    """
    from censquant.cli._console import Reporter
    from censquant.cli._study import load_table
    from censquant.cli._target import given_columns, target_digest, text_options
    from censquant.estimators import load_model, load_notes
    from censquant.metrics import evaluate as judge

    report = Reporter(as_json=as_json)
    fitted, notes = load_model(model), load_notes(model)
    columns = given_columns(
        notes,
        time=time,
        event=event,
        event_value=event_value,
        start=start,
        end=end,
        until=until,
        unit=unit,
        date_format=date_format,
    )
    text = text_options(separator, decimal, thousands, encoding, missing, notes)
    table = load_table(data, text, report)
    target = columns.read(table)
    if target_digest(target) == notes.get("digest"):
        report.note(
            "These are the rows that the model was fitted to, so that its scores are too good: "
            "evaluate it on others."
        )
    behind = target if train is None else columns.read(load_table(train, text, report))
    with report.noting_warnings():
        result = judge(
            fitted,
            (behind.time, behind.event),
            table.frame_for(fitted),
            (target.time, target.event),
            n_resamples=resamples,
            random_state=seed,
        )
    report.line(f"{table.shown}: {result.n_rows:,} rows, {result.n_events:,} events")
    report.table(_table(result))
    report.line(result.verdict)
    report.result(
        {
            "rows": result.n_rows,
            "events": result.n_events,
            "scores": [row._asdict() for row in result.rows],
            "identified": result.identified,
            "verdict": result.verdict,
        }
    )


def _table(result: Any) -> Any:
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
