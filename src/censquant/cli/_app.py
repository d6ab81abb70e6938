"""Commands and their options."""

from pathlib import Path
from typing import Annotated

import typer

from censquant._version import __version__

app = typer.Typer(
    help="Censored quantile regression: survival-time quantiles for every individual.",
    no_args_is_help=True,
    add_completion=False,
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
) -> None:
    """Censored quantile regression: survival-time quantiles for every individual."""


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option(help="Folder for the two pictures; made if it does not exist.")
    ] = Path("demo-output"),
) -> None:
    """Fit the bundled breast-cancer data, print a table and draw two pictures."""
    if output.exists() and not output.is_dir():
        fail(f"--output must be a folder, but {str(output)!r} is a file.")
    # Imported here, so that --help needs neither numba nor matplotlib.
    from censquant.cli._demo import run_demo

    try:
        run_demo(output)
    except ImportError as error:
        fail(str(error))


def fail(sentence: str) -> None:
    """End with exit code 2 and one sentence on stderr: the input was wrong."""
    typer.echo(f"Error: {sentence}", err=True)
    raise typer.Exit(code=2)
