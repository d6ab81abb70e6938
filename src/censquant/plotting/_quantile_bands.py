"""Bands of quantiles over one feature, with the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.adapters._predictions import is_left_censored, is_supported
from censquant.inspection import FeatureTable, partial_dependence
from censquant.plotting._arguments import read_observed, read_predictions
from censquant.plotting._axes import axes_or_new, legend_beside, unclutter, with_unit
from censquant.plotting._palette import HATCH, MEDIAN, PALE, WIDE
from censquant.plotting._quantiles_1d import draw_observed
from censquant.quantiles import QuantileCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        Any model for `censquant.adapters.predict_quantiles_of`; or quantiles predicted for
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
