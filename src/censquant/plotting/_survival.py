"""Survival curves of groups, with the numbers at risk and of events below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import check_number
from censquant.adapters import predict_quantiles_of, survival_of
from censquant.adapters._predictions import final_model
from censquant.inspection._table import FeatureTable
from censquant.plotting._parts import (
    axes_or_new,
    legend_above,
    read_labels,
    series_color,
    unclutter,
    with_unit,
)
from censquant.survival import KaplanMeier, Target, Turnbull, kaplan_meier, read_target, turnbull
from censquant.survival._columns import read_numbers
from censquant.survival._target import GeneralTarget

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_N_TIMES = 200
# More steps than a figure has pixels would only make its file large.
_MOST_STEPS = 600
_SHOWN = (0.05, 0.95)
# Points below the axis: its labels, then one line for the heading and one per group.
_FIRST_LINE, _LINE, _BESIDE = 46.0, 13.0, 32.0


def plot_survival(
    y: object = None,
    *,
    groups: Any = None,
    model: Any = None,
    X: Any = None,
    labels: Sequence[str] | None = None,
    at: ArrayLike | None = None,
    confidence: float = 0.95,
    conf_type: str = "log-log",
    mark_censored: bool = True,
    grid: ArrayLike | None = None,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Axes with survival curves, and the numbers at risk and of events below.

    Kaplan-Meier curves of the rows, one per group, with pointwise bands and a tick where a row is
    censored. The table has, for each time, how many rows are at risk just before it and, in
    brackets, how many events came up to it. Rows with intervals have Turnbull's curve instead,
    without a band: the curve falls somewhere inside each box; a row is at risk until its event is
    known. With a model, the mean predicted survival of the rows of each group is dashed: where it
    leaves the band, the model is off for that group. With a model and no ``y``, the curves of the
    individuals are drawn; where the data begin late (``known_from`` of a curve), from there on, and
    given no event until then.

    Parameters
    ----------
    y : structured array or any other form of target, of n rows, optional
        Times and events, intervals, entries.
    groups : array-like of shape (n,), optional
        Group of each row, its colour and line of the table; missing values are a group.
    model : fitted model, optional
        Any that `censquant.adapters.is_supported` knows.
    X : array-like or DataFrame of n rows, optional
        Features of the rows, where there is a model.
    labels : sequence of n str, optional
        Names of the individuals, where there is no ``y``; by default the index of a frame ``X``, or
        numbers from 1.
    at : array-like of times, optional
        Columns of the table; by default the ticks of the axis.
    confidence : float in (0, 1), default=0.95
        Level of the bands.
    conf_type : {"log-log", "log", "plain"}, default="log-log"
        Kind of the bands, as for :meth:`censquant.survival.KaplanMeier.limits`.
    mark_censored : bool, default=True
        Whether there is a tick where a row is censored.
    grid : array-like of times, optional
        Increasing times at which Kaplan-Meier curves are drawn, in place of those of the rows, so
        that no single time can be read from the figure; the axis ends with the last.
    unit : str
        Unit of time, for the axis.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that pyplot does not know by default (``ax.figure`` shows it in
        a notebook and has ``savefig``). The table needs room below the axes, which figures with
        ``layout="constrained"`` make.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from censquant.plotting import plot_survival
    >>> y = [1.0, 2.0, 3.0, 4.0], [True, True, False, True]
    >>> ax = plot_survival(y, groups=["a", "b", "a", "b"], at=[0, 2], unit="years")
    >>> [text.get_text() for text in ax.texts]
    ['at risk (events)', 'a', '2 (0)', '1 (1)', 'b', '2 (0)', '2 (1)']
    """
    if (model is None) != (X is None):
        missing = "X" if X is None else "model"
        raise ValueError(f"model and X must be given together, got no {missing}.")
    if y is None:
        if model is None:
            raise ValueError("y or a model with X must be given, got neither.")
        return _individuals(model, X, labels, unit, ax)
    target = read_target(y, accepts=("right", "interval", "delayed_entry"))
    level = check_number("confidence", confidence, minimum=0, below=1, exclude_minimum=True)
    named = _read_groups(groups, len(target))
    start = target.entry if isinstance(target, GeneralTarget) else None
    table = None if X is None else FeatureTable.read(X, model)
    if table is not None and len(table) != len(target):
        raise ValueError(f"X must have one row for each of y, got {len(table)} and {len(target)}.")
    drawn = None if grid is None else read_numbers(grid, name="grid")
    ax = axes_or_new(ax, width=6.8, height=4.2 + 0.18 * (len(named) + 1))
    marks: dict[str, Any] = {}
    for place, (name, rows) in enumerate(named.items()):
        part, color = target.take(rows), series_color(place)
        late = None if start is None else start[rows]
        curve: KaplanMeier | Turnbull
        if isinstance(part, GeneralTarget) and part.interval.any():
            curve = turnbull(part)
            marks[name or "Turnbull"] = _draw_boxes(ax, curve, float(part.time.max()), color)
        else:
            curve = kaplan_meier(part.time, part.event, entry=late)
            marks[name or "Kaplan-Meier"] = _draw_curve(ax, curve, (level, conf_type), color, drawn)
        end = float(part.time.max()) if drawn is None else float(drawn[-1])
        if mark_censored:
            censored = np.unique(part.time[~part.event & (part.time <= end)])
            style: dict[str, Any] = {"color": color, "markersize": 5, "markeredgewidth": 0.8}
            ax.plot(censored, curve(censored), "|", zorder=3, **style)
        if table is not None:
            times = np.linspace(min(0.0, float(part.time.min())), end, _N_TIMES)
            mean = survival_of(model, table.take(rows).X, times).mean(axis=0)
            (line,) = ax.plot(times, mean, color=color, linewidth=1.6, dashes=(4, 2), zorder=4)
            marks.setdefault("mean predicted", line)
    if "mean predicted" in marks:
        marks["mean predicted"] = marks.pop("mean predicted")
    if target.time.min() >= 0:
        ax.set_xlim(left=0)
    if drawn is not None:
        ax.set_xlim(right=float(drawn[-1]))
    _finish(ax, unit)
    columns = ax.get_xticks() if at is None else read_numbers(at, name="at")
    low, high = ax.get_xlim()
    _draw_table(ax, target, start, named, columns[(columns >= low) & (columns <= high)])
    legend_above(ax, marks)
    return ax


