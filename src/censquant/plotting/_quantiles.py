"""Figures of predicted quantiles: fans of individuals, bands over a feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import check_number
from censquant.adapters._predictions import is_left_censored, is_supported
from censquant.inspection import partial_dependence
from censquant.inspection._table import FeatureTable
from censquant.plotting._parts import (
    HATCH,
    MEDIAN,
    NARROW,
    OBSERVED,
    PALE,
    PALEST,
    WIDE,
    axes_or_new,
    legend_above,
    legend_beside,
    name_rows,
    read_labels,
    read_observed,
    read_predictions,
    read_quantiles,
    unclutter,
    with_unit,
)
from censquant.quantiles import QuantileCurve
from censquant.survival import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# From the outside in: lowest and highest level, height and colour of each band.
_FANS = ((0.1, 0.9, 0.34, WIDE), (0.25, 0.75, 0.58, NARROW))
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
        `censquant.adapters.is_supported` knows, which is asked for them.
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
    for low, high, height, color in _FANS:
        if _reaches(levels, low, high):
            start, stop = np.minimum(curve.at([low, high]), end).T
            bars = _draw_band(ax, start, stop, last_known, height, color)
            legend[f"{100 * low:g} % to {100 * high:g} %"] = bars[0]
            hatched += bars[1:]
    legend["median"] = _draw_medians(ax, curve.median(), limit >= 0.5 - _ROUNDING, end)
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
    highest = min(_FANS[0][1], float(curve.taus[-1]))
    rows = np.flatnonzero(curve.at([highest])[:, 0] > end)
    if not rows.size:
        return {}
    style: dict[str, Any] = {"color": MEDIAN, "markersize": 6, "zorder": 5, "clip_on": False}
    (arrows,) = ax.plot(np.full(len(rows), end), rows, ">", linestyle="none", **style)
    return {"longer": arrows}


def _draw_medians(ax: Axes, median: Floats, known: NDArray[np.bool_], end: float) -> Any:
    """Draw a tick at each median, dotted where it is extrapolated; return the solid ones."""
    shown = median <= end
    rows, half = np.arange(len(median)), _FANS[-1][2] / 2 + 0.06
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


_LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
# A quantile that fewer of the rows identify than this is drawn as an extrapolation.
_IDENTIFIED = 0.5
# Paler than those of fans, since marks lie on them.
_BANDS = (("10 % to 90 %", 0, 4, "#dcebf5", 0.6), ("25 % to 75 %", 1, 3, WIDE, 0.4))


def plot_quantile_bands(
    predicted: Any,
    X: Any,
    feature: str | int = 0,
    *,
    taus: ArrayLike | None = None,
    y: object = None,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Axes with bands of predicted quantiles over one feature, and the data.

    The light band holds the event with a predicted probability of 80 %, the dark one with 50 %; the
    line is the median. The quantiles of a model are averaged over the rows at each value of the
    feature (`censquant.inspection.partial_dependence`), so the data spread more widely than the
    bands where other features matter. They are hatched above the highest drawn level that the data
    can speak for in most rows, and the median is dotted there. A censored row is drawn at the time
    it was last seen: its event belongs above the mark. A category has boxes instead of bands.

    Parameters
    ----------
    predicted : fitted model, or array-like of shape (n, k)
        Any model that `censquant.adapters.is_supported` knows; or quantiles that were predicted for
        the rows of ``X``, which are then drawn as they are, in the order of the feature.
    X : array-like or DataFrame of shape (n, n_features) or (n,)
        Rows, as the model takes them.
    feature : str or int, default=0
        Column, by name or number.
    taus : array-like of shape (k,), inside (0, 1), optional
        Strictly increasing levels of the columns of an array, from 0.1 to 0.9 at least.
    y : structured array or any other form of target, of n rows, optional
        Observed times of the rows.
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
    >>> from censquant.datasets import make_weibull
    >>> from censquant.plotting import plot_quantile_bands
    >>> data, taus = make_weibull(100, random_state=0), [0.1, 0.5, 0.9]
    >>> ax = plot_quantile_bands(data.true_quantiles(taus), data.X, taus=taus, y=data.y)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['10 % to 90 %', '25 % to 75 %', 'median', 'event', 'censored']
    """
    rows = np.asarray(X).reshape(-1, 1) if np.ndim(X) == 1 else X
    table = FeatureTable.read(rows, predicted)
    place = table.place(feature)
    name = str(getattr(X, "name", "x")) if np.ndim(X) == 1 else table.names[place]
    target = None if y is None else read_observed(y, len(table), name="X")
    if is_supported(predicted):
        found = partial_dependence(predicted, table.X, place, quantiles=_LEVELS)
        at, values, labels = found.grid, found.average, found.grid
        is_categorical = found.is_categorical
        border = _border(values, found.identified, is_lowest=is_left_censored(predicted))
    else:
        at, values, is_categorical = _of_rows(predicted, table, place, taus)
        labels, border = at, values[:, -1]
    ax = axes_or_new(ax, width=6.4, height=4.2)
    marks: dict[str, Any] = {}
    if is_categorical:
        at = np.arange(len(labels))
        ax.set_xticks(at, [str(label) for label in labels])
        ax.set_xlim(-0.5, len(labels) - 0.5)
    for band, low, high, color, width in _BANDS:
        ends = values[:, low], np.clip(border, values[:, low], values[:, high]), values[:, high]
        draw = _Boxes(ax, at, width) if is_categorical else _Ribbons(ax, at)
        marks[band] = draw(ends[0], ends[1], color=color, linewidth=0)
        if (ends[1] < ends[2]).any():
            hatched: dict[str, Any] = {"edgecolor": color, "hatch": HATCH, "linewidth": 0}
            marks["beyond the data"] = draw(ends[1], ends[2], facecolor=PALE, **hatched)
    marks["median"] = _draw_median(ax, at, values[:, 2], border, is_categorical=is_categorical)
    if "beyond the data" in marks:
        marks["beyond the data"] = marks.pop("beyond the data")
    if target is not None:
        marks |= draw_observed(ax, _positions(table, place, labels, is_categorical), target)
    lowest = min(values.min(), np.inf if target is None else target.time.min())
    if lowest >= 0:
        ax.set_ylim(bottom=0)
    ax.set_xlabel(name)
    ax.set_ylabel(with_unit("time", unit))
    unclutter(ax, grid_axis="y")
    legend_beside(ax, marks)
    return ax


