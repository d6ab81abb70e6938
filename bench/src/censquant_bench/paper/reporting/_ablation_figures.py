"""Figures of the ablations: grid size, y*, partial and full steps, crossing and interpolation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from censquant_bench.paper._published import METRIC_TITLES, published_ystar
from censquant_bench.paper.reporting._ablation_tables import arms_of, traces_of, with_factor
from censquant_bench.paper.reporting._comparison import preferred_metrics
from censquant_bench.reporting import (
    Labels,
    mean_and_error,
    new_figure,
    paired_difference,
    random_split,
    readable_log,
    shared_legend,
    style,
    unclutter,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

# In percent; up to here a plain scale still shows small changes.
_LARGEST_CHANGE = 400.0


def grid_figure(frame: DataFrame, labels: Labels) -> Figure:
    """TQMSE against the number of training rows, one line per grid size, one panel per dataset.

    Parameters
    ----------
    frame : DataFrame
        One row per run, distinguished by ``n_train`` and ``n_levels``.
    labels : Labels
        Titles.

    Returns
    -------
    figure : matplotlib Figure

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper.reporting import grid_figure
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "grid", "dataset": "a", "method": "cqrnn", "seed": 1,
    ...     "split": "random", "variant": ["1", "2"], "n_train": [100, 200], "n_levels": 9,
    ...     "tqmse": [0.5, 0.4]})
    >>> grid_figure(rows, Labels()).axes[0].get_title()
    'a'
    """
    rows = random_split(frame)
    datasets = labels.ordered_datasets(rows["dataset"])
    levels = sorted(rows["n_levels"].unique())
    columns = min(3, max(len(datasets), 1))
    n_lines = max(math.ceil(len(datasets) / columns), 1)
    figure = new_figure(max(3.0 * columns, 4.0), 0.5 + 2.5 * n_lines)
    axes = figure.subplots(n_lines, columns, squeeze=False).ravel()
    for ax in axes[len(datasets) :]:
        ax.remove()
    for place, (ax, dataset) in enumerate(zip(axes, datasets, strict=False)):
        own = rows[rows["dataset"] == dataset]
        for line, m in enumerate(levels):
            cells = own[own["n_levels"] == m].groupby("n_train")["tqmse"]
            points = [(n, *mean_and_error(values)[:2]) for n, values in cells]
            _points(ax, points, f"M = {m:g}", style(line))
        ax.set_title(labels.dataset(dataset), fontsize="medium")
        _log_rows(ax, sorted(own["n_train"].unique()))
        if place % columns == 0:
            ax.set_ylabel("TQMSE")
        if place >= len(datasets) - columns:
            ax.set_xlabel("training rows")
    if datasets:
        shared_legend(figure, list(axes[: len(datasets)]))
    return figure


def _points(
    ax: Axes, points: Sequence[tuple[float, float, float]], name: str, looks: Mapping[str, Any]
) -> None:
    """Line through means with bars of one standard error."""
    at, means, errors = (
        (list(column) for column in zip(*points, strict=True)) if points else ([],) * 3
    )
    ax.errorbar(at, means, errors, label=name, markersize=4, linewidth=1.2, capsize=2, **looks)


def _log_rows(ax: Axes, values: Sequence[float]) -> None:
    """Both axes in logarithms, with the numbers of rows that were run as ticks."""
    from matplotlib.ticker import NullLocator

    ax.set_xscale("log")
    shown = values if len(values) <= 4 else values[::2]
    ax.set_xticks(list(shown), [f"{value:g}" for value in shown])
    ax.xaxis.set_minor_locator(NullLocator())
    readable_log(ax)
    ax.tick_params(axis="y", which="both", labelsize="small")
    unclutter(ax)


def ystar_figure(frame: DataFrame, labels: Labels) -> Figure:
    """TQMSE against the factor of y*, one line per dataset, the paper's dashed.

    Parameters
    ----------
    frame : DataFrame
        One row per run; the first number in ``variant`` is the factor.
    labels : Labels
        Titles.

    Returns
    -------
    figure : matplotlib Figure

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper.reporting import ystar_figure
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "ystar", "dataset": "a", "method": "cqrnn", "seed": 1,
    ...     "split": "random", "variant": ["c=1.2", "c=10"], "tqmse": [0.08, 0.09]})
    >>> ystar_figure(rows, Labels()).axes[0].get_yscale()
    'log'
    """
    rows = with_factor(random_split(frame))
    paper = published_ystar()
    # Side by side and not to scale: most factors lie close together.
    places = {factor: place for place, factor in enumerate(sorted(rows["factor"].unique()))}
    figure = new_figure(6.4, 4.0)
    ax = figure.subplots()
    with_paper = False
    for line, dataset in enumerate(labels.ordered_datasets(rows["dataset"])):
        title, looks = labels.dataset(dataset), style(line)
        cells = rows[rows["dataset"] == dataset].groupby("factor")["tqmse"]
        points = [(places[c], *mean_and_error(values)[:2]) for c, values in cells]
        _points(ax, points, title, looks)
        printed = paper[(paper["dataset"] == title) & paper["factor"].isin(list(places))]
        if len(printed):
            with_paper = True
            ax.plot(
                printed["factor"].map(places), printed["tqmse"], linestyle="--", linewidth=1.0,
                alpha=0.6, markersize=8, markerfacecolor="none", **looks,
            )  # fmt: skip
    readable_log(ax)
    ax.set_xticks(list(places.values()), [f"{factor:g}" for factor in places])
    dashed = "; dashed and hollow: the paper" if with_paper else ""
    ax.set_xlabel(f"factor c of y* = c max(y){dashed}")
    ax.set_ylabel("TQMSE")
    unclutter(ax)
    if places:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure


def partial_full_figure(frame: DataFrame, labels: Labels) -> Figure:
    """Training loss and TQMSE against the epoch, one line per variant, one row per dataset.

    A line is the mean over the runs and its band one standard error.

    Parameters
    ----------
    frame : DataFrame
        One row per run, with ``trace_loss`` and ``trace_tqmse``, one value per epoch.
    labels : Labels
        Titles.

    Returns
    -------
    figure : matplotlib Figure

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper.reporting import partial_full_figure
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "partial_full", "dataset": "a", "method": "cqrnn",
    ...     "split": "random", "variant": ["partial"], "seed": 1,
    ...     "trace_tqmse": [[4.0, 3.0]], "trace_loss": [[8.0, 7.0]]})
    >>> [ax.get_ylabel() for ax in partial_full_figure(rows, Labels()).axes]
    ['training loss', 'TQMSE']
    """
    rows = random_split(frame)
    datasets = labels.ordered_datasets(rows["dataset"])
    figure = new_figure(8.4, 0.5 + 3.0 * max(len(datasets), 1))
    axes = figure.subplots(max(len(datasets), 1), 2, squeeze=False)
    for pair, dataset in zip(axes, datasets, strict=False):
        arms = arms_of(rows[rows["dataset"] == dataset], labels)
        for ax, column, title in zip(
            pair, ("trace_loss", "trace_tqmse"), ("training loss", "TQMSE"), strict=True
        ):
            for place, (name, runs) in enumerate(arms):
                plot_traces(ax, traces_of(runs, column), name, style(place)["color"])
            ax.set_title(labels.dataset(dataset), fontsize="medium")
            ax.set_xlabel("epoch")
            ax.set_ylabel(title)
            if column == "trace_tqmse":
                readable_log(ax)
            unclutter(ax)
    if datasets:
        shared_legend(figure, list(axes.ravel()))
    return figure


def plot_traces(ax: Axes, traces: Sequence[NDArray[np.float64]], name: str, color: str) -> None:
    """Draw the mean over the epochs that all traces have, with a band of one standard error."""
    if not traces:
        return
    shared = min(len(trace) for trace in traces)
    stacked = np.stack([trace[:shared] for trace in traces])
    epochs = np.arange(1, shared + 1)
    mean = stacked.mean(axis=0)
    ax.plot(epochs, mean, color=color, linewidth=1.4, label=name)
    if len(stacked) > 1:
        error = stacked.std(axis=0, ddof=1) / math.sqrt(len(stacked))
        ax.fill_between(epochs, mean - error, mean + error, color=color, alpha=0.2, linewidth=0)


def compress_percent(ax: Axes) -> None:
    """Put changes above 100 % in logarithms where one of them would press the others together."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    low, high = ax.get_xlim()
    if high <= _LARGEST_CHANGE:
        return
    ax.set_xscale("symlog", linthresh=100.0, linscale=1.5)
    powers = [10.0**k for k in range(3, math.ceil(math.log10(high)) + 1)]
    between = [300.0] if len(powers) < 3 else []
    powers = powers[:: math.ceil(len(powers) / 4)]
    ticks = [-100.0, -50.0, 0.0, 50.0, 100.0, *between, *powers]
    ax.set_xticks([tick for tick in ticks if low <= tick <= high])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "−")))
    ax.set_xlim(low, high)
    ax.axvspan(100.0, high, color="0.95", linewidth=0, zorder=-1)
    ax.set_xlabel(f"{ax.get_xlabel()}\n(shaded: in logarithms)")


