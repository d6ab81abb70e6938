"""Short tables out of the main results: CQRNN beside the paper, both splits, a user's own data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from censquant_bench.paper._published import METRIC_TITLES, PAPER_METRICS, published_table
from censquant_bench.paper.reporting._comparison import ROUNDING_NOTE, compare, preferred_metrics
from censquant_bench.reporting import (
    Labels,
    Table,
    TableCell,
    plus_minus,
    score_tables,
    signed,
    summarize,
)

if TYPE_CHECKING:
    from pandas import DataFrame


_ALLOW_FOR_CENSORING = (
    "cindex_ipcw",
    "pinball",
    "crps",
    "pit_deviation",
    "coverage",
    "coverage_low",
)


def compact_table(frame: DataFrame, labels: Labels, method: str = "cqrnn") -> Table:
    """One method beside the paper, one row per dataset, by the metric the paper prefers for it.

    Parameters
    ----------
    frame : DataFrame
        One row per run.
    labels : Labels
        Titles.
    method : str
        Name of the method in the rows.

    Returns
    -------
    table : Table
        With no rows if the frame has no run of `method` that the paper has too.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper.reporting import compact_table
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "gbsg", "method": "cqrnn", "variant": "",
    ...                      "split": "random", "seed": [1, 2], "cindex": [0.684, 0.69]})
    >>> table = compact_table(rows, Labels({"gbsg": "GBSG"}))
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
        rows.append(tuple(TableCell(text) for text in texts))
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
        One row per run.
    labels : Labels
        Titles.

    Returns
    -------
    table : Table
        With no rows if no dataset has both splits.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper.reporting import split_table
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "whas", "method": "cqrnn", "variant": "",
    ...                      "split": ["random", "grouped"], "seed": 1, "cindex": [0.85, 0.75]})
    >>> [cell.text for cell in split_table(rows, Labels()).rows[0]]
    ['whas', 'cqrnn', 'C-index', '0.850', '0.750', '−0.100']
    """
    summary = summarize(frame, PAPER_METRICS)
    summary = summary[summary["variant"] == ""]
    scores = summary.set_index(["dataset", "method", "metric", "split"])
    rows: list[tuple[TableCell, ...]] = []
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
                    rows.append(tuple(TableCell(text) for text in (*words, *texts)))
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


def own_data_tables(frame: DataFrame, labels: Labels) -> list[Table]:
    """Scores that allow for censoring on the datasets that the paper does not have.

    Order and calibration as the paper computes them serve the comparison with its numbers; for
    your own data there are none, and censored rows bias both.

    Parameters
    ----------
    frame : DataFrame
        One row per run.
    labels : Labels
        Titles.

    Returns
    -------
    tables : list of Table
        Scores, then mean ranks if there are several such datasets; empty if no run has a score
        that allows for censoring.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper.reporting import own_data_tables
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "main", "dataset": ["mine", "gbsg"], "method": "m", "seed": 1,
    ...     "split": "random", "variant": "", "pinball": [0.6, 0.7]})
    >>> (table,) = own_data_tables(rows, Labels({"gbsg": "GBSG"}))
    >>> [[cell.text for cell in row][:3] for row in table.rows]
    [['mine', 'm', '0.600']]
    """
    in_paper = set(published_table()["dataset"])
    own = frame[[labels.dataset(name) not in in_paper for name in frame["dataset"]]]
    known = [name for name in _ALLOW_FOR_CENSORING if name in own and own[name].notna().any()]
    if not known:
        return []
    scores, ranks = score_tables(own, labels, "Scores that allow for censoring")
    return [scores, ranks] if own["dataset"].nunique() > 1 else [scores]
