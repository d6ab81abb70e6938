"""Bounds of individuals against what happened to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.plotting._arguments import read_observed
from censquant.plotting._axes import axes_or_new, unclutter

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_BOUND, _INSIDE, _OUTSIDE = "#08306b", "0.45", "#d55e00"
_BAND, _OPEN = "#a6cde3", "#e3eff6"


def plot_bounds(
    y: object,
    lower: ArrayLike,
    upper: ArrayLike | None = None,
    *,
    log: bool = False,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Axes with the bounds of individuals, sorted by their lower bound, and their times.

    A disc is an event, vermilion where it broke the promise; a triangle is the time up to which a
    censored individual had no event, open where it says nothing yet about the lower bound. The
    share of broken promises among the marks is *not* one minus the coverage: events that censoring
    hid are missing (`censquant.metrics.coverage` estimates it).

    Parameters
    ----------
    y : structured array or any other form of target, of n rows
        What was observed.
    lower : array-like of shape (n,)
        Lower bounds; minus infinity or zero for none.
    upper : array-like of shape (n,), optional
        Upper bounds; infinity for none, whose interval is paler and has no end.
    log : bool, default False
        Whether the axis of time is logarithmic; bounds of zero are then at its lower end.
    unit : str
        Unit of time, for the axis.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that pyplot does not know by default (``ax.figure`` shows it in
        a notebook and has ``savefig``).

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from censquant.plotting import plot_bounds
    >>> y = [3.0, 1.0, 2.0, 5.0], [True, True, False, False]
    >>> ax = plot_bounds(y, [1.0, 2.0, 3.0, 4.0], unit="years")
    >>> [text.get_text() for text in ax.get_legend().get_texts()][:3]
    ['lower bound', 'event, as promised', 'event, promise broken']
    """
    low = _read_bounds(lower, "lower")
    target = read_observed(y, len(low), name="lower")
    high = np.full(len(low), np.inf) if upper is None else _read_bounds(upper, "upper")
    if len(high) != len(low):
        raise ValueError(
            f"upper must have one bound for each of lower, got {len(high)} and {len(low)}."
        )
    if (crossed := np.flatnonzero(low > high)).size:
        raise ValueError(
            f"lower must not exceed upper, but it does in {crossed.size} of {len(low)} rows, the "
            f"first of them row {crossed[0]}."
        )
    ax = axes_or_new(ax, width=7.0, height=4.2)
    order = np.argsort(low, kind="stable")
    low, high, time, event = low[order], high[order], target.time[order], target.event[order]
    rank = np.arange(1, len(low) + 1)
    legend: dict[str, Any] = {}
    shown = np.where(np.isfinite(low), low, np.nan)
    (legend["lower bound"],) = ax.plot(
        rank, shown, color=_BOUND, linewidth=1.6, drawstyle="steps-mid", zorder=4
    )
    if upper is not None:
        legend |= _draw_intervals(ax, rank, low, high, _largest(time, low, high))
    inside = (low <= time) & (time <= high)
    for name, which, marker, color, face in (
        ("event, as promised", event & inside, "o", _INSIDE, _INSIDE),
        ("event, promise broken", event & ~inside, "o", _OUTSIDE, _OUTSIDE),
        ("censored later", ~event & (time >= low), "^", _INSIDE, _INSIDE),
        ("censored before", ~event & (time < low), "^", _INSIDE, "white"),
    ):
        if which.any():
            (legend[name],) = ax.plot(
                rank[which],
                time[which],
                marker,
                color=color,
                markerfacecolor=face,
                markersize=4.5,
                markeredgewidth=0.8,
                zorder=5 if color == _OUTSIDE else 3,
            )
    if log:
        ax.set_yscale("log")
    elif min(np.min(time), np.min(low[np.isfinite(low)], initial=0.0)) >= 0:
        ax.set_ylim(bottom=0)
    ax.set_xlabel("individuals, by their lower bound")
    ax.set_ylabel(f"time ({unit})" if unit else "time")
    unclutter(ax, grid_axis="y")
    # Above the axes it hides nothing.
    ax.legend(
        list(legend.values()),
        list(legend),
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        ncols=3,
        frameon=False,
    )
    return ax


def _draw_intervals(
    ax: Axes, rank: NDArray[np.intp], low: Floats, high: Floats, top: float
) -> dict[str, Any]:
    """Draw the interval of each row, up to the top where it has no end; return what is there."""
    found: dict[str, Any] = {}
    start = np.where(np.isfinite(low), low, 0.0)
    for name, which, color in (
        ("interval", np.isfinite(high), _BAND),
        ("interval without end", ~np.isfinite(high), _OPEN),
    ):
        if which.any():
            height = np.where(which, np.minimum(high, top), start)[which] - start[which]
            style: dict[str, Any] = {"width": 0.9, "color": color, "zorder": 1}
            found[name] = ax.bar(rank[which], height, bottom=start[which], **style)
    closed = np.isfinite(high)
    ax.hlines(
        high[closed],
        rank[closed] - 0.45,
        rank[closed] + 0.45,
        color=_BOUND,
        linewidth=1.2,
        zorder=4,
    )
    return found


def _read_bounds(values: ArrayLike, name: str) -> Floats:
    """Return one bound per row, infinite ones allowed, or raise one sentence."""
    bounds = np.asarray(values, dtype=np.float64)
    if bounds.ndim != 1 or not bounds.size:
        raise ValueError(f"{name} must have shape (n,) with one row at least, got {bounds.shape}.")
    if missing := int(np.isnan(bounds).sum()):
        raise ValueError(f"{name} must not hold NaN, got it in {missing} of {bounds.size} rows.")
    return bounds


def _largest(*columns: Floats) -> float:
    """Return a time above all that is drawn."""
    return 1.05 * max(float(np.max(one[np.isfinite(one)], initial=0.0)) for one in columns)