def _individuals(
    model: Any, X: Any, labels: Sequence[str] | None, unit: str, ax: Axes | None
) -> Axes:
    """Return axes with the predicted curve of each row."""
    table = FeatureTable.read(X, model)
    names = read_labels(labels, X, len(table), name="X")
    # Up to the last event that the model knows of, or what it says itself.
    known = getattr(final_model(model, None)[0], "unique_times_", None)
    if known is None:
        known = predict_quantiles_of(model, table.X, _SHOWN)
    first, last = min(0.0, float(np.min(known))), float(np.max(known))
    times = np.linspace(first, last, _N_TIMES)
    ax = axes_or_new(ax, width=6.8, height=4.2)
    marks = {
        name: ax.plot(times, curve, color=series_color(place), linewidth=1.8)[0]
        for place, (name, curve) in enumerate(
            zip(names, _survival_since_known(model, table.X, times), strict=True)
        )
    }
    if first == 0:
        ax.set_xlim(0, last)
    _finish(ax, unit)
    legend_above(ax, marks)
    return ax


def _survival_since_known(model: Any, X: Any, times: Floats) -> Floats:
    """Return survival of individuals; where data begin late, given no event until then."""
    survival = survival_of(model, X, times)
    final, features = final_model(model, X)
    if getattr(final, "_entered", None) is None:
        return survival
    curve = final.predict_curve(features)
    late = curve.starts_late[:, None]
    start = np.where(late, curve.known_from[:, None], curve.lower)
    left = np.where(late, 1.0 - curve.cdf(np.where(late, start, 0.0)), 1.0)
    return np.where(times < start, np.nan, survival / left)


def _finish(ax: Axes, unit: str) -> None:
    ax.set_ylim(0, 1.02)
    ax.set_xlabel(with_unit("time", unit))
    ax.set_ylabel("probability of no event yet")
    unclutter(ax, grid_axis="y")


