"""Observed against nominal levels, before and after calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant.metrics import pit_band, pit_curve
from censquant.plotting._arguments import read_observed, read_quantiles
from censquant.plotting._axes import axes_or_new, unclutter
from censquant.quantiles._grid import check_quantiles
from censquant.survival import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_AFTER, _BEFORE = "#2171b5", "#d55e00"


def plot_reliability(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    calibrated: ArrayLike | None = None,
    confidence: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Axes with the share of events by each predicted quantile against its nominal level.

    On the diagonal the levels are right; above it events come sooner than predicted, below it
    later. Shares are Kaplan-Meier's, of the levels of the times (`censquant.metrics.pit_curve`), so
    censored rows count, and lines end where follow-up does. The band is pointwise.

    Parameters
    ----------
    y : structured array or any other form of target, of n rows
        Times and events of rows that neither the model nor its calibration has seen.
    predicted : array-like of shape (n, k)
        Predicted quantiles. Columns that hold an infinite value, and all later ones, are left out.
    taus : array-like of shape (k,), inside (0, 1)
        Strictly increasing levels of the columns.
    calibrated : array-like of shape (n, k), optional
        Quantiles of the same rows and levels after calibration.
    confidence : float inside (0, 1), default 0.95
        Level of the band.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that pyplot does not know by default (``ax.figure`` shows it in
        a notebook and has ``savefig``).

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from censquant.datasets import make_weibull
    >>> from censquant.plotting import plot_reliability
    >>> data, taus = make_weibull(200, random_state=0), [0.1, 0.3, 0.5, 0.7, 0.9]
    >>> truth = data.true_quantiles(taus)
    >>> ax = plot_reliability(data.y, 0.9 * truth, taus, calibrated=truth)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['before calibration', 'after', 'ideal']
    """
    levels = check_quantiles(taus, name="taus")
    values = read_quantiles(predicted, (None, len(levels)), name="predicted")
    target = read_observed(y, len(values), name="predicted")
    drawn = [("before calibration" if calibrated is not None else "predicted", values, _BEFORE)]
    if calibrated is not None:
        shape = len(values), len(levels)
        drawn.append(("after", read_quantiles(calibrated, shape, name="calibrated"), _AFTER))
    lines = [
        (name, color, _reliability(target, matrix, levels, confidence, name))
        for name, matrix, color in drawn
    ]
    ax = axes_or_new(ax, width=4.8, height=4.8)
    legend: dict[str, Any] = {}
    for name, color, (nominal, observed, low, high) in lines:
        ax.fill_between(nominal, low, high, color=color, alpha=0.16, linewidth=0, zorder=2)
        style: dict[str, Any] = {"color": color, "linewidth": 1.8, "markersize": 4, "zorder": 3}
        legend[name] = ax.plot(nominal, observed, "o-", **style)[0]
    legend["ideal"] = ax.plot([0, 1], [0, 1], color="black", linewidth=1.0, dashes=(5, 3))[0]
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_aspect("equal")
    ax.set_xlabel("nominal level")
    ax.set_ylabel("share of events by the quantile")
    unclutter(ax, grid_axis="both")
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


def _reliability(
    target: Target, values: Floats, levels: Floats, confidence: float, name: str
) -> tuple[Floats, Floats, Floats, Floats]:
    """Nominal levels, observed shares and their limits, as far as quantiles are finite."""
    finite = np.isfinite(values).all(axis=0)
    n_finite = len(levels) if finite.all() else int(np.argmin(finite))
    if n_finite < 2:
        raise ValueError(
            f"The quantiles {name} must be finite at two levels or more, got {n_finite}."
        )
    values, grid = values[:, :n_finite], levels[:n_finite]
    y = target.time, target.event
    nominal, observed = pit_curve(y, values, grid)
    low, high = pit_band(y, values, grid, confidence=confidence)
    return nominal, observed, low, high
