"""Tables described once and written as Markdown or LaTeX; the paper's main layout."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from censquant.benchmark.reporting._published import PAPER_METRICS, difference_causes
from censquant.benchmark.reporting._summary import (
    HIGHER_IS_BETTER,
    METRIC_TITLES,
    Agreement,
    Labels,
    compare,
    first_split,
    summarize,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

ROUNDING_NOTE = (
    "The paper prints three decimals, so half a unit of the last one counts as part of its error."
)
"""Said below every table with a distance in standard errors."""

_RULE_NOTE = (
    "Cells are judged by the paper's standard errors, widened to as many runs as there are here "
    "where those are fewer than its ten: samples and splits are its own, so the runs are not "
    "independent of its runs and joint standard errors are too wide."
)

_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\|*_`<>[]#~"} | {"\n": " "})

_LARGEST_PLAIN = 1e6


@dataclass(frozen=True)
class Cell:
    """Plain words or a number of a table, bold where it is the best.

    Parameters
    ----------
    text : str
        Plain text; each format escapes what is special to it.
    bold : bool
        Whether to set it bold.

    Examples
    --------
    >>> from censquant.benchmark.reporting._tables import Cell
    >>> Cell("0.683 ± 0.005", bold=True).bold
    True
    """

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """A table in no format yet.

    Parameters
    ----------
    title : str
        What it shows.
    columns : tuple of str
        Names of the columns.
    rows : tuple of tuples of Cell
        As many cells a row as there are columns.
    notes : tuple of str
        Sentences below it.
    n_labels : int
        Leading columns of words, set to the left; numbers are set to the right.
    breaks : frozenset of int
        Rows that begin a new block.

    Examples
    --------
    >>> from censquant.benchmark.reporting._tables import Cell, Table, to_markdown
    >>> print(to_markdown([Table("Means", ("set", "C"), ((Cell("a"), Cell("0.6", bold=True)),))]))
    ## Means
    <BLANKLINE>
    | set | C |
    |:--|--:|
    | a | **0.6** |
    <BLANKLINE>
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    n_labels: int = 1
    breaks: frozenset[int] = field(default_factory=frozenset)


def escape_markdown(text: str) -> str:
    r"""Text that Markdown shows as it stands, also inside a table.

    Examples
    --------
    >>> from censquant.benchmark.reporting._tables import escape_markdown
    >>> print(escape_markdown("my_set | 5 %"))
    my\_set \| 5 %
    """
    return text.translate(_SPECIAL)


def to_markdown(tables: Sequence[Table], head: str = "") -> str:
    """Markdown of the tables, after a head that says where the numbers come from.

    Parameters
    ----------
    tables : sequence of Table
        What to write.
    head : str
        First paragraph, taken as it is: it may hold Markdown.

    Returns
    -------
    text : str

    Examples
    --------
    >>> from censquant.benchmark.reporting._tables import Table, to_markdown
    >>> to_markdown([Table("Nothing", ("a",), ())], "Today.").splitlines()[0]
    'Today.'
    """
    parts = [head] if head else []
    for table in tables:
        rules = ["|:--"] * table.n_labels + ["|--:"] * (len(table.columns) - table.n_labels)
        lines = [_line(escape_markdown(name) for name in table.columns), "".join(rules) + "|"]
        for row in table.rows:
            lines.append(_line(_marked(cell) for cell in row))
        notes = [escape_markdown(note) for note in table.notes]
        parts += [f"## {escape_markdown(table.title)}", "\n".join(lines), *notes]
    return "\n\n".join(parts) + "\n"


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _marked(cell: Cell) -> str:
    text = escape_markdown(cell.text)
    return f"**{text}**" if cell.bold else text


def number(value: float, digits: int = 3) -> str:
    """Text of a number as it is printed, with a true minus sign; a dash where there is none.

    Examples
    --------
    >>> from censquant.benchmark.reporting._tables import number
    >>> number(-1.5), number(float("nan")), number(-0.0001), number(7.7e11)
    ('−1.500', '–', '0.000', '7.7e+11')
    """
    if math.isnan(value):
        return "–"
    # Some method fails on some set by many powers of ten: no table is as wide as that.
    is_plain = digits == 0 or abs(value) < _LARGEST_PLAIN
    text = f"{value:.{digits}f}" if is_plain else f"{value:.2g}"
    # A tiny negative number would print as -0.000.
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def signed(value: float, digits: int = 1) -> str:
    """Text of a number with its sign, also where it is positive."""
    text = number(value, digits)
    return f"+{text}" if text[0].isdigit() and float(text) > 0 else text


