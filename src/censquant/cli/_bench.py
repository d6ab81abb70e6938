"""The benchmark from the shell: what there is, what to run, where the tables are."""

import shlex
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from censquant import benchmark


def list_benchmark() -> None:
    """Print the suites, sets and methods."""
    console = Console(soft_wrap=True)
    console.print("[bold]Suites[/]")
    for suite in benchmark.SUITES.values():
        console.print(f"  {suite.name:<14} {escape(suite.title)}")
    console.print(f"  {'figures':<14} {benchmark.FIGURES_TITLE}")
    console.print("\n[bold]Data sets[/] (or a kind: synthetic, overlay, survival, small)")
    for dataset in benchmark.DATASETS.values():
        splits = " and ".join(dataset.splits)
        console.print(
            f"  {dataset.name:<16} {escape(dataset.title):<15} {dataset.kind:<10} "
            f"{len(dataset.taus):>2} levels, {splits} split"
        )
    console.print("\n[bold]Methods[/]")
    for method in benchmark.METHODS.values():
        note = f" (column {method.published} of the paper)" if method.published else ""
        console.print(f"  {method.name:<22} {escape(method.title)}{escape(note)}")


def run_bench(
    suite: str,
    *,
    datasets: Sequence[str] | None,
    methods: Sequence[str] | None,
    seeds: int | None,
    splits: Sequence[str] | None,
    out: Path,
    n_jobs: int,
    backend: str | None,
) -> None:
    """Run a suite, print its table and say where everything was written."""
    console = Console()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = benchmark.run(
            suite,
            datasets=datasets,
            methods=methods,
            seeds=seeds,
            splits=splits,
            out=out,
            n_jobs=n_jobs,
            backend=backend,
            verbose=1,
            command=_command(),
        )
    console.print(_table(report))
    if report.verdict:
        console.print(report.verdict, soft_wrap=True)
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            console.print(f"[yellow]{escape(str(warning.message))}[/]", soft_wrap=True)
    console.print("Written:")
    for path in report.files:
        console.print(f"  {path.resolve()}", soft_wrap=True)


def _command() -> str:
    """Return the command as it was typed, without the place of the program."""
    return " ".join(["censquant", *map(shlex.quote, sys.argv[1:])])


def _table(report: Any) -> Table:
    table = Table(title=report.title)
    for place, heading in enumerate(report.columns):
        table.add_column(heading, justify="left" if place < 2 else "right")
    for row in report.cells:
        table.add_row(*map(escape, row))
    return table
