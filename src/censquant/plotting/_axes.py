"""Axes to draw on: the caller's, or those of a new figure that pyplot does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
