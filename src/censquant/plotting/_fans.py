"""One fan of quantiles an individual, with the part that the data cannot speak for set apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import check_number
from censquant.plotting._arguments import read_labels, read_observed, read_predictions
from censquant.plotting._axes import axes_or_new, legend_above, name_rows, with_unit
from censquant.plotting._palette import HATCH, MEDIAN, NARROW, OBSERVED, PALE, WIDE
from censquant.quantiles import QuantileCurve
from censquant.survival import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# From the outside in: lowest and highest level, height and colour of each band.
_BANDS = ((0.1, 0.9, 0.34, WIDE), (0.25, 0.75, 0.58, NARROW))
_ROUNDING = 1e-9


def plot_fans(
    values: Any,
    X: Any = None,
    *,
    taus: ArrayLike | None = None,
    labels: Sequence[str] | None = None,
    identified: ArrayLike | None = None,
    unit: str = "",
    y: object = None,
    until: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Axes with the predicted quantiles of each individual as a horizontal fan.

    The light band holds the event with a predicted probability of 80 %, the dark one with 50 %; the
    tick is the median. Above the identified level the bands are hatched and the tick is dotted,
    because hardly anybody like the individual was followed that long and the model extrapolates.
    Bands that the grid of levels does not reach are left out rather than extrapolated.

    Parameters
    ----------
    values : array-like of shape (n, k), or fitted model
        Finite predicted quantiles; crossed ones are sorted. Or any model that
        `censquant.adapters.predict_quantiles_of` takes, which is asked for them.
    X : array-like or DataFrame of n rows, optional
        The individuals, where ``values`` is a model.
    taus : array-like of shape (k,), inside (0, 1), optional
        Strictly increasing levels of the columns, which must reach from 0.25 to 0.75. A model has
        levels of its own.
    labels : sequence of n str, optional
        Names of the individuals; by default the index of a frame ``X``, or numbers from 1.
    identified : array-like of shape (n,), in [0, 1], optional
        Highest level that the data speak for, as from `identified_level` of a model; 0
        for none. A model says it itself.
    unit : str
        Unit of time, for the axis.
    y : structured array or any other form of target, of n rows, optional
        What was observed: a disc is an event, an open arrow the time up to which there was none.
    until : float, optional
        Time at which the axis ends, such as the end of follow-up. Bands that reach further are cut
        there, and an arrow at the edge says so. By default the axis holds all bands.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that pyplot does not know by default (``ax.figure`` shows it in
        a notebook and has ``savefig``).

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from censquant.plotting import plot_fans
    >>> values = [[1.0, 2.0, 4.0], [2.0, 4.0, 8.0]]
    >>> ax = plot_fans(values, taus=[0.1, 0.5, 0.9], labels=["Ada", "Ben"], unit="years")
    >>> ax.get_xlabel(), [label.get_text() for label in ax.get_yticklabels()]
    ('time (years)', ['Ada', 'Ben'])
    """
    matrix, levels, reach = read_predictions(values, X, taus, name="values")
    if not _reaches(levels, 0.25, 0.75):
        raise ValueError(
            "taus must reach from 0.25 to 0.75 for a fan to be drawn, "
            f"got {levels[0]} to {levels[-1]}."
        )
    curve = QuantileCurve.from_predictions(matrix, levels)
    end = np.inf if until is None else check_number("until", until)
    names = read_labels(labels, X, len(curve), name="values")
    limit = _read_identified(reach if identified is None else identified, len(curve))
    target = None if y is None else read_observed(y, len(curve), name="values")
    ax = axes_or_new(ax, width=7.0, height=1.5 + 0.42 * len(curve))

    last_known = curve.at_each(np.clip(limit, levels[0], levels[-1])[:, None])[:, 0]
    last_known[limit < levels[0] - _ROUNDING] = -np.inf
    legend: dict[str, Any] = {}
    hatched: list[Any] = []
    for low, high, height, color in _BANDS:
        if _reaches(levels, low, high):
            start, stop = np.minimum(curve.at([low, high]), end).T
            bars = _draw_band(ax, start, stop, last_known, height, color)
            legend[f"{100 * low:g} % to {100 * high:g} %"] = bars[0]
            hatched += bars[1:]
    legend["median"] = _draw_median(ax, curve.median(), limit >= 0.5 - _ROUNDING, end)
    if hatched:
        legend["beyond the data"] = hatched[-1]
    if target is not None:
        legend |= _draw_observed(ax, target)

    name_rows(ax, names)
    observed = np.empty(0) if target is None else target.time
    if min(curve.values.min(initial=0.0), np.min(observed, initial=0.0)) >= 0:
        ax.set_xlim(left=0)
    if until is not None:
        legend |= _draw_longer(ax, curve, end)
    ax.set_xlabel(with_unit("time", unit))
    legend_above(ax, legend)
    return ax


