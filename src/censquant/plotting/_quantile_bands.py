"""Bands of quantiles over one feature, with the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant.adapters import is_supported
from censquant.inspection import FeatureTable, partial_dependence
from censquant.plotting._arguments import read_observed, read_predictions
from censquant.plotting._axes import axes_or_new, legend_beside, unclutter, with_unit
from censquant.plotting._palette import MEDIAN, WIDE
from censquant.plotting._quantiles_1d import draw_observed
from censquant.quantiles import QuantileCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

_LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
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
    bands where other features matter. A censored row is drawn at the time it was last seen: its
    event belongs above the mark. A category has boxes instead of bands.

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
    else:
        at, values, is_categorical = _of_rows(predicted, table, place, taus)
        labels = at
    ax = axes_or_new(ax, width=6.4, height=4.2)
    marks: dict[str, Any] = {}
    if is_categorical:
        marks |= _draw_boxes(ax, values)
        ax.set_xticks(np.arange(len(labels)), [str(label) for label in labels])
        ax.set_xlim(-0.5, len(labels) - 0.5)
    else:
        for band, low, high, color, _ in _BANDS:
            marks[band] = ax.fill_between(
                at, values[:, low], values[:, high], color=color, linewidth=0, zorder=1
            )
        (marks["median"],) = ax.plot(at, values[:, 2], color=MEDIAN, linewidth=2.0, zorder=3)
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


def _draw_boxes(ax: Axes, values: Floats) -> dict[str, Any]:
    """Draw one box per category; return the marks by their meaning."""
    rows, marks = np.arange(len(values)), {}
    for band, low, high, color, width in _BANDS:
        height = values[:, high] - values[:, low]
        marks[band] = ax.bar(rows, height, width, bottom=values[:, low], color=color, zorder=1)
    marks["median"] = ax.hlines(
        values[:, 2], rows - 0.22, rows + 0.22, color=MEDIAN, linewidth=2.2, zorder=3
    )
    return marks


def _positions(table: FeatureTable, place: int, labels: Any, is_categorical: bool) -> Floats:
    """Return where the rows are drawn; rows of a category are spread a little."""
    if not is_categorical:
        numbers = table.numbers(place)
        assert numbers is not None
        return numbers
    known = {str(label): position for position, label in enumerate(labels)}
    codes = np.array([known.get(text, np.nan) for text in table.texts(place)])
    return codes + np.random.default_rng(0).uniform(-0.18, 0.18, len(codes))
