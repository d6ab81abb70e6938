"""Quantiles over one feature, with the data and the truth where it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant.plotting._arguments import read_observed, read_predictions, read_quantiles
from censquant.plotting._axes import axes_or_new, legend_beside, unclutter, with_unit
from censquant.plotting._palette import OBSERVED, PALEST
from censquant.survival import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
