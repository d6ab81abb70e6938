"""Short tables out of the main results: one method beside the paper, and both splits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from censquant.benchmark.reporting._published import PAPER_METRICS
from censquant.benchmark.reporting._summary import (
    METRIC_TITLES,
    Labels,
    compare,
    preferred_metrics,
    summarize,
    tidy,
)
from censquant.benchmark.reporting._tables import ROUNDING_NOTE, Cell, Table, plus_minus, signed

if TYPE_CHECKING:
    from pandas import DataFrame


def compact_table(frame: DataFrame, labels: Labels, method: str = "cqrnn") -> Table:
    """One method beside the paper, one row a dataset, by the metric the paper prefers for it.

    Parameters
    ----------
    frame : DataFrame
        One row a run.
    labels : Labels
        Titles, and the paper's names of the methods.
    method : str
        Name of the method in the rows.

    Returns
    -------
    table : Table
        With no rows if the frame has no run of `method` that the paper has too.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant.benchmark.reporting._main_extracts import compact_table
    >>> from censquant.benchmark.reporting._summary import Labels
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "gbsg", "method": "cqrnn", "variant": "",
    ...                      "split": "random", "seed": [1, 2], "cindex": [0.684, 0.69]})
    >>> table = compact_table(rows, Labels({"gbsg": "GBSG"}, {}, {"cqrnn": "CQRNN"}))
    >>> [cell.text for cell in table.rows[0]]
    ['GBSG', 'C-index', '0.687 ± 0.003', '0.683 ± 0.005', '+0.4']
    """
    comparison = compare(frame, labels)
    comparison = comparison[comparison["method"] == method]
    rows = []
    for dataset in labels.ordered_datasets(comparison["dataset"]):
        cells = comparison[comparison["dataset"] == dataset].set_index("metric")
        shown = [cells.loc[metric] for metric in preferred_metrics(cells.index)]
        texts = [
            labels.dataset(dataset),
            *(
                ", ".join(part)
                for part in zip(
                    *(
                        (
                            METRIC_TITLES[row.name],
                            plus_minus(row["mean"], row["se"]),
                            plus_minus(row["published_mean"], row["published_se"]),
                            signed(row["published_distance"]),
                        )
                        for row in shown
                    ),
                    strict=True,
                )
            ),
        ]
        rows.append(tuple(Cell(text) for text in texts))
    title = labels.method(method)
    columns = ("Dataset", "Metric", title, "Paper", "Difference in se")
    notes = (f"Difference in the paper's standard errors. {ROUNDING_NOTE}",)
    return Table(f"{title} beside the paper", columns, tuple(rows), notes, n_labels=2)


def split_table(frame: DataFrame, labels: Labels) -> Table:
    """Random and grouped split side by side, with what changes from the first to the second.

    Where rows repeat, a random split shows the test rows in training and rewards memory; the
    grouped one does not. The error of the change joins both standard errors: the test rows differ,
    so runs of one seed are no pair.

    Parameters
    ----------
    frame : DataFrame
        One row a run.
    labels : Labels
        Titles.

    Returns
    -------
    table : Table
        With no rows if no dataset has both splits.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant.benchmark.reporting._main_extracts import split_table
    >>> from censquant.benchmark.reporting._summary import Labels
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "whas", "method": "cqrnn", "variant": "",
    ...                      "split": ["random", "grouped"], "seed": 1, "cindex": [0.85, 0.75]})
    >>> [cell.text for cell in split_table(rows, Labels()).rows[0]]
    ['whas', 'cqrnn', 'C-index', '0.850', '0.750', '−0.100']
    """
    summary = summarize(frame, PAPER_METRICS)
    summary = summary[summary["variant"] == ""]
    scores = summary.set_index(["dataset", "method", "metric", "split"])
    rows: list[tuple[Cell, ...]] = []
    breaks = set()
    for dataset in labels.ordered_datasets(summary["dataset"]):
        own = summary[summary["dataset"] == dataset]
        before = len(rows)
        for method in labels.ordered_methods(own["method"]):
            for metric in preferred_metrics(own["metric"]):
                places = [(dataset, method, metric, split) for split in ("random", "grouped")]
                if all(place in scores.index for place in places):
                    both = [scores.loc[place] for place in places]
                    change = both[1]["mean"] - both[0]["mean"]
                    error = math.hypot(both[0]["se"], both[1]["se"])
                    words = labels.dataset(dataset), labels.method(method), METRIC_TITLES[metric]
                    texts = [plus_minus(row["mean"], row["se"]) for row in both]
                    texts.append(plus_minus(change, error))
                    rows.append(tuple(Cell(text) for text in (*words, *texts)))
        if len(rows) > before:
            breaks.add(before)
    return Table(
        "Random and grouped split",
        ("Dataset", "Method", "Metric", "Random", "Grouped", "Grouped − random"),
        tuple(rows),
        ("Rows of one group (duplicates, patient, engine) are on one side of the grouped split.",),
        n_labels=3,
        breaks=frozenset(breaks - {0}),
    )


def failed_table(frame: DataFrame, labels: Labels) -> Table:
    """Table of the runs that failed, one row a cell and error; with no rows if all went well.

    Parameters
    ----------
    frame : DataFrame
        One row a run.
    labels : Labels
        Titles.

    Returns
    -------
    table : Table

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant.benchmark.reporting._main_extracts import failed_table
    >>> from censquant.benchmark.reporting._summary import Labels
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "a", "method": "m", "split": "random",
    ...                      "variant": "", "seed": [1, 2], "error": ["", "NaN loss"]})
    >>> [cell.text for cell in failed_table(rows, Labels()).rows[0]]
    ['a', 'm', 'random', '', '2', 'NaN loss']
    """
    rows = tidy(frame)
    bad = rows[rows["error"] != ""]
    cells = dict(iter(bad.groupby(["dataset", "method", "split", "variant", "error"])))
    lines = []
    for dataset in labels.ordered_datasets(bad["dataset"]):
        for method in labels.ordered_methods(bad["method"]):
            for key, runs in cells.items():
                if key[:2] == (dataset, method):
                    seeds = ", ".join(str(seed) for seed in runs["seed"])
                    texts = [labels.dataset(dataset), labels.method(method), *key[2:4], seeds]
                    lines.append(tuple(Cell(text) for text in (*texts, key[4])))
    columns = ("Dataset", "Method", "Split", "Variant", "Seeds", "Error")
    notes = ("These runs are in no mean.",)
    return Table("Runs that failed", columns, tuple(lines), notes, n_labels=6)
