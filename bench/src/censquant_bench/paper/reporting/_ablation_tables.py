"""Tables of the ablations: grid size, y*, crossing, interpolation, partial and full steps."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from censquant_bench.paper._published import METRIC_TITLES, published_ystar
from censquant_bench.paper.reporting._comparison import (
    ROUNDING_NOTE,
    preferred_metrics,
    printed_beside,
)
from censquant_bench.reporting import (
    INTERVAL_NOTE,
    Labels,
    Table,
    TableCell,
    best_in_print,
    mean_and_error,
    number,
    paired_difference,
    plus_minus,
    random_split,
    runs_note,
)

if TYPE_CHECKING:
    from pandas import DataFrame

# What an arm that is the paper's plain method may be called, the surest first.
_PLAIN = ("", "plain", "free", "none", "nearest", "partial")

_YSTAR_NOTE = (
    "In brackets: ours minus the paper's in standard errors of ours alone, for the paper gives "
    "none here; if its ten runs varied alike, the distance in joint ones is less by a factor of "
    f"about 1.4. {ROUNDING_NOTE}"
)

_SHARES = (0.1, 0.25, 0.5, 1.0)


def grid_tables(frame: DataFrame, labels: Labels) -> list[Table]:
    """Mean TQMSE by number of rows and of levels, one row per dataset and number of rows.

    Parameters
    ----------
    frame : DataFrame
        One row per run, distinguished by ``n_train`` and ``n_levels``.
    labels : Labels
        Titles.

    Returns
    -------
    tables : list of one Table
        The lowest mean of a row is bold.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper.reporting import grid_tables
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "grid", "dataset": "a", "method": "cqrnn", "seed": 1,
    ...     "split": "random", "variant": ["n=100,M=9", "n=100,M=19"], "n_train": 100,
    ...     "n_levels": [9, 19], "tqmse": [0.5, 0.4]})
    >>> [(cell.text, cell.bold) for cell in grid_tables(rows, Labels())[0].rows[0]][2:]
    [('0.500', False), ('0.400', True)]
    """
    rows = random_split(frame)
    levels = sorted(rows["n_levels"].unique())
    lines: list[tuple[TableCell, ...]] = []
    breaks = set()
    for dataset in labels.ordered_datasets(rows["dataset"]):
        own = rows[rows["dataset"] == dataset]
        breaks.add(len(lines))
        for n_train in sorted(own["n_train"].unique()):
            cells = own[own["n_train"] == n_train]
            scores = [mean_and_error(cells.loc[cells["n_levels"] == m, "tqmse"]) for m in levels]
            best = best_in_print((mean for mean, *_ in scores), "tqmse")
            line = [TableCell(labels.dataset(dataset)), TableCell(f"{n_train:g}")]
            line += [TableCell(plus_minus(m, e), bold=number(m) == best) for m, e, _ in scores]
            lines.append(tuple(line))
    table = Table(
        "TQMSE by number of rows n and of levels M",
        ("Dataset", "n", *(f"M = {m:g}" for m in levels)),
        tuple(lines),
        (runs_note(rows.groupby(["dataset", "n_train", "n_levels"]).size()),),
        n_labels=2,
        breaks=frozenset(breaks - {0}),
    )
    return [table]


def ystar_tables(frame: DataFrame, labels: Labels) -> list[Table]:
    """Mean TQMSE by the factor of y*, each dataset with the paper's row below it.

    The paper gives means alone, so a distance from them is in our standard errors.

    Parameters
    ----------
    frame : DataFrame
        One row per run; the first number in ``variant`` is the factor.
    labels : Labels
        Titles.

    Returns
    -------
    tables : list of one Table

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper.reporting import ystar_tables
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "ystar", "dataset": "norm_light", "method": "cqrnn",
    ...     "split": "random", "variant": ["c=1.2", "c=10"], "seed": 1, "tqmse": [0.08, 0.09]})
    >>> (table,) = ystar_tables(rows, Labels({"norm_light": "Norm light"}))
    >>> [[cell.text for cell in row] for row in table.rows]
    [['Norm light', 'here', '0.080', '0.090'], ['Norm light', 'paper', '0.079', '0.081']]
    """
    rows = with_factor(random_split(frame))
    factors = sorted(rows["factor"].unique())
    paper = published_ystar().set_index(["dataset", "factor"])["tqmse"]
    lines: list[tuple[TableCell, ...]] = []
    breaks = set()
    notes = [runs_note(rows.groupby(["dataset", "factor"]).size())]
    for dataset in labels.ordered_datasets(rows["dataset"]):
        title = labels.dataset(dataset)
        own = rows[rows["dataset"] == dataset]
        breaks.add(len(lines))
        scores = [mean_and_error(own.loc[own["factor"] == c, "tqmse"]) for c in factors]
        texts = [title, "here", *(plus_minus(mean, error) for mean, error, _ in scores)]
        lines.append(tuple(TableCell(text) for text in texts))
        printed = [float(paper.get((title, c), math.nan)) for c in factors]
        if not all(math.isnan(value) for value in printed):
            texts = [
                printed_beside(mean, error, value, 0.0, width=math.nan)
                for (mean, error, _), value in zip(scores, printed, strict=True)
            ]
            lines.append(tuple(TableCell(text) for text in (title, "paper", *texts)))
            notes += [_YSTAR_NOTE] * (_YSTAR_NOTE not in notes)
    table = Table(
        "TQMSE by y* = c max(y)",
        ("Dataset", "Runs", *(f"c = {c:g}" for c in factors)),
        tuple(lines),
        tuple(notes),
        n_labels=2,
        breaks=frozenset(breaks - {0}),
    )
    return [table]


def with_factor(rows: DataFrame) -> DataFrame:
    """Rows with the first number of each variant as ``factor``."""
    found = [re.search(r"\d+(\.\d+)?", variant) for variant in rows["variant"]]
    for match, variant in zip(found, rows["variant"], strict=True):
        if match is None:
            raise ValueError(
                f"variant must hold the factor of y*, as in 'c=1.2', got {variant!r}; "
                "pass rows of the suite ystar."
            )
    return rows.assign(factor=[float(match.group()) for match in found if match])


def variants_tables(frame: DataFrame, labels: Labels, title: str) -> list[Table]:
    """Variants side by side, with paired differences from the plain one.

    For the suites `crossing` and `interpolation`: whether a change of the method pays shows in
    runs with the same data, so the interval of the difference is far narrower than two standard
    errors suggest.

    Parameters
    ----------
    frame : DataFrame
        One row per run; a variant is a method, or a method with a word in ``variant``.
    labels : Labels
        Titles.
    title : str
        What the table shows.

    Returns
    -------
    tables : list of one Table

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper.reporting import variants_tables
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "crossing", "dataset": "a", "method": "cqrnn",
    ...     "split": "random", "variant": ["", "", "penalty", "penalty"], "seed": [1, 2, 1, 2],
    ...     "tqmse": [0.5, 0.6, 0.5, 0.8], "crossing": [0.1, 0.3, 0.0, 0.0]})
    >>> [cell.text for cell in variants_tables(rows, Labels(), "Crossing")[0].rows[1]]
    ['a', 'cqrnn, penalty', 'TQMSE', '0.650 ± 0.150', '0.100 ± 1.271', 'neither', '0.0 %']
    """
    rows = random_split(frame)
    lines: list[tuple[TableCell, ...]] = []
    breaks = set()
    for dataset in labels.ordered_datasets(rows["dataset"]):
        own = rows[rows["dataset"] == dataset]
        arms = arms_of(own, labels)
        known = [name for name in METRIC_TITLES if name in own and own[name].notna().any()]
        breaks.add(len(lines))
        for metric in preferred_metrics(known):
            plain = arms[0][1].set_index("seed")[metric]
            for name, runs in arms:
                mean, error, _ = mean_and_error(runs[metric])
                texts = [labels.dataset(dataset), name, METRIC_TITLES[metric]]
                texts.append(plus_minus(mean, error))
                if name == arms[0][0]:
                    texts += ["–", "–"]
                else:
                    difference = paired_difference(plain, runs.set_index("seed")[metric])
                    words = {"first": arms[0][0], "second": name}
                    better = difference.better(metric)
                    texts += [str(difference), words.get(better, better)]
                texts.append(_crossing_share(runs))
                lines.append(tuple(TableCell(text) for text in texts))
    table = Table(
        title,
        ("Dataset", "Variant", "Metric", "Mean", "Minus plain", "Better", "Rows that cross"),
        tuple(lines),
        (runs_note(rows.groupby(["dataset", "method", "variant"]).size()), INTERVAL_NOTE),
        n_labels=3,
        breaks=frozenset(breaks - {0}),
    )
    return [table]


def arms_of(rows: DataFrame, labels: Labels) -> list[tuple[str, DataFrame]]:
    """Title and runs of each method and variant, the plain one first."""
    arms = []
    for method in labels.ordered_methods(rows["method"]):
        own = rows[rows["method"] == method]
        for variant in sorted(own["variant"].unique(), key=_by_numbers):
            plain = _PLAIN.index(variant) if variant in _PLAIN else len(_PLAIN)
            name = ", ".join(word for word in (labels.method(method), variant) if word)
            arms.append((plain, name, own[own["variant"] == variant]))
    # Stable, so of equally plain arms the method that is listed first stays first.
    return [(name, runs) for _, name, runs in sorted(arms, key=lambda arm: arm[0])]


def _by_numbers(variant: str) -> list[tuple[float, str]]:
    """Key that puts 5 epochs before 20."""
    parts = re.split(r"(\d+)", variant)
    return [(float(part), "") if part.isdigit() else (-1.0, part) for part in parts]


def _crossing_share(runs: DataFrame) -> str:
    mean, *_ = mean_and_error(runs.get("crossing", []))
    return "–" if math.isnan(mean) else f"{100 * mean:.1f} %"


def traces_of(runs: DataFrame, column: str) -> list[NDArray[np.float64]]:
    """Traces of the runs that have one."""
    arrays = [np.asarray(trace, dtype=np.float64) for trace in runs.get(column, [])]
    return [array for array in arrays if array.ndim == 1 and array.size]


def partial_full_tables(frame: DataFrame, labels: Labels) -> list[Table]:
    """TQMSE along the training, one row per dataset and way of updating the levels.

    Parameters
    ----------
    frame : DataFrame
        One row per run, with ``trace_tqmse`` and ``trace_loss``, one value per epoch.
    labels : Labels
        Titles.

    Returns
    -------
    tables : list of one Table

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper.reporting import partial_full_tables
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "partial_full", "dataset": "a", "method": "cqrnn",
    ...     "split": "random", "variant": ["partial"], "seed": 1,
    ...     "trace_tqmse": [[4.0, 3.0, 2.0, 1.0]], "trace_loss": [[8.0, 7.0, 6.0, 5.0]]})
    >>> [cell.text for cell in partial_full_tables(rows, Labels())[0].rows[0]][2:]
    ['4.000', '4.000', '3.000', '1.000', '5.000']
    """
    rows = random_split(frame)
    lines: list[tuple[TableCell, ...]] = []
    breaks = set()
    for dataset in labels.ordered_datasets(rows["dataset"]):
        breaks.add(len(lines))
        for name, runs in arms_of(rows[rows["dataset"] == dataset], labels):
            texts = [labels.dataset(dataset), name]
            for column, shares in (("trace_tqmse", _SHARES), ("trace_loss", (1.0,))):
                traces = traces_of(runs, column)
                for share in shares:
                    reached = [trace[math.ceil(share * len(trace)) - 1] for trace in traces]
                    texts.append(plus_minus(*mean_and_error(reached)[:2]))
            lines.append(tuple(TableCell(text) for text in texts))
    heads = [f"TQMSE after {100 * share:g} % of epochs" for share in _SHARES]
    table = Table(
        "Partial and full optimisation",
        ("Dataset", "Variant", *heads, "Loss at the end"),
        tuple(lines),
        (runs_note(rows.groupby(["dataset", "method", "variant"]).size()),),
        n_labels=2,
        breaks=frozenset(breaks - {0}),
    )
    return [table]
