"""Methods of other packages beside ours, by every score and by time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from censquant.benchmark.reporting._published import published_table
from censquant.benchmark.reporting._summary import HIGHER_IS_BETTER, Labels, fine, mean_and_error
from censquant.benchmark.reporting._tables import (
    Cell,
    Table,
    best_in_print,
    number,
    plus_minus,
    runs_note,
)

if TYPE_CHECKING:
    from pandas import DataFrame

_RANKED = {
    "cindex": "C-index",
    "cindex_ipcw": "C-index IPCW",
    "pinball": "Pinball",
    "crps": "CRPS",
    "pit_deviation": "PIT deviation",
}
_ALLOW_FOR_CENSORING = (*(name for name in _RANKED if name != "cindex"), "coverage", "coverage_low")
_PEERS_TITLE = "Scores and times beside other packages"


def peers_tables(frame: DataFrame, labels: Labels, title: str = _PEERS_TITLE) -> list[Table]:
    """Scores and times of all methods, one block a dataset and split, and the mean ranks.

    The best of a block is bold in the scores that order methods. A-calibration is the share of runs
    in which it is refused at 5 %: about 5 % is right, and a low p-value of one run is no verdict.
    Coverage is right near its nominal value, so more is not better.

    Parameters
    ----------
    frame : DataFrame
        One row a run.
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
    >>> from censquant.benchmark.reporting._peers_table import peers_tables
    >>> from censquant.benchmark.reporting._summary import Labels
    >>> rows = pd.DataFrame({"suite": "peers", "dataset": "a", "method": ["m", "n"], "seed": 1,
    ...     "split": "random", "variant": "", "cindex": [0.6, 0.7]})
    >>> [[cell.text for cell in row] for row in peers_tables(rows, Labels())[1].rows]
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
    lines: list[tuple[Cell, ...]] = []
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
            line = [Cell(block), Cell(labels.method(method))]
            for name in ranked:
                mean, error, _ = scores[method][name]
                line.append(Cell(plus_minus(mean, error), bold=number(mean) == best[name]))
            line += [Cell(_refused(runs[method])), Cell(_coverage(runs[method]))]
            line += [Cell(_seconds(runs[method], f"{what}_seconds")) for what in ("fit", "predict")]
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


def own_data_tables(frame: DataFrame, labels: Labels) -> list[Table]:
    """Scores that allow for censoring on the datasets that the paper does not have.

    Order and calibration as the paper takes them are for holding against its numbers; with data of
    one's own there are none, and censored rows bend both.

    Parameters
    ----------
    frame : DataFrame
        One row a run.
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
    >>> from censquant.benchmark.reporting._peers_table import own_data_tables
    >>> from censquant.benchmark.reporting._summary import Labels
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
    scores, ranks = peers_tables(own, labels, "Scores that allow for censoring")
    return [scores, ranks] if own["dataset"].nunique() > 1 else [scores]


def _refused(runs: DataFrame) -> str:
    there = [p for p in runs.get("a_calibration_p", []) if not math.isnan(p)]
    return f"{100 * sum(p < 0.05 for p in there) / len(there):.0f} %" if there else "–"


def _coverage(runs: DataFrame) -> str:
    reached, low, high, nominal = (
        mean_and_error(runs.get(name, []))[0]
        for name in ("coverage", "coverage_low", "coverage_high", "nominal_coverage")
    )
    if any(math.isnan(value) for value in runs.get("coverage", [])):
        # Of some runs the data do not tell: a mean of the others would be of other rows.
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
        lines.append(tuple(Cell(text) for text in (*texts, number(overall[method], 1))))
    note = (
        "Mean place among the methods that ran on a dataset, 1 the best; by the grouped split "
        "where rows repeat. Compare only methods that ran on the same datasets."
    )
    columns = ("Method", "Datasets", *(_RANKED[name] for name in ranked), "Mean")
    return Table("Mean ranks", columns, tuple(lines), (note,))