def _of_rows(
    predicted: Any, table: FeatureTable, place: int, taus: ArrayLike | None
) -> tuple[NDArray[Any], Floats, bool]:
    """Return the feature and quantiles of the rows in its order; of categories the averages."""
    values, levels, _ = read_predictions(predicted, None, taus, name="predicted", n_rows=len(table))
    if levels[0] > _LEVELS[0] + 1e-9 or levels[-1] < _LEVELS[-1] - 1e-9:
        raise ValueError(
            f"taus must reach from 0.1 to 0.9 for the bands to be drawn, got {levels[0]} to "
            f"{levels[-1]}."
        )
    bands = QuantileCurve.from_predictions(values, levels).at(_LEVELS)
    numbers = table.numbers(place)
    if numbers is None:
        texts = np.array(table.texts(place))
        groups = np.unique(texts)
        return groups, np.stack([bands[texts == group].mean(axis=0) for group in groups]), True
    known = np.flatnonzero(~np.isnan(numbers))
    order = known[np.argsort(numbers[known], kind="stable")]
    return numbers[order], bands[order], False


def _border(values: Floats, identified: Floats, *, is_lowest: bool) -> Floats:
    """Return the quantile of the highest level that most rows identify, at each value."""
    if is_lowest:  # what left censoring hides lies below, where no band is hatched
        return values[:, -1]
    known = identified >= _IDENTIFIED
    highest = np.where(known, np.arange(known.shape[1]), -1).max(axis=1)
    reached = np.take_along_axis(values, np.maximum(highest, 0)[:, None], axis=1)[:, 0]
    return np.where(highest < 0, -np.inf, reached)


@dataclass(frozen=True)
class _Ribbons:
    """Draws the area between two curves."""

    ax: Axes
    at: Any

    def __call__(self, low: Floats, high: Floats, **style: Any) -> Any:
        return self.ax.fill_between(self.at, low, high, zorder=1, **style)


@dataclass(frozen=True)
class _Boxes:
    """Draws one box per category."""

    ax: Axes
    at: Any
    width: float

    def __call__(self, low: Floats, high: Floats, **style: Any) -> Any:
        return self.ax.bar(self.at, high - low, self.width, bottom=low, zorder=1, **style)


def _draw_median(ax: Axes, at: Any, median: Floats, border: Floats, *, is_categorical: bool) -> Any:
    """Draw the median, dotted where it is extrapolated; return the solid part."""
    known = median <= border
    style: dict[str, Any] = {"color": MEDIAN, "linewidth": 2.2, "zorder": 3}
    if is_categorical:
        parts = [
            ax.hlines(median[which], at[which] - 0.22, at[which] + 0.22, linestyle=dash, **style)
            for which, dash in ((known, "solid"), (~known, "dotted"))
        ]
        return parts[0]
    # Dotted below, so that the line has no gap where one part ends and the other begins.
    if not known.all():
        ax.plot(at, median, ":", **style)
    return ax.plot(at, np.where(known, median, np.nan), "-", **style)[0]


def _positions(table: FeatureTable, place: int, labels: Any, is_categorical: bool) -> Floats:
    """Return where the rows are drawn; rows of a category are spread a little."""
    if not is_categorical:
        numbers = table.numbers(place)
        assert numbers is not None
        return numbers
    known = {str(label): position for position, label in enumerate(labels)}
    codes = np.array([known.get(text, np.nan) for text in table.texts(place)])
    return codes + np.random.default_rng(0).uniform(-0.18, 0.18, len(codes))


