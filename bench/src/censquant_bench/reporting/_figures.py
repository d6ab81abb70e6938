"""What all figures of the benchmark share."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Told apart by every kind of colour vision, and by the marker too.
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def render(figure: Figure) -> dict[str, bytes]:
    """Bytes of the figure as ``png`` and ``svg``, the same for figures drawn alike.

    Nothing of the clock, of chance or of the installed version gets into the files.

    Examples
    --------
    >>> from censquant_bench.reporting import new_figure, render
    >>> files = render(new_figure(1, 1))
    >>> files["png"][1:4], files == render(new_figure(1, 1))
    (b'PNG', True)
    """
    import matplotlib as mpl

    files = {}
    with mpl.rc_context({"svg.hashsalt": "censquant", "svg.fonttype": "path"}):
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
            files[kind] = buffer.getvalue()
    return files


def new_figure(width: float, height: float) -> Figure:
    """Figure of so many inches that pyplot does not know, so that none stays in memory.

    Examples
    --------
    >>> from censquant_bench.reporting import new_figure
    >>> new_figure(3, 2).get_size_inches().tolist()
    [3.0, 2.0]
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            'figures need matplotlib; install it with: pip install "censquant[plot]"'
        ) from None
    return Figure(figsize=(width, height), layout="constrained")


def style(place: int) -> dict[str, Any]:
    """Colour and marker of the method, variant or line at a place.

    Examples
    --------
    >>> from censquant_bench.reporting import style
    >>> style(0)
    {'color': '#0072b2', 'marker': 'o'}
    """
    return {
        "color": _COLORS[place % len(_COLORS)],
        "marker": _MARKERS[place % len(_MARKERS)],
    }


def readable_log(ax: Axes) -> None:
    """Put the vertical scale in logarithms, with plain numbers where it spans little.

    Examples
    --------
    >>> from censquant_bench.reporting import new_figure, readable_log
    >>> ax = new_figure(3, 2).subplots()
    >>> readable_log(ax)
    >>> ax.get_yscale()
    'log'
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_yscale("log")
    low, high = ax.get_ylim()
    if high < 30 * low:
        ax.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
        for which in (ax.yaxis.set_major_formatter, ax.yaxis.set_minor_formatter):
            which(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        ax.yaxis.set_minor_formatter(NullFormatter())


def unclutter(ax: Axes) -> None:
    """Leave the two spines that carry a scale, and a pale grid behind the data.

    Examples
    --------
    >>> from censquant_bench.reporting import new_figure, unclutter
    >>> ax = new_figure(3, 2).subplots()
    >>> unclutter(ax)
    >>> ax.spines["top"].get_visible()
    False
    """
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(axis="y", color="0.9", linewidth=0.8)


def shared_legend(
    figure: Figure, axes: Sequence[Axes], extra: Mapping[str, Any] | None = None
) -> None:
    """One legend above all axes, in as few rows as its width allows; each name once.

    Parameters
    ----------
    figure : matplotlib Figure
        Where it goes.
    axes : sequence of matplotlib Axes
        Whose marks have names.
    extra : mapping of str to matplotlib Artist, optional
        Further names and their marks, which come last.

    Examples
    --------
    >>> from censquant_bench.reporting import new_figure, shared_legend
    >>> figure = new_figure(3, 2)
    >>> ax = figure.subplots()
    >>> _ = ax.plot([1, 2], label="ours")
    >>> shared_legend(figure, [ax])
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['ours']
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    named: dict[str, Any] = {}
    for ax in axes:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    named |= extra or {}
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    for n_rows in range(1, len(named) + 1):
        legend = figure.legend(
            list(named.values()),
            list(named),
            loc="outside upper center",
            ncols=math.ceil(len(named) / n_rows),
            frameon=False,
        )
        if legend.get_window_extent(renderer).width <= figure.bbox.width:
            break
        if n_rows < len(named):
            legend.remove()
