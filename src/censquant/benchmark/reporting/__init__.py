"""From the rows of a benchmark to tables and figures, beside the paper's numbers."""

from censquant.benchmark.reporting._figure_1d import OneDimensional, one_dimensional_figure
from censquant.benchmark.reporting._figures import render
from censquant.benchmark.reporting._published import published_table
from censquant.benchmark.reporting._report import suite_tables, write_report
from censquant.benchmark.reporting._speed import speed_table, training_time
from censquant.benchmark.reporting._summary import (
    Agreement,
    Labels,
    agreement,
    compare,
    summarize,
)
from censquant.benchmark.reporting._tables import Table, to_markdown

__all__ = [
    "Agreement",
    "Labels",
    "OneDimensional",
    "Table",
    "agreement",
    "compare",
    "one_dimensional_figure",
    "published_table",
    "render",
    "speed_table",
    "suite_tables",
    "summarize",
    "to_markdown",
    "training_time",
    "write_report",
]
