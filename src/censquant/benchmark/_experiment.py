"""One call for an experiment: plan it, run what is missing, write its tables and figures."""

import datetime as dt
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from censquant._validation import look_up
from censquant._version import __version__
from censquant.benchmark._cells import Cell
from censquant.benchmark._datasets import DATASETS, BenchmarkDataset
from censquant.benchmark._methods import METHODS, BenchmarkMethod
from censquant.benchmark._one_feature import FIGURES_SUITE, draw_one_feature_sets
from censquant.benchmark._results import ResultsFile
from censquant.benchmark._run import frame_of, run_plan
from censquant.benchmark._suites import SUITES, plan
from censquant.benchmark.reporting import (
    Labels,
    Table,
    speed_table,
    suite_tables,
    to_markdown,
    write_report,
)

_ROWS_FILE = "rows.jsonl"


@dataclass(frozen=True, eq=False)
class Report:
    """What an experiment found.

    Parameters
    ----------
    suite : str
        Its name.
    rows : DataFrame
        One row a run.
    tables : tuple of Table
        The suite's tables, and the training time.
    files : tuple of Path
        What was written, if a folder was given.

    Examples
    --------
    >>> from censquant.benchmark import run
    >>> report = run("main", datasets=["norm_linear"], methods=["excl_censor"], seeds=1, n_jobs=1)
    >>> len(report.rows), report.files
    (1, ())
    """

    suite: str
    rows: Any
    tables: tuple[Table, ...]
    files: tuple[Path, ...] = ()

    def to_markdown(self) -> str:
        """Return the tables as text.

        Returns
        -------
        text : str
        """
        return to_markdown(self.tables)


def run(
    suite: str = "main",
    *,
    datasets: Iterable[str | BenchmarkDataset] | None = None,
    methods: Iterable[str | BenchmarkMethod] | None = None,
    seeds: int | None = None,
    splits: Sequence[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    n_jobs: int = -1,
    backend: str | None = None,
    address: str | None = None,
    verbose: int = 0,
    command: str = "censquant.benchmark.run",
) -> Report:
    """Run an experiment of the paper, or the same with one's own data and methods.

    Parameters
    ----------
    suite : str, default "main"
        One of `SUITES`, or ``"figures"`` for the pictures over one feature.
    datasets, methods, seeds, splits
        As in `plan`: instead of the suite's own. Pictures are of the first seed's random split.
    out : path, optional
        Folder for rows, tables and figures; each suite gets a folder of its own in it. Rows are
        saved as they finish, and rows that are there already are not made again.
    n_jobs, backend, address, verbose
        As in `run_plan`.
    command : str
        What was typed, for the heads of the files.

    Returns
    -------
    report : Report
        Tables of the rows that were asked for; the files in `out` show all rows that lie there.

    Examples
    --------
    >>> from censquant import LinearCQR
    >>> from censquant.benchmark import own_dataset, own_method, run
    >>> from censquant.datasets import load_gbsg2
    >>> mine = own_dataset("my study", *load_gbsg2(as_frame=False))
    >>> linear = own_method("linear", LinearCQR())
    >>> report = run(datasets=[mine], methods=[linear], seeds=1, n_jobs=1)
    >>> report.rows[["dataset", "method"]].values.tolist()
    [['my study', 'linear']]
    """
    look_up("suite", suite, dict.fromkeys([*SUITES, FIGURES_SUITE]))
    _check_installed(() if out is None else ("matplotlib", "pyarrow"))
    folder = None if out is None else Path(out) / suite
    if suite == FIGURES_SUITE:
        unused = {"seeds": seeds, "splits": splits, "backend": backend, "address": address}
        if given := [name for name, value in unused.items() if value is not None]:
            raise ValueError(
                f"The suite {FIGURES_SUITE!r} draws one fit of each method to the first seed's "
                f"sample, so it takes no {' or '.join(given)}."
            )
        return _figures(datasets, methods, folder)
    cells = plan(suite, datasets=datasets, methods=methods, seeds=seeds, splits=splits)
    file = None if folder is None else folder / _ROWS_FILE
    rows = frame_of(
        run_plan(cells, out=file, n_jobs=n_jobs, backend=backend, address=address, verbose=verbose)
    )
    labels = _labels(cells)
    if not len(rows):
        return Report(suite, rows, ())
    tables = (*suite_tables(rows, suite, labels), speed_table(rows, labels))
    if folder is None or file is None:
        return Report(suite, rows, tables)
    with ResultsFile(file) as results:
        everything = frame_of(results.rows)
    if len(everything) > len(rows):
        command += " (last of several commands into this folder)"
    files = write_report(
        everything,
        suite,
        folder,
        labels,
        command=command,
        versions=_versions(),
        date=dt.date.today().isoformat(),
    )
    return Report(suite, rows, tables, (file, *files))


def _check_installed(for_files: Sequence[str]) -> None:
    """Name what is missing before hours of fits rather than after."""
    for package in ("pandas", *for_files):
        if find_spec(package) is None:
            raise ModuleNotFoundError(
                f"The benchmark needs {package}, which is not installed: run "
                'pip install "censquant[bench]".'
            )


def _figures(
    datasets: Iterable[str | BenchmarkDataset] | None,
    methods: Iterable[str | BenchmarkMethod] | None,
    folder: Path | None,
) -> Report:
    if folder is None:
        raise ValueError('out must name a folder for the suite "figures", got None.')
    files = draw_one_feature_sets(folder, _labels(()), datasets=datasets, methods=methods)
    return Report(FIGURES_SUITE, frame_of([]), (), tuple(files))


def _labels(cells: Sequence[Cell]) -> Labels:
    """Return titles of all sets and methods of the table, and of a user's own."""
    sets = {**DATASETS, **{cell.dataset.name: cell.dataset for cell in cells}}
    ways = {**METHODS, **{cell.method.name: cell.method for cell in cells}}
    return Labels(
        {name: dataset.title for name, dataset in sets.items()},
        {name: method.title for name, method in ways.items()},
        {name: method.published for name, method in ways.items() if method.published},
    )


def _versions() -> dict[str, str]:
    """Return what the times and the last digits of a table depend on."""
    import numba
    import sklearn

    return {
        "censquant": __version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "scikit-learn": sklearn.__version__,
        "cores": str(joblib.cpu_count()),
    }
