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


datasets_app = typer.Typer(help="List, describe and download data sets.", no_args_is_help=True)
app.add_typer(datasets_app, name="datasets")


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
            "--traceback", help="Show where an error arose, not only what it says; for bug reports."
        ),
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
    _check_folder("--output", output)
    # Imported here, so that --help needs neither numba nor matplotlib.
    from censquant.cli._demo import run_demo

    run_demo(output)


@app.command()
def bench(
    suite: Annotated[str, typer.Option(help="The experiment; --list names them.")] = "main",
    datasets: Annotated[
        str | None,
        typer.Option(help="Data sets or kinds, with commas between; the suite's own by default."),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Methods, with commas between; the suite's own by default.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Runs of every cell.")] = None,
    splits: Annotated[
        str | None, typer.Option(help="random, grouped or both with a comma between.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for rows, tables and figures; one folder per suite.")
    ] = Path("bench-results"),
    jobs: Annotated[int, typer.Option(help="Worker processes; -1 uses all cores.")] = -1,
    backend: Annotated[
        str | None, typer.Option(help="Backend of joblib: loky, threading, dask or ray.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Of the cluster that dask or ray should use.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--list", help="List suites, data sets and methods.")
    ] = False,
) -> None:
    """Reproduce the paper's tables and figures, or any part of them.

    Rows are kept as they finish: the same command resumes where an earlier one was ended.
    """
    _check_folder("--out", out)
    from censquant.cli._bench import list_benchmark, run_bench

    if show:
        list_benchmark()
        return
    run_bench(
        suite,
        datasets=_listed(datasets),
        methods=_listed(methods),
        seeds=seeds,
        splits=_listed(splits),
        out=out,
        n_jobs=jobs,
        backend=backend,
        address=address,
    )


@datasets_app.command("list")
def list_datasets() -> None:
    """List the data sets."""
    from censquant.cli._datasets import list_datasets as show

    show()


@datasets_app.command()
def describe(name: Annotated[str, typer.Argument(help="A name of the list.")]) -> None:
    """Describe a data set: content, source, terms and traps."""
    from censquant.cli._datasets import describe_dataset

    describe_dataset(name)


@datasets_app.command()
def fetch(
    names: Annotated[list[str], typer.Argument(help="Names of the list, or all for every one.")],
) -> None:
    """Download the files of data sets, check them, and print where they are."""
    from censquant.cli._datasets import fetch_datasets

    fetch_datasets(names)


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _check_folder(option: str, path: Path) -> None:
    for folder in (path, *path.parents):
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"{option} must be a folder, but {str(folder)!r} is a file.")
