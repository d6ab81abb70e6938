"""Mean ranks of methods over data sets, and which of them are told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from censquant.plotting._parts import MEDIAN, NARROW, axes_or_new, name_rows
from censquant_bench._ranks import MethodRanks, rank_methods

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_critical_differences(
    ranks: Any, *, higher_is_better: bool = False, ax: Axes | None = None
) -> Axes:
    """Axes with the mean rank of each method, the best on top, and the critical difference.

    Thick lines join the largest sets of methods that are not told apart: no two of a set differ by
    the critical difference (Nemenyi's test). Methods that share no line differ.

    Parameters
    ----------
    ranks : MethodRanks, or scores
        Outcome of `rank_methods`, or the scores that it takes, one row per
        data set and one column per method.
    higher_is_better : bool, default=False
        Of scores; ranks know it already.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that pyplot does not know by default (``ax.figure`` shows it in
        a notebook and has ``savefig``).

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from censquant_bench import plot_critical_differences
    >>> scores = {"ours": [1.0, 2.0, 1.0], "theirs": [2.0, 3.0, 2.0], "mean": [3.0, 4.0, 3.0]}
    >>> ax = plot_critical_differences(scores)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['ours', 'theirs', 'mean']
    """
    if not isinstance(ranks, MethodRanks):
        ranks = rank_methods(ranks, higher_is_better=higher_is_better)
    order, means = ranks.order, ranks.mean_ranks[ranks.order]
    ax = axes_or_new(ax, width=6.4, height=1.7 + 0.38 * len(order))
    rows = np.arange(len(order))
    ax.hlines(rows, 1.0, means, color="0.85", linewidth=1.2, zorder=1)
    ax.plot(means, rows, "o", color=MEDIAN, markersize=6.5, zorder=3)
    for mean, row in zip(means, rows, strict=True):
        ax.annotate(
            f"{mean:.2f}",
            (mean, row),
            (0, 7),
            textcoords="offset points",
            ha="center",
            size="small",
        )
    names = [ranks.methods[place] for place in order]
    right = float(means[-1])
    gap = 0.04 * max(right - 1.0, 1.0)
    for place, group in enumerate(ranks.groups):
        first, last = names.index(group[0]), names.index(group[-1])
        ax.vlines(
            right + (3 + place) * gap,
            first - 0.15,
            last + 0.15,
            color=NARROW,
            linewidth=4.0,
            zorder=2,
        )
    top = -0.95
    ax.plot([1.0, 1.0 + ranks.critical_difference], [top, top], "|-", color="black", markersize=8)
    ax.annotate(
        f"critical difference {ranks.critical_difference:.2f}",
        (1.0 + ranks.critical_difference, top),
        (6, 0),
        textcoords="offset points",
        va="center",
        size="small",
    )
    name_rows(ax, names)
    ax.set_ylim(len(names) - 0.45, -1.35)
    ax.set_xlabel(f"mean rank over {ranks.n_sets} data sets, 1 is best")
    return ax
