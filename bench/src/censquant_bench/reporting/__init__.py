"""From the rows of a benchmark to tables and figures: the parts that reports are made of."""

from censquant.cli._tables import Table, TableCell
from censquant_bench.reporting._comparison import Comparison, ranks_figure, ratios_figure
from censquant_bench.reporting._figures import (
    new_figure,
    readable_log,
    render,
    shared_legend,
    style,
    unclutter,
)
from censquant_bench.reporting._paired import (
    INTERVAL_NOTE,
    PairedDifference,
    paired_difference,
    t_quantile,
)
from censquant_bench.reporting._report import write_report
from censquant_bench.reporting._score_tables import failed_table, score_tables
from censquant_bench.reporting._speed import TrainingTime, speed_table, training_time
from censquant_bench.reporting._standing import Published, Standing, critical_difference, standing
from censquant_bench.reporting._summary import (
    HIGHER_IS_BETTER,
    SCORES,
    Labels,
    fine,
    first_split,
    mean_and_error,
    random_split,
    summarize,
    tidy,
)
from censquant_bench.reporting._tables import (
    best_in_print,
    escape_markdown,
    number,
    plus_minus,
    runs_note,
    signed,
    to_latex,
    to_markdown,
)

__all__ = [
    "HIGHER_IS_BETTER",
    "INTERVAL_NOTE",
    "SCORES",
    "Comparison",
    "Labels",
    "PairedDifference",
    "Published",
    "Standing",
    "Table",
    "TableCell",
    "TrainingTime",
    "best_in_print",
    "critical_difference",
    "escape_markdown",
    "failed_table",
    "fine",
    "first_split",
    "mean_and_error",
    "new_figure",
    "number",
    "paired_difference",
    "plus_minus",
    "random_split",
    "ranks_figure",
    "ratios_figure",
    "readable_log",
    "render",
    "runs_note",
    "score_tables",
    "shared_legend",
    "signed",
    "speed_table",
    "standing",
    "style",
    "summarize",
    "t_quantile",
    "tidy",
    "to_latex",
    "to_markdown",
    "training_time",
    "unclutter",
    "write_report",
]
