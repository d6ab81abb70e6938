"""``censquant failures``."""

from typing import Annotated

import typer

from censquant.cli import _options as options
from censquant.cli._arguments import number_list


def failures(
    model: options.Model,
    data: options.Data,
    age: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="Column with the time that each running unit has lasted."
        ),
    ],
    horizons: Annotated[
        str,
        typer.Option(help="Times from now, in the unit of the model, such as 30,90,180,365."),
    ] = "30,90,180,365",
    confidence: Annotated[
        float, typer.Option(help="Confidence of the limits, inside (0, 1).")
    ] = 0.9,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    as_json: options.Json = False,
) -> None:
    """Count the failures to expect among the running units of a table, with limits.

    For example: censquant failures fleet.model running.csv --age hours --horizons 720,2160
    """
    import numpy as np

    from censquant.cli._console import Reporter
    from censquant.cli._study import load_table
    from censquant.cli._tables import Table, TableCell
    from censquant.cli._target import given_columns, text_options
    from censquant.estimators import load_model, load_notes
    from censquant.inspection import expected_failures

    reporter = Reporter(as_json=as_json)
    times = number_list("--horizons", horizons)
    fitted, notes = load_model(model), load_notes(model)
    text = text_options(separator, decimal, thousands, encoding, missing, notes)
    table = load_table(data, text, reporter)
    features, ages = table.frame_for(fitted), table.numbers(age, "age")
    # A table in the form of the fit also has units that failed, and these are not running.
    if "target" in notes:
        running = given_columns(notes).running(table)
        if not running.all():
            reporter.note(f"{np.count_nonzero(~running):,} units had failed and are left out.")
            features, ages = features[running], ages[running]
    with reporter.noting_warnings():
        found = expected_failures(fitted, features, ages, times or [], confidence=confidence)
    columns = ("within", "expected", f"{100 * confidence:g} % from", "to", "supported")
    rows = tuple(
        tuple(
            TableCell(text)
            for text in (
                f"{row.horizon:g}",
                f"{row.expected:.1f}",
                f"{row.low}",
                f"{row.high}",
                f"{row.supported:.0%}",
            )
        )
        for row in found.rows
    )
    reporter.table(Table(f"Failures among {found.n_units:,} running units", columns, rows))
    reporter.line(
        "The limits contain chance alone, not the error of the model. Supported: share of units "
        "for which follow-up reaches that far; the risk of the others is extrapolated."
    )
    reporter.result(
        {
            "units": found.n_units,
            "confidence": found.confidence,
            "failures": [row._asdict() for row in found.rows],
        }
    )
