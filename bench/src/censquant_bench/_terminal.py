"""The benchmark from the shell: what is available, what to run, where the tables are."""

import shlex
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

import censquant_bench as benchmark
from censquant.cli._tables import print_table

# A longer table is read in its file rather than in a terminal.
_MOST_ROWS = 40


def list_benchmark() -> None:
    """Print the suites, sets and methods."""
    console = Console(soft_wrap=True)
    console.print("[bold]Suites[/]")
    for suite in benchmark.SUITES.values():
        console.print(f"  {suite.name:<14} {escape(suite.title)}")
    groups = ", ".join(benchmark.DATASET_GROUPS)
    console.print(f"\n[bold]Data sets[/] (or several: {groups})")
    for dataset in benchmark.DATASETS.values():
        splits = " and ".join(dataset.splits)
        console.print(
            f"  {dataset.name:<16} {escape(dataset.title):<15} {dataset.kind:<10} "
            f"{len(dataset.taus):>2} levels, {splits} split"
        )
    console.print("\n[bold]Methods[/]")
    for method in benchmark.METHODS.values():
        note = f" ({method.note})" if method.note else ""
        console.print(f"  {method.name:<22} {escape(method.title)}{escape(note)}")


def run_bench(
    suite: str,
    *,
    datasets: Sequence[str] | None,
    methods: Sequence[str] | None,
    seeds: int | range | None,
    splits: Sequence[str] | None,
    out: Path,
    n_jobs: int,
    backend: str | None,
    address: str | None,
) -> None:
    """Run a suite, print its tables and the places of its files."""
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
            address=address,
            verbose=1,
            command=_command(),
        )
    for table in report.tables:
        if len(table.rows) <= _MOST_ROWS:
            print_table(console, table)
            for note in table.notes:
                console.print(escape(note))
            console.print()
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            console.print(f"[yellow]{escape(str(warning.message))}[/]", soft_wrap=True)
    if report.files:
        console.print("Written, with all tables in full:")
    for path in report.files:
        console.print(f"  {path.resolve()}", soft_wrap=True)


def _command() -> str:
    """Return the command as it was typed, without the place of the program."""
    return " ".join(["censquant", *map(shlex.quote, sys.argv[1:])])
