"""The sequential grid beside CQRNN: what it costs, and paired differences of the scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from censquant_bench.paper._published import (
    METRIC_TITLES,
    published_sequential,
    published_sequential_means,
)
from censquant_bench.paper.reporting._comparison import ROUNDING_NOTE, printed_beside
from censquant_bench.reporting import (
    INTERVAL_NOTE,
    Labels,
    PairedDifference,
    Table,
    TableCell,
    mean_and_error,
    number,
    paired_difference,
    plus_minus,
    random_split,
    runs_note,
    t_quantile,
)

if TYPE_CHECKING:
    from pandas import DataFrame

_TIME_NOTE = "Times are medians over the runs; training is the whole fit."

_SIGN_NOTE = (
    "The paper prints CQRNN minus sequential grid under the opposite heading, as its own means "
    "show; its numbers have the sign of the heading here."
)
_WIDTH_NOTE = (
    "The paper's widths on these sets fit one paired standard error and not a 95 % interval: its "
    "standard errors of the two means allow none that narrow (CensDCal on WHAS, SUPPORT, GBSG)."
)
_DISTANCE_NOTE = (
    "In brackets: ours minus the paper's in joint standard errors, half-widths of intervals "
    f"divided by their t quantile. {ROUNDING_NOTE}"
)

# Runs behind the paper's intervals on the synthetic sets.
_PAPER_PAIRS = 200


def sequential_tables(
    frame: DataFrame, labels: Labels, first: str = "cqrnn", second: str = "sequential_grid"
) -> list[Table]:
    """Speed-ups, saving of parameters and paired differences, beside the paper's.

    A ratio is the median of the sequential grid over the median of CQRNN, of the runs that both
    have. Synthetic sets are judged by TQMSE, all others by C-index and CensDCal, one table each.

    Parameters
    ----------
    frame : DataFrame
        One row per run; the random split and no variant are used.
    labels : Labels
        Titles.
    first, second : str
        Names of CQRNN and of the sequential grid in the rows.

    Returns
    -------
    tables : list of Table
        Empty if no dataset has both methods.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper.reporting import sequential_tables
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "sequential", "dataset": "a", "split": "random",
    ...     "variant": "", "method": ["cqrnn"] * 2 + ["sequential_grid"] * 2,
    ...     "seed": [1, 2, 1, 2], "fit_seconds": [1.0, 1.0, 9.0, 11.0],
    ...     "predict_seconds": 0.1, "n_parameters": 100, "n_levels": 9,
    ...     "tqmse": [1.0, 2.0, 3.0, 4.0]})
    >>> [cell.text for cell in sequential_tables(rows, Labels())[0].rows[0]][:3]
    ['a', '9', '10.0×']
    """
    rows = random_split(frame)
    rows = rows[rows["variant"] == ""]
    groups: dict[tuple[str, ...], list[tuple[str, DataFrame, DataFrame]]] = {}
    for dataset in labels.ordered_datasets(rows["dataset"]):
        own = rows[rows["dataset"] == dataset]
        pair = [own[own["method"] == method].set_index("seed") for method in (first, second)]
        if not any(part.empty for part in pair):
            known = own.get("tqmse")
            synthetic = known is not None and known.notna().any()
            wanted = ("tqmse",) if synthetic else ("cindex", "censdcal")
            metrics = tuple(name for name in wanted if name in own)
            groups.setdefault(metrics, []).append((dataset, *pair))
    titles = labels.method(first), labels.method(second)
    tables = []
    for metrics, sets in groups.items():
        if metrics:
            tables.append(_table(metrics, sets, labels, titles))
        if metrics and metrics != ("tqmse",):
            tables.append(_means(metrics, sets, labels, titles))
    return tables


def _table(
    metrics: tuple[str, ...],
    sets: list[tuple[str, DataFrame, DataFrame]],
    labels: Labels,
    titles: tuple[str, str],
) -> Table:
    paper = published_sequential().set_index(["dataset", "metric"])
    columns = ["Dataset", "Levels"]
    for name in ("Training speed-up", "Test speed-up", "Parameter saving"):
        columns += [name, "paper"]
    for metric in metrics:
        columns += [f"{METRIC_TITLES[metric]} difference", "paper", "Better"]
    words = {"first": titles[0], "second": titles[1], "neither": "no difference", "unknown": "–"}
    totals: dict[str, list[str]] = {metric: [] for metric in metrics}
    rows, pairs, with_paper = [], [], False
    for dataset, first, second in sets:
        title = labels.dataset(dataset)
        texts = [title, number(first["n_levels"].max(), 0)]
        printed = paper.loc[(title, metrics[0])] if (title, metrics[0]) in paper.index else None
        with_paper |= printed is not None
        for column, name in (
            ("fit_seconds", "train_speedup"),
            ("predict_seconds", "test_speedup"),
            ("n_parameters", "parameter_saving"),
        ):
            # Of medians, and over the same runs: one run that had to wait must not decide.
            both = first.index.intersection(second.index)
            ratio = second[column].loc[both].median() / first[column].loc[both].median()
            texts += [times(ratio), times(math.nan if printed is None else printed[name])]
        for metric in metrics:
            difference = paired_difference(first[metric], second[metric])
            better = words[difference.better(metric)]
            totals[metric].append(better)
            pairs.append(difference.n_pairs)
            texts += [str(difference), _printed(paper, title, metric, difference), better]
        rows.append(tuple(TableCell(text) for text in texts))
    for word in (*titles, words["neither"]):
        cells = ["Total: " + (word if word == words["neither"] else f"{word} better")]
        cells += [""] * 7
        for metric in metrics:
            cells += ["", "", f"{totals[metric].count(word)}/{len(sets)}"]
        rows.append(tuple(TableCell(text) for text in cells))
    many = f"{min(pairs)}" if min(pairs) == max(pairs) else f"{min(pairs)} to {max(pairs)}"
    notes = [f"Pairs of runs per dataset: {many}. {INTERVAL_NOTE}", _TIME_NOTE]
    if with_paper:
        notes += [_DISTANCE_NOTE, _SIGN_NOTE, *[_WIDTH_NOTE] * (metrics != ("tqmse",))]
    return Table(
        f"{titles[1]} minus {titles[0]}: {' and '.join(METRIC_TITLES[m] for m in metrics)}",
        tuple(columns),
        tuple(rows),
        tuple(notes),
        breaks=frozenset({len(sets)}),
    )


def _means(
    metrics: tuple[str, ...],
    sets: list[tuple[str, DataFrame, DataFrame]],
    labels: Labels,
    titles: tuple[str, str],
) -> Table:
    """Mean and standard error of both methods, beside the paper's of 50 runs."""
    import pandas as pd

    paper = published_sequential_means().set_index(["dataset", "method", "metric"])
    columns = ["Dataset", "Method"]
    for metric in metrics:
        columns += [METRIC_TITLES[metric], "paper"]
    rows, counts, with_paper = [], [], False
    for dataset, *pair in sets:
        for title, name, runs in zip(titles, ("CQRNN", "Sequential grid"), pair, strict=True):
            texts = [labels.dataset(dataset), title]
            for metric in metrics:
                place = labels.dataset(dataset), name, metric
                printed = paper.loc[place] if place in paper.index else None
                mean, error, count = mean_and_error(runs[metric])
                counts.append(count)
                texts.append(plus_minus(mean, error))
                if printed is None:
                    texts.append("–")
                else:
                    texts.append(printed_beside(mean, error, printed["mean"], printed["se"]))
                    with_paper = True
            rows.append(tuple(TableCell(text) for text in texts))
    notes = [runs_note(pd.Series(counts))]
    if with_paper:
        distance = "In brackets: ours minus the paper's in joint standard errors."
        notes += [f"The paper's are of 50 runs. {distance} {ROUNDING_NOTE}"]
    return Table(
        f"{titles[0]} and {titles[1]}: means",
        tuple(columns),
        tuple(rows),
        tuple(notes),
        n_labels=2,
        breaks=frozenset(range(2, len(rows), 2)),
    )


def times(ratio: float) -> str:
    """Text of a ratio, as in 12.4×."""
    return "–" if math.isnan(ratio) else f"{number(ratio, 1)}×"


def _printed(paper: DataFrame, title: str, metric: str, ours: PairedDifference) -> str:
    if (title, metric) not in paper.index:
        return "–"
    mean, width = (float(paper.at[(title, metric), name]) for name in ("difference", "interval"))
    # On survival sets what is printed is one standard error, whatever its heading says.
    error = width / t_quantile(_PAPER_PAIRS) if metric == "tqmse" else width
    return printed_beside(ours.mean, ours.standard_error, mean, error, width=width)