# More entries than this make a legend longer than the figure is high.
_LEVELS_IN_LEGEND = 9


def plot_quantiles_1d(
    predicted: Any,
    X: Any,
    *,
    taus: ArrayLike | None = None,
    true: ArrayLike | None = None,
    y: object = None,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Axes with predicted quantile curves over one feature.

    One line per level, dark for early and light for late quantiles. True quantiles, known for
    synthetic data, are dashed and black. A censored row is drawn at the time it was last seen, so
    such marks belong below the event they stand for: do not judge a curve by the share of marks
    below it where censoring is heavy.

    Parameters
    ----------
    predicted : array-like of shape (n, k), or fitted model of this feature
        Predicted quantiles of the rows; NaN or infinity leaves a gap in its line. Models of more
        features are drawn by `plot_quantile_bands`.
    X : array-like or DataFrame of shape (n,) or (n, 1)
        The feature, in any order; the axis has the name of its column.
    taus : array-like of shape (k,), inside (0, 1), optional
        Strictly increasing levels of the columns. A model has levels of its own.
    true : array-like of shape (n, k), optional
        True quantiles of the same rows and levels.
    y : structured array or any other form of target, of n rows, optional
        Observed times of the same rows.
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
    >>> from censquant.datasets import make_weibull
    >>> from censquant.plotting import plot_quantiles_1d
    >>> data, taus = make_weibull(100, random_state=0), [0.1, 0.5, 0.9]
    >>> ax = plot_quantiles_1d(data.true_quantiles(taus), data.X, taus=taus, y=data.y)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['90 % quantile', '50 % quantile', '10 % quantile', 'event', 'censored']
    """
    feature = _read_feature(X)
    rows = X if np.ndim(X) == 2 else feature[:, None]
    curves, levels, _ = read_predictions(
        predicted, rows, taus, name="predicted", n_rows=len(feature)
    )
    shape = curves.shape
    truth = None if true is None else read_quantiles(true, shape, name="true")
    target = None if y is None else read_observed(y, len(feature), name="predicted")
    ax = axes_or_new(ax, width=6.4, height=4.2)
    from matplotlib import colormaps

    order = np.argsort(feature, kind="stable")
    colors = colormaps["viridis"](np.linspace(0.0, PALEST, len(levels)))
    lines = [
        ax.plot(feature[order], column[order], color=color, linewidth=1.8, zorder=3)[0]
        for column, color in zip(_gaps(curves).T, colors, strict=True)
    ]
    # From the highest level down, as the lines lie in the figure.
    legend: dict[str, Any] = {
        f"{100 * levels[k]:g} % quantile": lines[k] for k in reversed(in_legend(len(levels)))
    }
    if truth is not None:
        style: dict[str, Any] = {"color": "black", "linewidth": 1.0, "dashes": (5, 3), "zorder": 4}
        legend["true"] = ax.plot(feature[order], _gaps(truth)[order], **style)[0]
    if target is not None:
        legend |= draw_observed(ax, feature, target)

    ax.set_xlabel(_name_of(X))
    ax.set_ylabel(with_unit("time", unit))
    unclutter(ax, grid_axis="y")
    legend_beside(ax, legend)
    return ax


def draw_observed(ax: Axes, feature: NDArray[np.float64], target: Target) -> dict[str, Any]:
    """Draw what was seen of each row; return the marks by their meaning."""
    marks = {}
    # Vermilion and grey differ for every kind of colour vision, and the marks in shape too.
    for name, which, marker, color, size in (
        ("event", target.event, "o", "0.45", 2.6),
        ("censored", ~target.event, "+", OBSERVED, 5.0),
    ):
        if which.any():
            (marks[name],) = ax.plot(
                feature[which],
                target.time[which],
                marker,
                color=color,
                markersize=size,
                alpha=0.75,
                zorder=2,
            )
    return marks


def _read_feature(X: ArrayLike) -> NDArray[np.float64]:
    """Return the feature as a vector, or raise one sentence."""
    array = np.asarray(X, dtype=np.float64)
    if array.shape not in ((array.size,), (array.size, 1)):
        raise ValueError(f"X must have shape (n,) or (n, 1), got {array.shape}.")
    return array.reshape(-1)


def _name_of(X: Any) -> str:
    """Return the name of the feature, x if it has none."""
    columns = getattr(X, "columns", None)
    name = getattr(X, "name", None) if columns is None else columns[0]
    return "x" if name is None else str(name)


def _gaps(curves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Curves with NaN for infinity, which would spoil the limits of the axis."""
    return np.where(np.isfinite(curves), curves, np.nan)


def in_legend(n_levels: int) -> list[int]:
    """Columns named in the legend: all, or evenly spread ones where they are many."""
    if n_levels <= _LEVELS_IN_LEGEND:
        return list(range(n_levels))
    return sorted(set(np.linspace(0, n_levels - 1, 5).round().astype(int).tolist()))
