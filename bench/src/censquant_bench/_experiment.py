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

from censquant._version import __version__
from censquant_bench._cells import BenchmarkCell
from censquant_bench._datasets import BenchmarkDataset
from censquant_bench._methods import BenchmarkMethod
from censquant_bench._plan import (
    chosen_datasets,
    chosen_methods,
    chosen_suite,
    plan,
)
from censquant_bench._registry import DATASETS, METHODS
from censquant_bench._results import ResultsFile
from censquant_bench._run import frame_of, run_plan
from censquant_bench._suites import Suite
from censquant_bench.reporting import Labels, Table, speed_table, to_markdown, write_report

_ROWS_FILE = "rows.jsonl"


@dataclass(frozen=True, eq=False)
class Report:
    """What an experiment found.

    Parameters
    ----------
    suite : str
        Its name.
    rows : DataFrame
        One row per run.
    tables : tuple of Table
        The suite's tables, and the training time.
    files : tuple of Path
        What was written, if a folder was given.

    Examples
    --------
    >>> from censquant_bench import run
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
    suite: str | Suite = "main",
    *,
    datasets: Iterable[str | BenchmarkDataset] | None = None,
    methods: Iterable[str | BenchmarkMethod] | None = None,
    seeds: int | range | None = None,
    splits: Sequence[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    n_jobs: int = -1,
    backend: str | None = None,
    address: str | None = None,
    verbose: int = 0,
    command: str = "censquant_bench.run",
) -> Report:
    """Run an experiment of the paper, or the same with one's own data and methods.

    Parameters
    ----------
    suite : str or Suite, default "main"
        One of `SUITES` by name, or one of your own.
    datasets, methods, seeds, splits
        As in `plan`: instead of the suite's own. Pictures are of the first seed's random split.
    out : path, optional
        Folder for rows, tables and figures; each suite gets a folder of its own in it. Rows are
        saved as they finish, and rows that the folder holds already are not recomputed.
    n_jobs, backend, address, verbose
        As in `run_plan`.
    command : str
        What was typed, for the heads of the files.

    Returns
    -------
    report : Report
        Tables of the rows that were asked for; the files in `out` show all rows in the folder.

    Examples
    --------
    >>> from censquant import LinearQuantileRegressor
    >>> from censquant_bench import own_dataset, own_method, run
    >>> from censquant.datasets import load_gbsg2
    >>> mine = own_dataset("my study", *load_gbsg2(as_frame=False))
    >>> linear = own_method("linear", LinearQuantileRegressor())
    >>> report = run(datasets=[mine], methods=[linear], seeds=1, n_jobs=1)
    >>> report.rows[["dataset", "method"]].values.tolist()
    [['my study', 'linear']]
    """
    chosen = chosen_suite(suite)
    _check_installed(() if out is None else ("matplotlib", "pyarrow"))
    folder = None if out is None else Path(out) / chosen.name
    if chosen.draw is not None:
        unused = {"seeds": seeds, "splits": splits, "backend": backend, "address": address}
        if given := [name for name, value in unused.items() if value is not None]:
            raise ValueError(
                f"The suite {chosen.name!r} draws one fit of each method to the first seed's "
                f"sample, so it takes no {' or '.join(given)}."
            )
        return _drawn(chosen, datasets, methods, folder)
    cells = plan(chosen, datasets=datasets, methods=methods, seeds=seeds, splits=splits)
    file = None if folder is None else folder / _ROWS_FILE
    rows = frame_of(
        run_plan(cells, out=file, n_jobs=n_jobs, backend=backend, address=address, verbose=verbose)
    )
    labels = _labels(cells)
    if not len(rows):
        return Report(chosen.name, rows, ())
    tables = (*chosen.report_tables(rows, labels), speed_table(rows, labels))
    if folder is None or file is None:
        return Report(chosen.name, rows, tables)
    with ResultsFile(file) as results:
        everything = frame_of(results.rows)
    if len(everything) > len(rows):
        command += " (last of several commands into this folder)"
    files = write_report(
        everything,
        chosen,
        folder,
        labels,
        command=command,
        versions=_versions(),
        date=dt.date.today().isoformat(),
    )
    return Report(chosen.name, rows, tables, (file, *files))


def _check_installed(for_files: Sequence[str]) -> None:
    """Name what is missing before hours of fits rather than after."""
    for package in ("pandas", *for_files):
        if find_spec(package) is None:
            raise ModuleNotFoundError(
                f"The benchmark needs {package}, which is not installed: run "
                "pip install censquant-bench."
            )


def _drawn(
    suite: Suite,
    datasets: Iterable[str | BenchmarkDataset] | None,
    methods: Iterable[str | BenchmarkMethod] | None,
    folder: Path | None,
) -> Report:
    if suite.draw is None or folder is None:
        raise ValueError(f"out must name a folder for the suite {suite.name!r}, got None.")
    sets = chosen_datasets(suite.datasets if datasets is None else datasets)
    ways = chosen_methods(suite.methods if methods is None else methods)
    if not sets or not ways:
        raise ValueError("There is nothing to draw: datasets and methods must name at least one.")
    files = suite.draw(folder, sets, ways, _labels(()))
    return Report(suite.name, frame_of([]), (), tuple(files))


def _labels(cells: Sequence[BenchmarkCell]) -> Labels:
    """Return titles of all sets and methods of the table, and of a user's own."""
    sets = {**DATASETS, **{cell.dataset.name: cell.dataset for cell in cells}}
    ways = {**METHODS, **{cell.method.name: cell.method for cell in cells}}
    return Labels(
        {name: dataset.title for name, dataset in sets.items()},
        {name: method.title for name, method in ways.items()},
    )


def _versions() -> dict[str, str]:
    """Return the versions that the times and the last digits of a table depend on."""
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
