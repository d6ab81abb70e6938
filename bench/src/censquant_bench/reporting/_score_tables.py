"""Methods side by side by the scores that order them and by time, their ranks, and failed runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from censquant.cli._tables import Table, TableCell
from censquant_bench.reporting._summary import (
    HIGHER_IS_BETTER,
    Labels,
    fine,
    mean_and_error,
    tidy,
)
from censquant_bench.reporting._tables import best_in_print, number, plus_minus, runs_note

if TYPE_CHECKING:
    from pandas import DataFrame

_RANKED = {
    "cindex": "C-index",
    "cindex_ipcw": "C-index IPCW",
    "pinball": "Pinball",
    "crps": "CRPS",
    "pit_deviation": "PIT deviation",
}


def score_tables(frame: DataFrame, labels: Labels, title: str = "Scores and times") -> list[Table]:
    """Scores and times of all methods, one block per dataset and split, and the mean ranks.

    The best of a block is bold in the scores that order methods. A-calibration is the share of runs
    in which it is refused at 5 %: about 5 % is right, and a low p-value of one run is no verdict.
    Coverage is right near its nominal value, so more is not better.

    Parameters
    ----------
    frame : DataFrame
        One row per run.
    labels : Labels
        Titles.
    title : str
        What the table of scores shows.

    Returns
    -------
    tables : list of Table
        Scores, then mean ranks.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting import Labels, score_tables
    >>> rows = pd.DataFrame({"suite": "peers", "dataset": "a", "method": ["m", "n"], "seed": 1,
    ...     "split": "random", "variant": "", "cindex": [0.6, 0.7]})
    >>> [[cell.text for cell in row] for row in score_tables(rows, Labels())[1].rows]
    [['n', '1', '1.0', '1.0'], ['m', '1', '2.0', '2.0']]
    """
    rows = fine(frame)
    rows = rows[rows["variant"] == ""]
    ranked = [name for name in _RANKED if name in rows and rows[name].notna().any()]
    blocks = [
        (dataset, split)
        for dataset in labels.ordered_datasets(rows["dataset"])
        for split in ("random", "grouped")
        if len(rows[(rows["dataset"] == dataset) & (rows["split"] == split)])
    ]
    columns = ["Dataset", "Method", *(_RANKED[name] for name in ranked), "A-cal. refused"]
    columns += ["Coverage (nominal)", "Fit s", "Predict s"]
    lines: list[tuple[TableCell, ...]] = []
    breaks, means = set(), []
    for dataset, split in blocks:
        own = rows[(rows["dataset"] == dataset) & (rows["split"] == split)]
        methods = labels.ordered_methods(own["method"])
        runs = {method: own[own["method"] == method] for method in methods}
        scores = {m: {name: mean_and_error(runs[m][name]) for name in ranked} for m in methods}
        best = {name: best_in_print([scores[m][name][0] for m in methods], name) for name in ranked}
        if split == "grouped" or (dataset, "grouped") not in blocks:
            means.append({m: {name: scores[m][name][0] for name in ranked} for m in methods})
        breaks.add(len(lines))
        block = labels.dataset(dataset) + (" (grouped split)" if split == "grouped" else "")
        for method in methods:
            line = [TableCell(block), TableCell(labels.method(method))]
            for name in ranked:
                mean, error, _ = scores[method][name]
                line.append(TableCell(plus_minus(mean, error), bold=number(mean) == best[name]))
            line += [TableCell(_refused(runs[method])), TableCell(_coverage(runs[method]))]
            line += [
                TableCell(_seconds(runs[method], f"{what}_seconds")) for what in ("fit", "predict")
            ]
            lines.append(tuple(line))
    counts = rows.groupby(["dataset", "split", "method"]).size()
    note = f"{runs_note(counts)} Bold: no other method is better in print, which is no test."
    refused = (
        "A-cal. refused: share of runs with a p-value of A-calibration below 0.05. Coverage: share "
        "of events between the outermost quantiles; two numbers are the bounds, where follow-up "
        "ends too early to tell."
    )
    table = Table(
        title,
        tuple(columns),
        tuple(lines),
        (note, refused),
        n_labels=2,
        breaks=frozenset(breaks - {0}),
    )
    return [table, _ranks(means, ranked, labels)]


def _refused(runs: DataFrame) -> str:
    there = [p for p in runs.get("a_calibration_p", []) if not math.isnan(p)]
    return f"{100 * sum(p < 0.05 for p in there) / len(there):.0f} %" if there else "–"


def _coverage(runs: DataFrame) -> str:
    reached, low, high, nominal = (
        mean_and_error(runs.get(name, []))[0]
        for name in ("coverage", "coverage_low", "coverage_high", "nominal_coverage")
    )
    if any(math.isnan(value) for value in runs.get("coverage", [])):
        # Some runs have no value: a mean of the others would be of other rows.
        found = "–" if math.isnan(low) else f"{number(low)} to {number(high)}"
    else:
        found = number(reached)
    return found if found == "–" else f"{found} ({number(nominal)})"


def _seconds(runs: DataFrame, column: str) -> str:
    mean, *_ = mean_and_error(runs.get(column, []))
    return "–" if math.isnan(mean) else f"{mean:.3g}"


def _ranks(means: list[dict[str, dict[str, float]]], ranked: list[str], labels: Labels) -> Table:
    """Mean place of each method among those that ran on a dataset, the best method first."""
    import pandas as pd

    places: dict[str, dict[str, list[float]]] = {}
    counts: dict[str, int] = {}
    for block in means:
        for method in block:
            counts[method] = counts.get(method, 0) + 1
        for name in ranked:
            values = pd.Series({method: block[method][name] for method in block}).dropna()
            for method, rank in values.rank(ascending=name not in HIGHER_IS_BETTER).items():
                places.setdefault(str(method), {}).setdefault(name, []).append(float(rank))
    average = {
        method: {name: mean_and_error(ranks.get(name, []))[0] for name in ranked}
        for method, ranks in places.items()
    }
    overall = {method: mean_and_error(list(ranks.values()))[0] for method, ranks in average.items()}
    order = sorted(labels.ordered_methods(overall), key=lambda method: overall[method])
    lines = []
    for method in order:
        texts = [labels.method(method), str(counts[method])]
        texts += [number(average[method][name], 1) for name in ranked]
        lines.append(tuple(TableCell(text) for text in (*texts, number(overall[method], 1))))
    note = (
        "Mean place among the methods that ran on a dataset, 1 the best; by the grouped split "
        "where rows repeat. Compare only methods that ran on the same datasets."
    )
    columns = ("Method", "Datasets", *(_RANKED[name] for name in ranked), "Mean")
    return Table("Mean ranks", columns, tuple(lines), (note,))


def failed_table(frame: DataFrame, labels: Labels) -> Table:
    """Table of the runs that failed, one row per cell and error; with no rows if all went well.

    Parameters
    ----------
    frame : DataFrame
        One row per run.
    labels : Labels
        Titles.

    Returns
    -------
    table : Table

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting import Labels, failed_table
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
                    lines.append(tuple(TableCell(text) for text in (*texts, key[4])))
    columns = ("Dataset", "Method", "Split", "Variant", "Seeds", "Error")
    notes = ("These runs are in no mean.",)
    return Table("Runs that failed", columns, tuple(lines), notes, n_labels=6)
