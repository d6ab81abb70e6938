"""The files of a suite: rows, tables, training time and figure."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from censquant._files import write_whole
from censquant._validation import check_choice
from censquant_bench.reporting._figures import render
from censquant_bench.reporting._speed import speed_table
from censquant_bench.reporting._summary import Labels, tidy
from censquant_bench.reporting._tables import to_latex, to_markdown

if TYPE_CHECKING:
    from pandas import DataFrame

    from censquant_bench._suites import Suite


def write_report(
    frame: DataFrame,
    suite: Suite,
    folder: str | Path,
    labels: Labels,
    *,
    command: str,
    versions: Mapping[str, str],
    date: str,
) -> list[Path]:
    """Write the files of a suite into a folder and return their paths.

    ``results.parquet`` with the rows, ``table.md`` and ``table.tex``, ``speed.md``, and the suite's
    figure, if it has one, as PNG and SVG. The same rows, in whatever order, give the same bytes,
    and each file appears under its name only when it is complete.

    Parameters
    ----------
    frame : DataFrame
        One row per run; rows of other suites are left out.
    suite : Suite
        The experiment, which has tables and a figure of its own.
    folder : str or Path
        Where to write; made if it is missing.
    labels : Labels
        Titles.
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
    >>> from censquant_bench import Suite
    >>> from censquant_bench.reporting import Labels, write_report
    >>> suite = Suite("mine", "One method on one set.", ("a",), ("m",))
    >>> rows = pd.DataFrame({"suite": "mine", "dataset": "a", "method": "m", "split": "random",
    ...     "variant": "", "seed": [1, 2], "cindex": [0.6, 0.7], "fit_seconds": 0.1,
    ...     "n_steps": 400, "n_slots": 2, "plain_step_seconds": 0.0015})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = write_report(rows, suite, folder, Labels(), command="censquant bench",
    ...                          versions={"censquant": "0.1"}, date="2026-01-01")
    >>> [path.name for path in paths]
    ['results.parquet', 'table.md', 'table.tex', 'speed.md']
    """
    own = frame[frame["suite"] == suite.name] if "suite" in frame.columns else frame
    if len(frame) and not len(own):
        check_choice("suite", suite.name, sorted(frame["suite"].unique()))
    rows = tidy(own)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    plain_head = f"{command} ({date}; {packages})"
    head = f"`{command}` ({date}; {packages})"
    tables = suite.report_tables(rows, labels)
    speed = to_markdown([speed_table(rows, labels)], head)
    contents = {
        "results.parquet": _parquet(rows),
        "table.md": to_markdown(tables, head).encode(),
        "table.tex": to_latex(tables, plain_head).encode(),
        "speed.md": speed.encode(),
    }
    if suite.figure is not None:
        drawn = render(suite.figure(rows, labels))
        contents |= {f"{suite.name}.{kind}": content for kind, content in drawn.items()}
    for name, content in contents.items():
        write_whole(folder / name, content)
    return [folder / name for name in contents]


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
