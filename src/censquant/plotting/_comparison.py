"""Scores of several methods side by side, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from censquant.metrics import BootstrapInterval, Evaluation
from censquant.plotting._axes import axes_or_new, name_rows, with_unit
from censquant.plotting._palette import series_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_comparison(
    results: Mapping[str, Any],
    metric: str = "crps_censored",
    *,
    sort: bool = True,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Axes with the score of each method and its interval, one row per method.

    Intervals of methods that are scored on the same rows move together: two that overlap may still
    differ. Compare two methods by `censquant.metrics.bootstrap_interval` with ``other=``; where all
    results are such differences, a line at zero is drawn, and an interval that does not cross it
    speaks for a difference.

    Parameters
    ----------
    results : mapping of str to Evaluation, BootstrapInterval or (value, lower, upper)
        Result of each method.
    metric : str, default="crps_censored"
        Row of the evaluations to draw, and the label of the axis.
    sort : bool, default=True
        Whether the best method is on top, by the direction that evaluations know; otherwise, and
        for other results, the order given is kept.
    unit : str
        Unit of the score, for the axis.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that pyplot does not know by default (``ax.figure`` shows it in
        a notebook and has ``savefig``).

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from censquant.plotting import plot_comparison
    >>> ax = plot_comparison({"forest": (0.4, 0.3, 0.5), "network": (0.35, 0.3, 0.4)}, "CRPS")
    >>> [label.get_text() for label in ax.get_yticklabels()], ax.get_xlabel()
    (['forest', 'network'], 'CRPS')
    """
    if not results:
        raise ValueError("results must have at least one method, got none.")
    table = np.array([_read(name, result, metric) for name, result in results.items()])
    names, given = list(results), list(results.values())
    directions = {one[metric].direction for one in given if isinstance(one, Evaluation)}
    label = metric.replace("_", " ")
    if len(directions) == 1:
        (direction,) = directions
        label = f"{label}, {direction} is better"
        if sort:
            keys = -table[:, 0] if direction == "higher" else table[:, 0]
            order = np.argsort(keys, kind="stable")
            table, names = table[order], [names[place] for place in order]
    ax = axes_or_new(ax, width=6.4, height=1.2 + 0.42 * len(names))
    rows = np.arange(len(names))
    ax.hlines(rows, table[:, 1], table[:, 2], color=series_color(0), linewidth=2.0, zorder=3)
    ax.plot(table[:, 0], rows, "o", color=series_color(0), markersize=6.5, zorder=4)
    if all(isinstance(one, BootstrapInterval) and one.p_value is not None for one in given):
        ax.axvline(0.0, color="black", linewidth=1.0, linestyle=(0, (5, 3)))
    ax.set_xlabel(with_unit(label, unit))
    name_rows(ax, [str(name) for name in names])
    return ax


def _read(name: str, result: Any, metric: str) -> tuple[float, float, float]:
    """Return value and ends of the interval, or raise one sentence."""
    if isinstance(result, Evaluation):
        result = result[metric]
    if hasattr(result, "lower"):
        return float(result.value), float(result.lower), float(result.upper)
    numbers = np.asarray(result, dtype=np.float64)
    if numbers.shape != (3,):
        raise ValueError(
            "results must map methods to an Evaluation, a BootstrapInterval or value, lower and "
            f"upper end, got shape {numbers.shape} for {name!r}."
        )
    return float(numbers[0]), float(numbers[1]), float(numbers[2])
