"""The paper's picture of quantiles over one feature: datasets by methods."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant_bench.reporting import Labels, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The end of viridis is too pale for a line on white.
_PALEST = 0.87
_TITLE_WIDTH = 24


@dataclass(frozen=True, eq=False)
class OneDimensional:
    """One dataset of the figure: its training rows, the truth and the predictions.

    Parameters
    ----------
    x : array-like of shape (n,)
        Increasing values of the feature at which quantiles are given.
    true : array-like of shape (n, k)
        True quantiles.
    predicted : mapping of str to array-like of shape (n, k)
        Name of a method to its quantiles.
    train_x : array-like of shape (m,)
        Feature of the training rows.
    time : array-like of shape (m,)
        Their times.
    event : array-like of bool of shape (m,)
        True where the event was observed.

    Examples
    --------
    >>> from censquant_bench.paper.reporting import OneDimensional
    >>> OneDimensional([0, 1], [[1], [2]], {"cqrnn": [[1], [2]]}, [0], [1], [True]).time
    [1]
    """

    x: ArrayLike
    true: ArrayLike
    predicted: Mapping[str, ArrayLike]
    train_x: ArrayLike
    time: ArrayLike
    event: ArrayLike


def one_dimensional_figure(
    sets: Mapping[str, OneDimensional], taus: ArrayLike, labels: Labels
) -> Figure:
    """Matrix of panels: predicted quantiles solid, true ones dashed, censored rows as crosses.

    The scale of a row follows its rows and true quantiles, not the predictions: one method that
    fails would hide what the others do.

    Parameters
    ----------
    sets : mapping of str to OneDimensional
        Name of a dataset to what is drawn of it.
    taus : array-like of shape (k,)
        Levels of the quantiles.
    labels : Labels
        Titles, and the order of rows and columns.

    Returns
    -------
    figure : matplotlib Figure

    Examples
    --------
    >>> from censquant_bench.paper.reporting import OneDimensional, one_dimensional_figure
    >>> from censquant_bench.reporting import Labels
    >>> one = OneDimensional([0, 1], [[1], [2]], {"m": [[1], [2]]}, [0, 1], [1, 2], [True, False])
    >>> len(one_dimensional_figure({"a": one}, [0.5], Labels()).axes)
    1
    """
    if not sets:
        raise ValueError("sets must hold at least one dataset, got none; run the suite first.")
    from matplotlib import colormaps
    from matplotlib.lines import Line2D

    levels = np.asarray(taus, dtype=np.float64)
    datasets = labels.ordered_datasets(sets)
    methods = labels.ordered_methods(name for one in sets.values() for name in one.predicted)
    colors = colormaps["viridis"](np.linspace(0.0, _PALEST, len(levels)))
    # A narrow figure would cut the legend, which has the same length for any number of panels.
    figure = new_figure(max(2.2 * len(methods), 8.6), 0.6 + 1.75 * len(datasets))
    axes = figure.subplots(len(datasets), len(methods), squeeze=False, sharex=True, sharey="row")
    for line, dataset in zip(axes, datasets, strict=True):
        for ax, method in zip(line, methods, strict=True):
            plot_panel(ax, sets[dataset], method, colors)
        line[0].set_ylabel(labels.dataset(dataset))
    for ax, method in zip(axes[0], methods, strict=True):
        # A panel is narrow: a long title would run into its neighbour's.
        ax.set_title(textwrap.fill(labels.method(method), _TITLE_WIDTH), fontsize="medium")
    for ax in axes[-1]:
        ax.set_xlabel("x")
    figure.align_ylabels(axes[:, 0])
    quantiles = [Line2D([], [], color=color, linewidth=1.6) for color in colors]
    figure.legend(
        [
            *quantiles,
            Line2D([], [], color="black", linewidth=0.9, dashes=(4, 2)),
            Line2D([], [], color="0.55", marker=".", linestyle="none"),
            Line2D([], [], color="#d55e00", marker="x", markersize=4, linestyle="none"),
        ],
        [*(f"{100 * level:g} %" for level in levels), "true", "event", "censored"],
        loc="outside upper center",
        ncols=len(levels) + 3,
        frameon=False,
    )
    return figure


def plot_panel(ax: Axes, one: OneDimensional, method: str, colors: NDArray[np.float64]) -> None:
    """Draw one dataset with the quantiles of one method, if it has any."""
    x, true = (np.asarray(part, dtype=np.float64) for part in (one.x, one.true))
    train_x, time = (np.asarray(part, dtype=np.float64) for part in (one.train_x, one.time))
    event = np.asarray(one.event, dtype=bool)
    # Thousands of marks as paths would make the SVG many times larger.
    ax.plot(
        train_x[event],
        time[event],
        ".",
        color="0.55",
        markersize=2.2,
        alpha=0.7,
        zorder=1,
        rasterized=True,
    )
    ax.plot(
        train_x[~event], time[~event], "x", color="#d55e00", markersize=2.6, alpha=0.6, zorder=1,
        markeredgewidth=0.6, rasterized=True,
    )  # fmt: skip
    if method in one.predicted:
        curves = np.asarray(one.predicted[method], dtype=np.float64)
        for column, color in zip(
            np.where(np.isfinite(curves), curves, np.nan).T, colors, strict=True
        ):
            ax.plot(x, column, color=color, linewidth=1.6, zorder=2)
    ax.plot(x, true, color="black", linewidth=0.9, dashes=(4, 2), zorder=3)
    both = np.concatenate([time, true[np.isfinite(true)]])
    # The farthest few rows of a heavy tail would leave the curves no room.
    low, high = np.quantile(both, [0.0, 0.995])
    room = 0.06 * (high - low) or 1.0
    ax.set_ylim(min(low, np.nanmin(true)) - room, max(high, np.nanmax(true)) + room)
    ax.spines[["top", "right"]].set_visible(False)
