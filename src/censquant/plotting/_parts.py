"""What figures share: reading of arguments, axes, legends, colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.adapters._predictions import (
    adapted_curve,
    final_model,
    is_left_censored,
    is_supported,
)
from censquant.quantiles._grid import DEFAULT_QUANTILES, check_quantiles
from censquant.survival import Target, read_target

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def read_quantiles(
    values: ArrayLike, shape: tuple[int | None, int], *, name: str
) -> NDArray[np.float64]:
    """Return quantiles with one column per level; None stands for any number of rows."""
    matrix = np.asarray(values, dtype=np.float64)
    n_rows, n_levels = shape
    fits = matrix.ndim == 2 and matrix.shape[1] == n_levels and n_rows in (None, len(matrix))
    if not fits:
        rows = "n" if n_rows is None else n_rows
        raise ValueError(
            f"{name} must have shape ({rows}, {n_levels}), with one column for each of taus, "
            f"got {matrix.shape}."
        )
    return matrix


def read_predictions(
    predicted: Any, X: Any, taus: ArrayLike | None, *, name: str, n_rows: int | None = None
) -> tuple[Floats, Floats, Floats | None]:
    """Return quantiles, given or predicted, their levels, and the reach where a model says it."""
    if is_supported(predicted):
        if X is None:
            raise ValueError(f"X must be given where {name} is a fitted model, got None.")
        curve, reach = adapted_curve(predicted, X, read_levels(predicted, taus))
        return curve.values, curve.taus, None if is_left_censored(predicted) else reach
    if taus is None:
        raise ValueError(
            f"taus must be given where {name} is an array, one level for each column, got None."
        )
    levels = check_quantiles(taus, name="taus")
    return read_quantiles(predicted, (n_rows, len(levels)), name=name), levels, None


def read_levels(model: Any, taus: ArrayLike | None) -> Floats:
    """Return the levels given, by default those that a model was fitted to."""
    if taus is None:
        taus = getattr(final_model(model, None)[0], "quantiles_", DEFAULT_QUANTILES)
    return check_quantiles(taus, name="taus")


def read_observed(y: object, n_rows: int, *, name: str) -> Target:
    """Return the times of the rows drawn, in any form that `read_target` takes."""
    target = read_target(y)
    if len(target) != n_rows:
        raise ValueError(f"y must have one row for each of {name}, got {len(target)} and {n_rows}.")
    return target


def read_labels(labels: Sequence[str] | None, X: Any, n_rows: int, *, name: str) -> list[str]:
    """Return one name per row: those given, the index of a frame, or numbers from 1."""
    if labels is None:
        if hasattr(X, "iloc") and hasattr(X, "index"):
            return [str(label) for label in X.index]
        return [str(row) for row in range(1, n_rows + 1)]
    if len(labels) != n_rows:
        raise ValueError(
            f"labels must have one name for each row of {name}, got {len(labels)} for {n_rows}."
        )
    return [str(label) for label in labels]


def axes_or_new(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes given, or those of a new figure of `width` by `height` inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            'plotting needs matplotlib; install it with: pip install "censquant[plot]"'
        ) from None
    if ax is not None:
        return ax
    # A figure made by pyplot would stay in memory until closed by name, and might open a window.
    return Figure(figsize=(width, height), layout="constrained").subplots()


def unclutter(ax: Axes, *, grid_axis: str) -> None:
    """Leave the two spines that carry a scale, and a pale grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(axis=grid_axis, color="0.9", linewidth=0.8)  # type: ignore[arg-type]


def name_rows(ax: Axes, names: list[str]) -> None:
    """Put a name at each of the rows 0, 1, ... from the top down, with a grid along time."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.45, -0.55)
    unclutter(ax, grid_axis="x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


def with_unit(quantity: str, unit: str) -> str:
    """Return the label of an axis."""
    return f"{quantity} ({unit})" if unit else quantity


def legend_above(ax: Axes, marks: Mapping[str, Any], *, ncols: int = 3) -> None:
    """Name marks above the axes, where the legend hides nothing."""
    ax.legend(
        list(marks.values()),
        list(marks),
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        columnspacing=1.6,
        ncols=ncols,
        frameon=False,
    )


def legend_beside(ax: Axes, marks: Mapping[str, Any], *, title: str | None = None) -> None:
    """Name marks beside the axes, where the legend hides nothing."""
    ax.legend(
        list(marks.values()),
        list(marks),
        title=title,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
    )


WIDE, NARROW, MEDIAN = "#a6cde3", "#4b93c3", "#08306b"
"""The bands that hold 80 % and 50 % of the events, and the line of the median."""

OBSERVED = "#d55e00"
"""Vermilion stands out from blue for every kind of colour vision."""

PALE, HATCH = "#f3f8fb", "/////"
"""Of what lies beyond the data."""

SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#000000")
"""Groups, methods and terms, in this order."""

PALEST = 0.87
"""Where viridis ends: what follows is too pale for a line on white."""


def series_color(place: int) -> str:
    """Return the colour of the group, method or term at a place."""
    return SERIES[place % len(SERIES)]
