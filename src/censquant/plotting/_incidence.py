"""Stacked incidences of competing kinds of events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant.plotting._parts import (
    axes_or_new,
    legend_above,
    series_color,
    unclutter,
    with_unit,
)
from censquant.survival._aalen_johansen import aalen_johansen_of
from censquant.survival._causes import read_causes
from censquant.survival._columns import read_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_N_TIMES = 200


def plot_incidence(
    y: object = None,
    *,
    model: Any = None,
    X: Any = None,
    times: ArrayLike | None = None,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Axes with the shares that have had an event of each kind, stacked, up to each time.

    With a model the areas are its mean predicted incidences of the rows of ``X``, which may be a
    single one; the edges of the Aalen-Johansen curves of ``y``, if given, are drawn on top: a model
    that is right for these rows as a whole follows them. Without a model the areas are those of
    Aalen and Johansen. What is left above all areas is the share without an event.

    Parameters
    ----------
    y : target of n rows with kinds of events, optional
        As `CompetingRisksRegressor.fit` takes it.
    model : fitted CompetingRisksRegressor, optional
    X : array-like or DataFrame, optional
        Features of the rows, where there is a model; the rows of ``y`` if that is given.
    times : array-like of increasing times, optional
        Where curves are drawn; by default from 0 to the last time of ``y``, or to the end of
        follow-up of the model.
    unit : str
        Unit of time, for the axis.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that pyplot does not know by default.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from censquant.plotting import plot_incidence
    >>> y = [1.0, 2.0, 3.0, 4.0], ["relapse", "death", "censored", "relapse"]
    >>> ax = plot_incidence(y, unit="years")
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['death', 'relapse']
    """
    if (model is None) != (X is None):
        missing = "X" if X is None else "model"
        raise ValueError(f"model and X must be given together, got no {missing}.")
    if model is None and y is None:
        raise ValueError("y or a model with X must be given, got neither.")
    if model is not None and not hasattr(model, "predict_cumulative_incidence"):
        raise TypeError(
            "model must be a fitted CompetingRisksRegressor, got "
            f"{type(model).__name__}: plot_survival draws other models."
        )
    causes = None if y is None else read_causes(y, None if model is None else model.kinds_)
    if causes is not None:
        end = float(causes.target.time.max())
        kinds = causes.kinds
    else:
        end, kinds = model.follow_up_[1], model.kinds_
    at = np.linspace(0.0, end, _N_TIMES) if times is None else read_numbers(times, name="times")
    observed = None if causes is None else aalen_johansen_of(causes)
    step: Literal["post"] | None = None
    if model is None:
        assert observed is not None
        if times is None:
            at = np.concatenate(([0.0], observed.time))
        shares, step = observed(at), "post"
    else:
        shares = _mean_incidence(model, X, at)
        if causes is not None and _n_rows(X) != len(causes):
            raise ValueError(
                f"X must have one row for each of y, got {_n_rows(X)} and {len(causes)}."
            )
    ax = axes_or_new(ax, width=6.8, height=4.2)
    marks: dict[str, Any] = {}
    edges = np.vstack((np.zeros(at.size), np.cumsum(shares, axis=0)))
    for place, kind in enumerate(kinds):
        color = series_color(place)
        marks[str(kind)] = ax.fill_between(
            at, edges[place], edges[place + 1], step=step, color=color, alpha=0.55, linewidth=0
        )
    if model is not None and observed is not None:
        known = at
        if times is None:
            known = np.concatenate(([0.0], observed.time[observed.time <= at[-1]]))
        for edge in np.cumsum(observed(known), axis=0):
            (line,) = ax.step(known, edge, where="post", color="0.15", linewidth=1.2)
            marks["Aalen-Johansen"] = line
    ax.set_xlim(float(min(0.0, at[0])), float(at[-1]))
    ax.set_ylim(0, 1)
    ax.set_xlabel(with_unit("time", unit))
    ax.set_ylabel("probability of an event of each kind")
    unclutter(ax, grid_axis="y")
    legend_above(ax, marks)
    return ax


def _mean_incidence(model: Any, X: Any, times: Floats) -> Floats:
    """Return the mean incidence of rows, (K, T)."""
    incidence = model.predict_cumulative_incidence(X, times, beyond="extrapolate")
    return np.asarray(incidence.mean(axis=0))


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