def _read_groups(groups: Any, n_rows: int) -> dict[str, NDArray[np.intp]]:
    """Return the rows of each group by its name, the only one without a name."""
    if groups is None:
        return {"": np.arange(n_rows)}
    column = FeatureTable.read(np.asarray(groups, dtype=object).reshape(-1, 1), name="groups")
    texts = np.array(column.texts(0), dtype=object)
    if len(texts) != n_rows:
        raise ValueError(
            f"groups must have one entry for each row of y, got {len(texts)} for {n_rows}."
        )
    return {str(name): np.flatnonzero(texts == name) for name in np.unique(texts.astype(str))}


def _draw_curve(
    ax: Axes, curve: KaplanMeier, band: tuple[float, str], color: str, grid: Floats | None
) -> Any:
    """Draw one Kaplan-Meier curve with its band; return the line."""
    known = curve.time if grid is None else grid
    if len(known) > _MOST_STEPS:
        places = np.linspace(known[0], known[-1], _MOST_STEPS)
        known = known[np.unique(np.searchsorted(known, places))]
    known = known[known > curve.known_from]
    times = np.append(max(min(0.0, float(known[0])), curve.known_from), known)
    limits = curve.limits(known, band[0], conf_type=band[1])
    low, high = (np.append(1.0, end) for end in limits)
    ax.fill_between(times, low, high, step="post", color=color, alpha=0.15, linewidth=0, zorder=1)
    share = np.append(1.0, curve(known))
    (line,) = ax.step(times, share, where="post", color=color, linewidth=1.8, zorder=3)
    return line


def _draw_boxes(ax: Axes, curve: Turnbull, end: float, color: str) -> Any:
    """Draw Turnbull's curve, with a box over each interval that it falls in; return the line."""
    from matplotlib.collections import PolyCollection

    start = curve.known_from or min(0.0, float(curve.upper[0]))
    low, high = (np.clip(ends, start, end) for ends in (curve.lower, curve.upper))
    before = np.concatenate(([1.0], curve.survival[:-1]))
    after = np.where(np.isinf(curve.upper), before, curve.survival)
    corners = (low, high, high, low), (before, before, after, after)
    boxes = np.stack([np.column_stack(each) for each in corners], axis=-1)[low < high]
    ax.add_collection(PolyCollection(list(boxes), color=color, alpha=0.15, linewidth=0, zorder=1))
    # Along the edges of the boxes: flat between them, straight through each.
    times = np.concatenate(([start], np.column_stack((low, high)).ravel(), [end]))
    shares = np.concatenate(([1.0], np.column_stack((before, after)).ravel(), after[-1:]))
    (line,) = ax.plot(times, shares, color=color, linewidth=1.8, zorder=3)
    return line


def _draw_table(
    ax: Axes,
    target: Target,
    entry: Floats | None,
    named: dict[str, NDArray[np.intp]],
    columns: Floats,
) -> None:
    """Write the numbers at risk and of events so far below the axis."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    def place(column: Any, line: int, beside: float) -> Any:
        scale = ax.figure.dpi_scale_trans
        down = -(_FIRST_LINE + _LINE * line) / 72
        return column + ScaledTranslation(-beside / 72, down, scale)

    size: dict[str, Any] = {"fontsize": "small", "va": "center"}
    along = blended_transform_factory(ax.transData, ax.transAxes)
    heading = place(ax.transAxes, 0, 0.0)
    ax.text(0, 0, "at risk (events)", transform=heading, ha="left", color="0.35", **size)
    for line, (name, rows) in enumerate(named.items(), start=1):
        color = series_color(line - 1)
        part = target.take(rows)
        if name:
            beside = place(ax.transAxes, line, _BESIDE)
            ax.text(0, 0, name, transform=beside, ha="right", color=color, **size)
        for column in columns:
            there = part.time >= column
            if entry is not None:
                there &= entry[rows] <= column
            at_risk = int(there.sum())
            events = int((part.event & (part.time <= column)).sum())
            below = place(along, line, 0.0)
            text = f"{at_risk} ({events})"
            ax.text(column, 0, text, transform=below, ha="center", color=color, **size)
