"""The figure of the main results, and what all figures of the benchmark share."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from censquant.benchmark.reporting._published import PAPER_METRICS, published_table
from censquant.benchmark.reporting._summary import (
    METRIC_TITLES,
    Labels,
    first_split,
    preferred_metrics,
    summarize,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

# Told apart by every kind of colour vision, and by the marker too.
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

_DIRECTION = {"cindex": "higher is better"}


def render(figure: Figure) -> dict[str, bytes]:
    """Bytes of the figure as ``png`` and ``svg``, the same for figures drawn alike.

    Nothing of the clock, of chance or of the installed version gets into the files.

    Examples
    --------
    >>> from censquant.benchmark.reporting._figures import new_figure, render
    >>> files = render(new_figure(1, 1))
    >>> files["png"][1:4], files == render(new_figure(1, 1))
    (b'PNG', True)
    """
    import matplotlib as mpl

    files = {}
    with mpl.rc_context({"svg.hashsalt": "censquant", "svg.fonttype": "path"}):
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
            files[kind] = buffer.getvalue()
    return files


def new_figure(width: float, height: float) -> Figure:
    """Figure of so many inches that pyplot does not know, so that none stays in memory."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            'figures need matplotlib; install it with: pip install "censquant[plot]"'
        ) from None
    return Figure(figsize=(width, height), layout="constrained")


def style(place: int) -> dict[str, Any]:
    """Colour and marker of the method, variant or line at a place."""
    return {
        "color": _COLORS[place % len(_COLORS)],
        "marker": _MARKERS[place % len(_MARKERS)],
    }


def readable_log(ax: Axes) -> None:
    """Put the vertical scale in logarithms, with plain numbers where it spans little."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_yscale("log")
    low, high = ax.get_ylim()
    if high < 30 * low:
        ax.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
        for which in (ax.yaxis.set_major_formatter, ax.yaxis.set_minor_formatter):
            which(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        ax.yaxis.set_minor_formatter(NullFormatter())


def unclutter(ax: Axes) -> None:
    """Leave the two spines that carry a scale, and a pale grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(axis="y", color="0.9", linewidth=0.8)


def shared_legend(figure: Figure, axes: Sequence[Axes], *, with_paper: bool = False) -> None:
    """One legend above all axes, each name once, the paper's hollow marks last."""
    from matplotlib.lines import Line2D

    named: dict[str, Any] = {}
    for ax in axes:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    if with_paper:
        hollow = {"marker": "o", "markerfacecolor": "none", "color": "0.4", "linestyle": "none"}
        named["the paper"] = Line2D([], [], markersize=8.5, **hollow)  # type: ignore[arg-type]
    figure.legend(
        list(named.values()), list(named), loc="outside upper center", ncols=6, frameon=False
    )


def main_figure(frame: DataFrame, labels: Labels) -> Figure:
    r"""Figure of the main results, one row of axes a kind of data, by the metric preferred for it.

    Points are means, bars one standard error, hollow marks the paper's means where it has some.

    Parameters
    ----------
    frame : DataFrame
        One row a run; the random split and no variant are shown.
    labels : Labels
        Titles, and the paper's names of the methods.

    Returns
    -------
    figure : matplotlib Figure

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant.benchmark.reporting._figures import main_figure
    >>> from censquant.benchmark.reporting._summary import Labels
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
        hollow = any(line.get_markersize() > 8 for ax in axes for line in ax.lines)
        shared_legend(figure, list(axes), with_paper=hollow)
    return figure


def plot_scores(
    ax: Axes,
    summary: DataFrame,
    metric: str,
    datasets: Sequence[str],
    methods: Sequence[str],
    labels: Labels,
) -> None:
    """Draw mean and standard error of one metric, datasets side by side, a colour a method."""
    scores = summary.set_index(["dataset", "method"])
    paper = published_table().query("metric == @metric").set_index(["dataset", "method"])["mean"]
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
        ax.errorbar(
            at, means, errors, linestyle="none", capsize=2, markersize=4.5,
            label=labels.method(method), **looks,
        )  # fmt: skip
        name = labels.published.get(method, "")
        printed = [float(paper.get((labels.dataset(datasets[k]), name), math.nan)) for k in there]
        if not all(math.isnan(value) for value in printed):
            ax.plot(
                at, printed, linestyle="none", markersize=8.5, markerfacecolor="none",
                alpha=0.55, **looks,
            )  # fmt: skip
    # One method that fails would press all others onto the axis.
    positive = summary["mean"][np.isfinite(summary["mean"]) & (summary["mean"] > 0)]
    if metric != "cindex" and len(positive) and positive.max() > 20 * positive.min():
        ax.set_yscale("log")
    ax.set_xticks(
        range(len(datasets)), [labels.dataset(name).replace(" ", "\n") for name in datasets]
    )
    for between in range(1, len(datasets)):
        ax.axvline(between - 0.5, color="0.92", linewidth=0.8, zorder=0)
    ax.set_xlim(-0.5, len(datasets) - 0.5)
    ax.set_ylabel(f"{METRIC_TITLES[metric]}\n({_DIRECTION.get(metric, 'lower is better')})")
    unclutter(ax)