def _reaches(levels: Floats, low: float, high: float) -> bool:
    """Whether the grid covers a band with no extrapolation."""
    return bool(levels[0] <= low + _ROUNDING and levels[-1] >= high - _ROUNDING)


def _read_identified(identified: ArrayLike | None, n_rows: int) -> Floats:
    """Return one level per row, 1 where nothing is said, or raise one sentence."""
    if identified is None:
        return np.ones(n_rows)
    limit = np.asarray(identified, dtype=np.float64)
    if limit.shape != (n_rows,):
        raise ValueError(
            f"identified must have shape ({n_rows},), one level for each row of values, "
            f"got {limit.shape}."
        )
    inside = (limit >= 0) & (limit <= 1)
    if not inside.all():
        raise ValueError(f"identified must be in [0, 1], got {limit[~inside][0]}.")
    return limit


def _draw_band(
    ax: Axes, start: Floats, end: Floats, last_known: Floats, height: float, color: str
) -> list[Any]:
    """Draw one band of each row; return the bars and, if there are any, the hatched ones."""
    rows, border = np.arange(len(start)), np.clip(last_known, start, end)
    bars = [ax.barh(rows, border - start, left=start, height=height, color=color)]
    beyond = border < end
    if beyond.any():
        hatched = ax.barh(
            rows[beyond],
            (end - border)[beyond],
            left=border[beyond],
            height=height,
            facecolor=PALE,
            edgecolor=color,
            hatch=HATCH,
            linewidth=0.0,
        )
        bars.append(hatched)
    # A bar takes away the margin at the side it starts from, unless told not to.
    for bar in (bar for container in bars for bar in container):
        bar.sticky_edges.x.clear()
    return bars


def _draw_longer(ax: Axes, curve: QuantileCurve, end: float) -> dict[str, Any]:
    """End the axis, and draw an arrow at the edge of rows that reach further; return it."""
    ax.set_xlim(right=end)
    highest = min(_BANDS[0][1], float(curve.taus[-1]))
    rows = np.flatnonzero(curve.at([highest])[:, 0] > end)
    if not rows.size:
        return {}
    style: dict[str, Any] = {"color": MEDIAN, "markersize": 6, "zorder": 5, "clip_on": False}
    (arrows,) = ax.plot(np.full(len(rows), end), rows, ">", linestyle="none", **style)
    return {"longer": arrows}


def _draw_median(ax: Axes, median: Floats, known: NDArray[np.bool_], end: float) -> Any:
    """Draw a tick at each median, dotted where it is extrapolated; return the solid ones."""
    shown = median <= end
    rows, half = np.arange(len(median)), _BANDS[-1][2] / 2 + 0.06
    style: dict[str, Any] = {"color": MEDIAN, "linewidth": 2.2, "zorder": 3}
    ticks = [
        ax.vlines(median[which], rows[which] - half, rows[which] + half, linestyle=dash, **style)
        for which, dash in ((known & shown, "solid"), (~known & shown, "dotted"))
    ]
    return ticks[0]


def _draw_observed(ax: Axes, target: Target) -> dict[str, Any]:
    """Draw what was seen of each row; return the marks by their meaning."""
    rows, marks = np.arange(len(target)), {}
    for name, which, marker, face in (
        ("event", target.event, "o", OBSERVED),
        ("censored", ~target.event, ">", "white"),
    ):
        if which.any():
            (marks[name],) = ax.plot(
                target.time[which],
                rows[which],
                marker,
                color=OBSERVED,
                markersize=7,
                markerfacecolor=face,
                markeredgewidth=1.5,
                zorder=4,
            )
    return marks
