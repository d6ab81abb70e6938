"""Coverage and size of the bounds, setting by setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from censquant_bench.coverage._conventions import CONFIDENCE
from censquant_bench.coverage._tables import HIGHEST, LOWEST
from censquant_bench.reporting import Labels, fine, new_figure, shared_legend, style, unclutter

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

_SCORES = {"bound_coverage": "coverage", "bound_ratio": "bound / true quantile"}
_RUNS_SHOWN = (0.1, 0.9)
_WIDTH = 0.8


def coverage_figure(frame: DataFrame, labels: Labels) -> Figure:
    """Mean of each method on each setting, with the range of four fifths of its runs.

    Parameters
    ----------
    frame : DataFrame
        One row per run.
    labels : Labels
        Titles.

    Returns
    -------
    figure : matplotlib Figure

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.coverage import coverage_figure
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "coverage", "dataset": "gui1", "split": "random",
    ...     "variant": "", "method": "m", "seed": [1, 2], "bound_coverage": [0.89, 0.91],
    ...     "bound_ratio": 0.95, "bound_trivial": 0.0})
    >>> [ax.get_ylabel() for ax in coverage_figure(rows, Labels()).axes]
    ['coverage', 'bound / true quantile']
    """
    rows = fine(frame)
    settings = labels.ordered_datasets(rows["dataset"])
    methods = labels.ordered_methods(rows["method"])
    figure = new_figure(max(4.0, 1.5 + 0.95 * len(settings)), 6.0)
    upper, lower = figure.subplots(2, 1, sharex=True)
    for ax, (score, title) in zip((upper, lower), _SCORES.items(), strict=True):
        for place, method in enumerate(methods):
            runs = rows[rows["method"] == method].groupby("dataset")[score]
            there = [name for name in settings if name in runs.groups]
            moved = _WIDTH * ((place + 0.5) / len(methods) - 0.5)
            x = np.array([settings.index(name) for name in there]) + moved
            ends = [runs.quantile(level)[there] for level in _RUNS_SHOWN]
            look = style(place)
            ax.vlines(x, *ends, color=look["color"], linewidth=1.4)
            mean = runs.mean()[there]
            ax.plot(x, mean, linestyle="", markersize=5, label=labels.method(method), **look)
        ax.set_ylabel(title)
        unclutter(ax)
    upper.axhspan(LOWEST, HIGHEST, color="0.9", zorder=0)
    upper.axhline(CONFIDENCE, color="0.4", linewidth=0.8)
    lower.axhline(1.0, color="0.4", linewidth=0.8)
    lower.set_xticks(range(len(settings)), [labels.dataset(name) for name in settings])
    shared_legend(figure, [upper])
    return figure
