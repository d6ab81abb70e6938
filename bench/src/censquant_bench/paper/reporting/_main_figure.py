"""The figure of the main results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from censquant_bench.paper._published import (
    METRIC_TITLES,
    PAPER_METRICS,
    PUBLISHED_COLUMNS,
    published_table,
)
from censquant_bench.paper.reporting._comparison import preferred_metrics
from censquant_bench.reporting import (
    Labels,
    first_split,
    new_figure,
    number,
    shared_legend,
    style,
    summarize,
    unclutter,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

# A mean this many times above all smaller ones would leave them one line, even in logarithms.
_GAP = 1000.0
_PAPER_SIZE = 8.5

_DIRECTION = {"cindex": "higher is better"}


def main_figure(frame: DataFrame, labels: Labels) -> Figure:
    r"""Figure of the main results: one row of axes per preferred metric of a kind of data.

    Points are means, bars one standard error, hollow marks the paper's means where it has some. A
    mean that lies far above all others stands at the upper edge with its value.

    Parameters
    ----------
    frame : DataFrame
        One row per run; the random split and no variant are shown.
    labels : Labels
        Titles.

    Returns
    -------
    figure : matplotlib Figure

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper.reporting import main_figure
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "a", "method": "m", "split": "random",
    ...                      "variant": "", "seed": [1, 2], "cindex": [0.6, 0.7]})
    >>> [ax.get_ylabel() for ax in main_figure(rows, Labels()).axes]
    ['C-index\n(higher is better)']
    """
    summary = first_split(summarize(frame, PAPER_METRICS))
    summary = summary[(summary["variant"] == "") & (summary["n_runs"] > 0)]
    shown: dict[str, list[str]] = {}
    for dataset in labels.ordered_datasets(summary["dataset"]):
        for metric in preferred_metrics(summary.loc[summary["dataset"] == dataset, "metric"]):
            shown.setdefault(metric, []).append(dataset)
    metrics = [name for name in PAPER_METRICS if name in shown]
    methods = labels.ordered_methods(summary["method"])
    widest = max((len(names) for names in shown.values()), default=1)
    figure = new_figure(max(5.5, 0.85 * widest), 0.6 + 2.5 * max(len(metrics), 1))
    axes = figure.subplots(max(len(metrics), 1), 1, squeeze=False)[:, 0]
    for ax, metric in zip(axes, metrics, strict=False):
        own = summary[(summary["metric"] == metric) & summary["dataset"].isin(shown[metric])]
        plot_scores(ax, own, metric, shown[metric], methods, labels)
    if metrics:
        # Marks of the paper are drawn with no name, beside those that have one.
        hollow = any(line.get_markersize() == _PAPER_SIZE for ax in axes for line in ax.lines)
        shared_legend(figure, list(axes), {"the paper": _paper_mark()} if hollow else None)
    return figure


def _paper_mark() -> Any:
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], marker="o", markersize=_PAPER_SIZE, markerfacecolor="none", color="0.4",
        linestyle="none",
    )  # fmt: skip


def scale_top(means: Iterable[float]) -> float:
    """Largest mean that is drawn to scale: those above it, a few at most, are far from the rest.

    Examples
    --------
    >>> from censquant_bench.paper.reporting import scale_top
    >>> scale_top([0.2, 0.3, 0.4, 0.5, 7e11]), scale_top([0.2, 40.0, 5000.0])
    (0.5, 5000.0)
    """
    there = sorted(mean for mean in means if math.isfinite(mean))
    # Where many are large, the large ones are no exception.
    fewest = math.ceil(0.75 * len(there))
    for k in range(max(fewest, 1), len(there)):
        if there[k - 1] > 0 and there[k] > _GAP * there[k - 1]:
            return there[k - 1]
    return there[-1] if there else -math.inf


def mark_beyond(ax: Axes, points: Sequence[tuple[float, float]], looks: Mapping[str, Any]) -> None:
    """Mark the means that the scale leaves out at the upper edge, each with its value."""
    at_edge = ax.get_xaxis_transform()
    for x, mean in points:
        ax.plot(x, 1.0, markersize=4.5, transform=at_edge, clip_on=False, **looks)
        ax.text(
            x, 0.95, f"{number(mean)} →", transform=at_edge, rotation=90, ha="center", va="top",
            fontsize="small", color=looks["color"],
        )  # fmt: skip


def plot_scores(
    ax: Axes,
    summary: DataFrame,
    metric: str,
    datasets: Sequence[str],
    methods: Sequence[str],
    labels: Labels,
) -> None:
    """Draw mean and standard error of one metric, datasets side by side, one colour per method."""
    scores = summary.set_index(["dataset", "method"])
    paper = published_table().query("metric == @metric").set_index(["dataset", "method"])["mean"]
    top = scale_top(summary["mean"])
    for place, method in enumerate(methods):
        there = [k for k, name in enumerate(datasets) if (name, method) in scores.index]
        if not there:
            continue
        at = np.array(there) + 0.7 * ((place + 0.5) / len(methods) - 0.5)
        means, errors = (
            [float(scores.at[(datasets[k], method), column]) for k in there]
            for column in ("mean", "se")
        )
        looks = style(place)
        inside = [mean if mean <= top else math.nan for mean in means]
        ax.errorbar(
            at, inside, errors, linestyle="none", capsize=2, markersize=4.5,
            label=labels.method(method), **looks,
        )  # fmt: skip
        beyond = [(x, mean) for x, mean in zip(at, means, strict=True) if mean > top]
        mark_beyond(ax, beyond, looks)
        name = PUBLISHED_COLUMNS.get(method, "")
        printed = [float(paper.get((labels.dataset(datasets[k]), name), math.nan)) for k in there]
        if not all(math.isnan(value) for value in printed):
            ax.plot(
                at, printed, linestyle="none", markersize=_PAPER_SIZE, markerfacecolor="none",
                alpha=0.55, **looks,
            )  # fmt: skip
    # One method that fails would press all others onto the axis.
    positive = summary["mean"][(summary["mean"] <= top) & (summary["mean"] > 0)]
    if metric != "cindex" and len(positive) and positive.max() > 20 * positive.min():
        ax.set_yscale("log")
    if ax.texts:
        # Room for the values at the edge, so that they do not run into the points; limits are
        # found only when they are asked for.
        ax.autoscale_view()
        above = ax.transData.inverted().transform(ax.transAxes.transform((0.0, 1.3)))
        ax.set_ylim(top=above[1])
    ax.set_xticks(
        range(len(datasets)), [labels.dataset(name).replace(" ", "\n") for name in datasets]
    )
    for between in range(1, len(datasets)):
        ax.axvline(between - 0.5, color="0.92", linewidth=0.8, zorder=0)
    ax.set_xlim(-0.5, len(datasets) - 0.5)
    ax.set_ylabel(f"{METRIC_TITLES[metric]}\n({_DIRECTION.get(metric, 'lower is better')})")
    unclutter(ax)
