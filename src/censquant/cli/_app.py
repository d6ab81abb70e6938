"""The command and its parts; each is a short file in ``commands``."""

from typing import Annotated

import typer

from censquant._version import __version__
from censquant.cli.commands import (
    bench,
    compare,
    datasets,
    demo,
    evaluate,
    export,
    failures,
    fit,
    predict,
    report,
)

app = typer.Typer(
    help="Censored quantile regression: survival-time quantiles for every individual.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"censquant {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
    traceback: Annotated[
        bool,
        typer.Option(
            "--traceback",
            help="Show where an error arose, not only what it says; for bug reports. Anywhere in "
            "the command.",
        ),
    ] = False,
) -> None:
    """Censored quantile regression: survival-time quantiles for every individual."""


for command in (fit, predict, failures, evaluate, report, compare, export, demo, bench):
    app.command()(command)
app.add_typer(datasets, name="datasets")