def plus_minus(mean: float, error: float, digits: int = 3) -> str:
    """Mean and its error; the mean alone where no error is known."""
    text = number(mean, digits)
    return text if math.isnan(error) else f"{text} ± {number(error, digits)}"


def with_distance(text: str, away: float) -> str:
    """Text of a printed number, with how far ours lies from it in brackets where that is known."""
    return text if math.isnan(away) else f"{text} ({signed(away)})"


def best_in_print(means: Iterable[float], metric: str) -> str | None:
    """Text of the best mean, which all that print the same share; None where there is no choice.

    Examples
    --------
    >>> from censquant.benchmark.reporting._tables import best_in_print
    >>> best_in_print([0.61, 0.62], "cindex"), best_in_print([0.61, float("nan")], "cindex")
    ('0.620', None)
    """
    there = [mean for mean in means if not math.isnan(mean)]
    if len(there) < 2:
        return None
    return number(max(there) if metric in HIGHER_IS_BETTER else min(there))


def main_table(frame: DataFrame, labels: Labels) -> Table:
    """Full results in the paper's layout, with its numbers beside ours.

    One row a dataset and method, one pair of columns a metric: mean and standard error over the
    runs, then the paper's and in brackets how far ours lies from it in its standard errors. The
    best method of a dataset is bold where there are several; methods that print the same are all
    best.

    Parameters
    ----------
    frame : DataFrame
        One row a run; the random split and no variant are shown.
    labels : Labels
        Titles, and the paper's names of the methods.

    Returns
    -------
    table : Table

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant.benchmark.reporting._summary import Labels
    >>> from censquant.benchmark.reporting._tables import main_table
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
    rows: list[tuple[Cell, ...]] = []
    breaks, failed = set(), []
    for dataset in labels.ordered_datasets(summary["dataset"]):
        breaks.add(len(rows))
        own = summary[summary["dataset"] == dataset]
        for method in labels.ordered_methods(own["method"]):
            row = [Cell(labels.dataset(dataset)), Cell(labels.method(method))]
            for metric in metrics:
                place = dataset, method, metric
                row.append(_score(scores, place, best))
                if metric in with_paper:
                    row.append(Cell(_paper(comparison, place)))
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


def _score(scores: DataFrame, place: tuple[str, str, str], best: set[tuple[str, str, str]]) -> Cell:
    if place not in scores.index:
        return Cell("–")
    row = scores.loc[place]
    return Cell(plus_minus(row["mean"], row["se"]), bold=place in best)


def _paper(comparison: DataFrame, place: tuple[str, str, str]) -> str:
    if place not in comparison.index:
        return "–"
    row = comparison.loc[place]
    text = plus_minus(row["published_mean"], row["published_se"])
    return with_distance(text, row["published_distance"])


def runs_note(counts: Series) -> str:
    """Sentence on the means of a table whose cells have these numbers of runs."""
    if not counts.any():
        return "No run succeeded."
    low, high = int(counts.min()), int(counts.max())
    if high == 1:
        return "One run a cell, so there is no standard error."
    runs = f"{low}" if low == high else f"{low} to {high}"
    return f"Mean ± one standard error over {runs} runs."


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
    >>> from censquant.benchmark.reporting._summary import Labels, agreement
    >>> from censquant.benchmark.reporting._tables import agreement_tables
    >>> distances = {"published_distance": [1.0], "joint_distance": [0.5]}
    >>> near = agreement(pd.DataFrame({"method": ["a"], **distances}))
    >>> [cell.text for cell in agreement_tables(near, Labels())[0].rows[0]]
    ['a', '1 of 1', '100.0 %', '1 of 1', '100.0 %']
    """
    methods = labels.ordered_methods(set(near.shares["method"]) - {"all"})
    shares = near.shares.set_index("method").loc[[*methods, "all"]]
    rows = tuple(
        (
            Cell("All methods" if line.Index == "all" else labels.method(line.Index)),
            Cell(f"{line.within} of {line.cells}"),
            Cell(_percent(line.share)),
            Cell(f"{line.within_joint} of {line.cells_joint}"),
            Cell(_percent(line.share_joint)),
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
        rows.append(tuple(Cell(text) for text in texts))
    names = ("Dataset", "Method", "Metric", "Cause", "Ours", "Paper")
    return Table(title, (*names, "In its se", "In joint se", "Runs"), tuple(rows), n_labels=4)
