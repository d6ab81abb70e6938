"""Partial dependence of predicted quantiles on one feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant.inspection import FeatureTable, PartialDependence, partial_dependence
from censquant.plotting._axes import axes_or_new, legend_beside, unclutter, with_unit
from censquant.plotting._palette import PALEST

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_N_INDIVIDUAL = 50
# A quantile that fewer of the rows identify than this is drawn as an extrapolation.
_IDENTIFIED = 0.5


def plot_partial_dependence(
    dependence: Any,
    X: Any = None,
    feature: str | int = 0,
    *,
    quantiles: ArrayLike = (0.5,),
    individual: bool = True,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Axes with the mean predicted quantile at each value of a feature, in units of time.

    Thick lines are averages over the rows, one per level. Grey lines are fifty of the rows, for one
    level only: where they are not parallel, the feature interacts with others. An average is dotted
    where the data cannot speak for the quantile of most rows. Ticks at the bottom are the values of
    the rows.

    Parameters
    ----------
    dependence : PartialDependence, or fitted model
        Outcome of `censquant.inspection.partial_dependence`, or any model that
        `censquant.adapters.predict_quantiles_of` takes.
    X : array-like or DataFrame of shape (n, n_features), optional
        Rows to average over, where a model is given; their values are marked.
    feature : str or int, default=0
        Column, by name or number, where a model is given.
    quantiles : array-like of shape (k,), inside (0, 1), default=(0.5,)
        Increasing levels, where a model is given.
    individual : bool, default=True
        Whether to draw lines of single rows, for one level.
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
    >>> import numpy as np
    >>> from censquant import LinearQuantileRegressor
    >>> from censquant.plotting import plot_partial_dependence
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = LinearQuantileRegressor([0.25, 0.5]).fit(X, 20 + 3 * X[:, 0] + X[:, 1])
    >>> ax = plot_partial_dependence(model, X, "x0", unit="days")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x0', 'median (days)')
    """
    found = dependence
    if not isinstance(found, PartialDependence):
        if X is None:
            raise ValueError("X must be given where dependence is a fitted model, got None.")
        found = partial_dependence(dependence, X, feature, quantiles=quantiles)
    ax = axes_or_new(ax, width=6.4, height=4.2)
    from matplotlib import colormaps

    at = np.arange(len(found.grid)) if found.is_categorical else found.grid
    levels, average = found.quantiles, found.average
    colors = colormaps["viridis"](np.linspace(0.0, PALEST, len(levels)))
    if individual and len(levels) == 1:
        shown = np.linspace(0, len(found.individual) - 1, _N_INDIVIDUAL).round().astype(np.intp)
        ax.plot(at, found.individual[np.unique(shown), :, 0].T, color="0.8", linewidth=0.6)
    marks: dict[str, Any] = {}
    for k in reversed(range(len(levels))):
        lines = _draw_average(ax, at, average[:, k], found.identified[:, k], colors[k])
        marks[quantile_name(levels[k])] = lines[0]
        if len(lines) > 1:
            marks["beyond the data"] = lines[1]
    if "beyond the data" in marks:
        marks["beyond the data"] = marks.pop("beyond the data")
    if found.is_categorical:
        ax.set_xticks(at, [str(value) for value in found.grid])
        ax.set_xlim(-0.5, len(at) - 0.5)
    elif X is not None:
        _draw_values(ax, FeatureTable.read(X), found.feature, feature)
    if average.min() >= 0 and found.individual.min() >= 0:
        ax.set_ylim(bottom=0)
    ax.set_xlabel(found.feature)
    name = quantile_name(levels[0]) if len(levels) == 1 else "predicted time"
    ax.set_ylabel(with_unit(name, unit))
    unclutter(ax, grid_axis="y")
    if len(marks) > 1:
        legend_beside(ax, marks)
    return ax


def quantile_name(level: float) -> str:
    """Return what a quantile is called in a figure."""
    return "median" if level == 0.5 else f"{100 * level:g} % quantile"


def _draw_average(ax: Axes, at: Any, average: Floats, identified: Floats, color: Any) -> list[Any]:
    """Draw one average, solid and, where the data cannot speak for it, dotted."""
    known = identified >= _IDENTIFIED
    # A dotted line begins where the solid one ends.
    beside = known.copy()
    beside[1:-1] = known[:-2] & known[1:-1] & known[2:]
    style: dict[str, Any] = {"color": color, "linewidth": 2.4, "zorder": 3}
    lines = [ax.plot(at, np.where(known, average, np.nan), "-", **style)[0]]
    if not known.all():
        lines.append(ax.plot(at, np.where(beside, np.nan, average), ":", **style)[0])
    return lines


def _draw_values(ax: Axes, table: FeatureTable, name: str, feature: str | int) -> None:
    """Draw a tick at the bottom for values that the rows have."""
    place = table.names.index(name) if name in table.names else table.place(feature)
    values = table.numbers(place)
    if values is None:
        return
    low, high = ax.get_xlim()
    inside = np.unique(values[(values >= low) & (values <= high)])
    ax.plot(
        inside,
        np.zeros(len(inside)),
        "|",
        color="0.35",
        markersize=7,
        markeredgewidth=0.5,
        transform=ax.get_xaxis_transform(),
        clip_on=False,
    )
    ax.set_xlim(low, high)
