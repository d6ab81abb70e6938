"""Axes to draw on: the caller's, or those of a new figure that pyplot does not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
