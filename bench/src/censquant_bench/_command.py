"""``censquant bench``."""

from pathlib import Path
from typing import Annotated

import typer

from censquant.cli._options import check_folder, listed


def bench(
    suite: Annotated[str, typer.Option(help="The experiment; --list names them.")] = "main",
    datasets: Annotated[
        str | None,
        typer.Option(help="Data sets or kinds, with commas between; the suite's own by default."),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Methods, with commas between; the suite's own by default.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Number of runs of every cell, or runs as in 4-6.")
    ] = None,
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
    check_folder("--out", out)
    from censquant_bench._terminal import list_benchmark, run_bench

    if show:
        list_benchmark()
        return
    run_bench(
        suite,
        datasets=listed(datasets),
        methods=listed(methods),
        seeds=_runs(seeds),
        splits=listed(splits),
        out=out,
        n_jobs=jobs,
        backend=backend,
        address=address,
    )


def _runs(text: str | None) -> int | range | None:
    """Return a number of runs, or the runs from one to another."""
    first, dash, last = (text or "").partition("-")
    try:
        if dash and (runs := range(int(first), int(last) + 1)):
            return runs
        if text is None or (not dash and int(text) >= 1):
            return None if text is None else int(text)
    except ValueError:
        pass
    raise typer.BadParameter(
        f"must be a number of runs, at least 1, or the first and the last run as in 4-6, got "
        f"{text!r}.",
        param_hint="--seeds",
    )