def variants_figure(frame: DataFrame, labels: Labels) -> Figure:
    """Change of the preferred metric against the plain variant, and the share of crossing rows.

    Left: mean paired difference with its 95 % interval, in percent of the plain mean; a bar that
    holds zero shows no effect. Right: share of test rows whose quantiles cross, with one standard
    error.

    Parameters
    ----------
    frame : DataFrame
        One row per run; a variant is a method, or a method with a word in ``variant``.
    labels : Labels
        Titles.

    Returns
    -------
    figure : matplotlib Figure

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper.reporting import variants_figure
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "crossing", "dataset": "a", "method": "cqrnn",
    ...     "split": "random", "variant": ["", "", "penalty", "penalty"], "seed": [1, 2, 1, 2],
    ...     "tqmse": [0.5, 0.6, 0.5, 0.8], "crossing": [0.1, 0.3, 0.0, 0.0]})
    >>> [len(ax.containers) for ax in variants_figure(rows, Labels()).axes]
    [1, 2]
    """
    rows = random_split(frame)
    datasets = labels.ordered_datasets(rows["dataset"])
    names = [name for name, _ in arms_of(rows, labels)]
    figure = new_figure(9.0, 1.4 + 0.42 * max(len(datasets), 2))
    left, right = figure.subplots(1, 2, sharey=True)
    judged: set[str | None] = set()
    for row, dataset in enumerate(datasets):
        own = rows[rows["dataset"] == dataset]
        arms = arms_of(own, labels)
        known = [name for name in METRIC_TITLES if name in own and own[name].notna().any()]
        metric = next(iter(preferred_metrics(known)), None)
        judged.add(metric)
        plain = arms[0][1].set_index("seed")
        for name, runs in arms:
            place = names.index(name)
            at = row + 0.6 * ((place + 0.5) / len(names) - 0.5)
            looks = {**style(place), "capsize": 2, "markersize": 4.5, "linestyle": "none"}
            if metric is not None and name != arms[0][0]:
                change = paired_difference(plain[metric], runs.set_index("seed")[metric])
                scale = 100 / abs(plain[metric].mean())
                left.errorbar(scale * change.mean, at, xerr=scale * change.half_width, **looks)
            if "crossing" in runs:
                mean, error, _ = mean_and_error(100 * runs["crossing"])
                right.errorbar(mean, at, xerr=error, **looks)
    for place, name in enumerate(names):
        # A dataset need not have every variant, so the legend has marks of its own.
        right.plot([], [], label=name, linestyle="none", **style(place))
    left.axvline(0.0, color="0.4", linewidth=0.8, zorder=0)
    scores = " or ".join(METRIC_TITLES[metric] for metric in METRIC_TITLES if metric in judged)
    left.set_xlabel(f"change of {scores} against {names[0] if names else 'plain'}, %")
    compress_percent(left)
    right.set_xlabel("test rows that cross, %")
    left.set_yticks(range(len(datasets)), [labels.dataset(name) for name in datasets])
    left.set_ylim(max(len(datasets), 1) - 0.5, -0.5)
    for ax in (left, right):
        unclutter(ax)
    if datasets:
        shared_legend(figure, [right])
    return figure
