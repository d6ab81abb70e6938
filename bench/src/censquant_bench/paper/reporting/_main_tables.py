"""The main results in the paper's layout, beside its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from censquant_bench.paper._published import METRIC_TITLES, PAPER_METRICS, difference_causes
from censquant_bench.paper.reporting._comparison import (
    ROUNDING_NOTE,
    Agreement,
    agreement,
    compare,
    with_distance,
)
from censquant_bench.paper.reporting._main_extracts import (
    compact_table,
    own_data_tables,
    split_table,
)
from censquant_bench.reporting import (
    Labels,
    Table,
    TableCell,
    best_in_print,
    first_split,
    number,
    plus_minus,
    runs_note,
    signed,
    summarize,
)

if TYPE_CHECKING:
    from pandas import DataFrame

_RULE_NOTE = (
    "Cells are judged by the paper's standard errors, widened to as many runs as there are here "
    "where those are fewer than its ten: samples and splits are its own, so the runs are not "
    "independent of its runs and joint standard errors are too wide."
)


def main_tables(frame: DataFrame, labels: Labels) -> list[Table]:
    """Tables of the suite ``main``: extracts, full results, and the agreement with the paper.

    Parameters
    ----------
    frame : DataFrame
        One row per run.
    labels : Labels
        Titles.

    Returns
    -------
    tables : list of Table

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper.reporting import main_tables
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "mine", "method": "m", "split": "random",
    ...                      "variant": "", "seed": [1, 2], "cindex": [0.6, 0.7]})
    >>> [table.title for table in main_tables(rows, Labels()) if table.rows]
    ['Full results']
    """
    comparison = compare(frame, labels)
    tables = [compact_table(frame, labels), main_table(frame, labels)]
    tables += [*own_data_tables(frame, labels), split_table(frame, labels)]
    if len(comparison):
        tables += agreement_tables(agreement(comparison), labels)
    return tables


def main_table(frame: DataFrame, labels: Labels) -> Table:
    """Full results in the paper's layout, with its numbers beside ours.

    One row per dataset and method, one pair of columns per metric: mean and standard error over the
    runs, then the paper's and in brackets how far ours lies from it in its standard errors. The
    best method of a dataset is bold where there are several; methods that print the same are all
    best.

    Parameters
    ----------
    frame : DataFrame
        One row per run; the random split and no variant are shown.
    labels : Labels
        Titles.

    Returns
    -------
    table : Table

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting import Labels
    >>> from censquant_bench.paper.reporting import main_table
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "mine", "method": "m", "split": "random",
    ...                      "variant": "", "seed": [1, 2], "cindex": [0.6, 0.7]})
    >>> [cell.text for cell in main_table(rows, Labels()).rows[0]]
    ['mine', 'm', '0.650 ± 0.050']
    """
    summary = first_split(summarize(frame, PAPER_METRICS))
    summary = summary[summary["variant"] == ""]
    comparison = compare(frame, labels).set_index(["dataset", "method", "metric"])
    with_paper = set(comparison.index.get_level_values("metric"))
    metrics = [name for name in PAPER_METRICS if name in set(summary["metric"])]
    scores = summary.set_index(["dataset", "method", "metric"])
    best = _best(summary)

    columns = ["Dataset", "Method"]
    for metric in metrics:
        columns += [METRIC_TITLES[metric], *["paper"] * (metric in with_paper)]
    rows: list[tuple[TableCell, ...]] = []
    breaks, failed = set(), []
    for dataset in labels.ordered_datasets(summary["dataset"]):
        breaks.add(len(rows))
        own = summary[summary["dataset"] == dataset]
        for method in labels.ordered_methods(own["method"]):
            row = [TableCell(labels.dataset(dataset)), TableCell(labels.method(method))]
            for metric in metrics:
                place = dataset, method, metric
                row.append(_score(scores, place, best))
                if metric in with_paper:
                    row.append(TableCell(_paper(comparison, place)))
            rows.append(tuple(row))
            bad = int(own.loc[own["method"] == method, "n_failed"].max())
            if bad:
                failed.append(f"{labels.dataset(dataset)} {labels.method(method)} {bad}")
    return Table(
        "Full results",
        tuple(columns),
        tuple(rows),
        (runs_note(summary["n_runs"]), *_distance_note(with_paper), *_failed_note(failed)),
        n_labels=2,
        breaks=frozenset(breaks - {0}),
    )


def _best(summary: DataFrame) -> set[tuple[str, str, str]]:
    """Cells that no other method of the dataset beats in print."""
    best = set()
    for (dataset, metric), cells in summary.dropna(subset="mean").groupby(["dataset", "metric"]):
        ties = cells.loc[cells["mean"].map(number) == best_in_print(cells["mean"], metric)]
        best |= {(dataset, method, metric) for method in ties["method"]}
    return best


def _score(
    scores: DataFrame, place: tuple[str, str, str], best: set[tuple[str, str, str]]
) -> TableCell:
    if place not in scores.index:
        return TableCell("–")
    row = scores.loc[place]
    return TableCell(plus_minus(row["mean"], row["se"]), bold=place in best)


def _paper(comparison: DataFrame, place: tuple[str, str, str]) -> str:
    if place not in comparison.index:
        return "–"
    row = comparison.loc[place]
    text = plus_minus(row["published_mean"], row["published_se"])
    return with_distance(text, row["published_distance"])


def _distance_note(with_paper: object) -> list[str]:
    if not with_paper:
        return []
    return [f"In brackets: ours minus the paper's in its standard errors. {ROUNDING_NOTE}"]


def _failed_note(failed: Sequence[str]) -> list[str]:
    return [f"Runs that failed and are in no mean: {', '.join(failed)}."] if failed else []


def agreement_tables(near: Agreement, labels: Labels) -> list[Table]:
    """Share of cells near the paper's by method, and the cells that are not near with their cause.

    Parameters
    ----------
    near : Agreement
        What `agreement` returned.
    labels : Labels
        Titles.

    Returns
    -------
    tables : list of Table

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper import agreement
    >>> from censquant_bench.reporting import Labels
    >>> from censquant_bench.paper.reporting import agreement_tables
    >>> distances = {"published_distance": [1.0], "joint_distance": [0.5]}
    >>> near = agreement(pd.DataFrame({"method": ["a"], **distances}))
    >>> [cell.text for cell in agreement_tables(near, Labels())[0].rows[0]]
    ['a', '1 of 1', '100.0 %', '1 of 1', '100.0 %']
    """
    methods = labels.ordered_methods(set(near.shares["method"]) - {"all"})
    shares = near.shares.set_index("method").loc[[*methods, "all"]]
    rows = tuple(
        (
            TableCell("All methods" if line.Index == "all" else labels.method(line.Index)),
            TableCell(f"{line.within} of {line.cells}"),
            TableCell(_percent(line.share)),
            TableCell(f"{line.within_joint} of {line.cells_joint}"),
            TableCell(_percent(line.share_joint)),
        )
        for line in shares.itertuples()
    )
    limit = f"{near.limit:g} standard errors of the paper"
    failed = f"Not judged, because every run failed: {near.unjudged} cells."
    notes = (ROUNDING_NOTE, _RULE_NOTE, *[failed] * (near.unjudged > 0))
    columns = ("Method", "In its se", "Share", "In joint se", "Share")
    tables = [Table(f"Within {limit}", columns, rows, notes, breaks=frozenset({len(methods)}))]
    if len(near.outside):
        tables.append(_outside(near.outside, labels, f"Outside {limit}"))
    return tables


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.1f} %"


def _outside(cells: DataFrame, labels: Labels, title: str) -> Table:
    causes = difference_causes()
    rows = []
    for line in cells.itertuples():
        texts = [
            labels.dataset(line.dataset),
            labels.method(line.method),
            METRIC_TITLES[line.metric],
            causes.get((line.dataset, line.method, line.metric), "not known"),
            plus_minus(line.mean, line.se),
            plus_minus(line.published_mean, line.published_se),
            signed(line.published_distance),
            signed(line.joint_distance),
            f"{line.n_runs}",
        ]
        rows.append(tuple(TableCell(text) for text in texts))
    names = ("Dataset", "Method", "Metric", "Cause", "Ours", "Paper")
    return Table(title, (*names, "In its se", "In joint se", "Runs"), tuple(rows), n_labels=4)
