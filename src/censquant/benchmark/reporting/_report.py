"""The files of a suite: rows, tables, training time and figures."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from censquant._files import write_whole
from censquant._validation import check_choice
from censquant.benchmark.reporting._ablation_figures import (
    grid_figure,
    partial_full_figure,
    variants_figure,
    ystar_figure,
)
from censquant.benchmark.reporting._figures import main_figure, render
from censquant.benchmark.reporting._latex import to_latex
from censquant.benchmark.reporting._main_extracts import compact_table, failed_table, split_table
from censquant.benchmark.reporting._peers_table import own_data_tables, peers_tables
from censquant.benchmark.reporting._sequential_table import sequential_tables
from censquant.benchmark.reporting._speed import speed_table
from censquant.benchmark.reporting._suite_tables import (
    grid_table,
    partial_full_table,
    variants_table,
    ystar_table,
)
from censquant.benchmark.reporting._summary import Labels, agreement, compare, tidy
from censquant.benchmark.reporting._tables import Table, agreement_tables, main_table, to_markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

_TABLES: dict[str, Callable[[DataFrame, Labels], list[Table]]] = {
    "sequential": sequential_tables,
    "grid": lambda frame, labels: [grid_table(frame, labels)],
    "ystar": lambda frame, labels: [ystar_table(frame, labels)],
    "crossing": lambda frame, labels: [variants_table(frame, labels, "Remedies for crossing")],
    "interpolation": lambda frame, labels: [
        variants_table(frame, labels, "Interpolated and nearest level")
    ],
    "partial_full": lambda frame, labels: [partial_full_table(frame, labels)],
    "peers": peers_tables,
}

_FIGURES: dict[str, Callable[[DataFrame, Labels], Figure]] = {
    "main": main_figure,
    "grid": grid_figure,
    "ystar": ystar_figure,
    "crossing": variants_figure,
    "interpolation": variants_figure,
    "partial_full": partial_full_figure,
}


def write_report(
    frame: DataFrame,
    suite: str,
    folder: str | Path,
    labels: Labels,
    *,
    command: str,
    versions: Mapping[str, str],
    date: str,
) -> list[Path]:
    """Paths of the files of a suite, written into the folder.

    ``results.parquet`` with the rows, ``table.md`` and ``table.tex``, ``speed.md``, and the suite's
    figure as PNG and SVG. The same rows, in whatever order, give the same bytes, and each file
    appears under its name only when it is complete.

    Parameters
    ----------
    frame : DataFrame
        One row a run; rows of other suites are left out.
    suite : str
        Name of the suite; one that is not the paper's gets the layout of the main table.
    folder : str or Path
        Where to write; made if it is missing.
    labels : Labels
        Titles, and the paper's names of the methods.
    command : str
        What was typed to get the rows.
    versions : mapping of str to str
        Package to version.
    date : str
        When it was run.

    Returns
    -------
    paths : list of Path

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from censquant.benchmark.reporting._report import write_report
    >>> from censquant.benchmark.reporting._summary import Labels
    >>> rows = pd.DataFrame({"suite": "mine", "dataset": "a", "method": "m", "split": "random",
    ...     "variant": "", "seed": [1, 2], "cindex": [0.6, 0.7], "fit_seconds": 0.1,
    ...     "n_steps": 400, "n_slots": 2, "plain_step_seconds": 0.0015})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = write_report(rows, "mine", folder, Labels(), command="censquant bench",
    ...                          versions={"censquant": "0.1"}, date="2026-01-01")
    >>> [path.name for path in paths]
    ['results.parquet', 'table.md', 'table.tex', 'speed.md', 'mine.png', 'mine.svg']
    """
    own = frame[frame["suite"] == suite] if "suite" in frame.columns else frame
    if len(frame) and not len(own):
        check_choice("suite", suite, sorted(frame["suite"].unique()))
    rows = tidy(own)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    plain_head = f"{command} ({date}; {packages})"
    head = f"`{command}` ({date}; {packages})"
    tables = suite_tables(rows, suite, labels)
    speed = to_markdown([speed_table(rows, labels)], head)
    contents = {
        "results.parquet": _parquet(rows),
        "table.md": to_markdown(tables, head).encode(),
        "table.tex": to_latex(tables, plain_head).encode(),
        "speed.md": speed.encode(),
    }
    figures = {suite: _FIGURES[suite](rows, labels)} if suite in _FIGURES else {}
    if suite not in _FIGURES and suite not in _TABLES:
        figures[suite] = main_figure(rows, labels)
    for name, figure in figures.items():
        contents |= {f"{name}.{kind}": content for kind, content in render(figure).items()}
    for name, content in contents.items():
        write_whole(folder / name, content)
    return [folder / name for name in contents]


def suite_tables(rows: DataFrame, suite: str, labels: Labels) -> list[Table]:
    """Tables of a suite, those with no rows left out, and the runs that failed."""
    if suite in _TABLES:
        tables = _TABLES[suite](rows, labels)
    else:
        comparison = compare(rows, labels)
        tables = [compact_table(rows, labels), main_table(rows, labels)]
        tables += [*own_data_tables(rows, labels), split_table(rows, labels)]
        if len(comparison):
            tables += agreement_tables(agreement(comparison), labels)
    return [table for table in (*tables, failed_table(rows, labels)) if table.rows]


def _parquet(rows: DataFrame) -> bytes:
    """Bytes of a Parquet file; runs without a trace have none instead of a number."""
    lists = [name for name in rows.columns if name.startswith("trace_")]
    whole = rows.assign(
        **{
            name: [list(value) if np.ndim(value) == 1 else None for value in rows[name]]
            for name in lists
        }
    )
    buffer = io.BytesIO()
    whole.to_parquet(buffer, index=False)
    return buffer.getvalue()
