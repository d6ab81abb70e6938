"""Calibration of predicted distributions: levels of the events against what chance would show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant._validation import check_choice, check_number
from censquant.adapters._predictions import is_left_censored, is_supported
from censquant.metrics import a_calibration, d_calibration, pit_histogram
from censquant.plotting._arguments import read_observed, read_predictions
from censquant.plotting._axes import axes_or_new, legend_above, unclutter
from censquant.plotting._palette import NARROW, OBSERVED
from censquant.survival import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_KINDS = ("pit", "a", "d")
_BAND = "0.88"
# Of the width of a bin, so that the band shows on both sides of a bar.
_BAR = 0.55


def plot_calibration(
    predicted: Any,
    X: Any = None,
    y: object = None,
    *,
    taus: ArrayLike | None = None,
    kind: str = "pit",
    n_bins: int = 10,
    confidence: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Axes with the levels of event times on their predicted curves, and the band of chance.

    A right model has bars of height 1. High bars on the left say that events come sooner than
    predicted, on the right later; at both ends that distributions are too narrow, in the middle too
    wide. Bars outside the grey band are vermilion: a right model has one of twenty there.

    Parameters
    ----------
    predicted : array-like of shape (n, k), or fitted model
        Predicted quantiles, or any model that `censquant.adapters.predict_quantiles_of` takes.
    X : array-like or DataFrame of n rows, optional
        Features, where ``predicted`` is a model.
    y : structured array or any other form of target, of n rows
        Times and events of rows that the model has not seen.
    taus : array-like of shape (k,), inside (0, 1), optional
        Strictly increasing levels of the columns. A model has levels of its own.
    kind : {"pit", "a", "d"}, default="pit"
        ``"pit"``: Kaplan-Meier shares of events (`censquant.metrics.pit_histogram`). ``"a"``:
        observed over expected events (`censquant.metrics.a_calibration`), the most reliable under
        heavy censoring. ``"d"``: shares of rows, censored ones spread evenly over what is left
        (`censquant.metrics.d_calibration`), which forgives nearly everything under censoring.
    n_bins : int, at least 2, default=10
        Number of bins of ``"pit"`` and ``"d"``. Cells of ``"a"`` are those between ``taus``, merged
        where few events are expected.
    confidence : float in (0, 1), default=0.95
        Level of the band, bin by bin.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that pyplot does not know by default (``ax.figure`` shows it in
        a notebook and has ``savefig``).

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from censquant.datasets import make_weibull
    >>> from censquant.plotting import plot_calibration
    >>> data, taus = make_weibull(300, random_state=0), [0.2, 0.4, 0.6, 0.8]
    >>> ax = plot_calibration(data.true_quantiles(taus), y=data.y, taus=taus, kind="a")
    >>> ax.get_ylabel()
    'observed over expected events'
    """
    check_choice("kind", kind, _KINDS)
    level = check_number("confidence", confidence, minimum=0, below=1, exclude_minimum=True)
    if is_supported(predicted) and is_left_censored(predicted):
        raise ValueError(
            "predicted must be fitted with censoring='right', since censored events are taken to "
            "come after their times, got censoring='left': negate times and quantiles."
        )
    values, levels, _ = read_predictions(predicted, X, taus, name="predicted")
    target = read_observed(y, len(values), name="predicted")
    edges, heights, low, high, label, title = _bars(target, values, levels, kind, n_bins, level)
    ax = axes_or_new(ax, width=6.0, height=4.0)
    known = ~np.isnan(heights)
    inside = known & (heights >= low) & (heights <= high)
    left, width = edges[:-1], np.diff(edges)
    marks: dict[str, Any] = {}
    for name, which, color in (
        ("within the band", inside, NARROW),
        ("outside", known & ~inside, OBSERVED),
    ):
        if which.any():
            centre = left[which] + width[which] / 2
            marks[name] = ax.bar(centre, heights[which], _BAR * width[which], color=color, zorder=2)
    marks[f"{100 * level:g} % of calibrated models"] = ax.bar(
        left[known],
        (high - low)[known],
        width[known],
        bottom=low[known],
        align="edge",
        color=_BAND,
        linewidth=0,
        zorder=1,
    )
    ax.hlines(
        1.0, edges[0], edges[-1], color="black", linewidth=1.0, linestyle=(0, (5, 3)), zorder=3
    )
    ax.set_xlim(0, 1)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("predicted probability of an event by its time")
    ax.set_ylabel(label)
    if title:
        ax.text(1.0, 1.02, title, transform=ax.transAxes, ha="right", va="bottom")
    unclutter(ax, grid_axis="y")
    legend_above(ax, marks, ncols=1 if title else 3)
    return ax


def _bars(
    target: Target, values: Floats, levels: Floats, kind: str, n_bins: int, confidence: float
) -> tuple[Floats, Floats, Floats, Floats, str, str]:
    """Return edges, heights, ends of the band, what is drawn, and the test if there is one."""
    from scipy.special import ndtri

    y, factor = (target.time, target.event), float(ndtri((1 + confidence) / 2))
    if kind == "pit":
        found = pit_histogram(y, values, levels, n_bins=n_bins, confidence=confidence)
        return found.edges, found.density, found.lower, found.upper, "density of events", ""
    if kind == "a":
        cells = a_calibration(y, values, levels)
        reach = factor / np.sqrt(np.maximum(cells.expected, 1e-12))
        label, title = "observed over expected events", _p_value(cells.p_value)
        return cells.edges, cells.ratio, np.maximum(1 - reach, 0.0), 1 + reach, label, title
    bins = d_calibration(y, values, levels, n_bins=n_bins)
    count = len(bins.shares)
    spread = np.full(count, factor * np.sqrt((count - 1) / len(target)))
    label, title = "rows over expected rows", _p_value(bins.p_value)
    return bins.edges, count * bins.shares, np.maximum(1 - spread, 0.0), 1 + spread, label, title


def _p_value(value: float) -> str:
    return f"p = {value:.2g}" if value >= 0.001 else "p < 0.001"
