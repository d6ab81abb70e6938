"""Figures of trainings and comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from censquant.adapters._predictions import final_model
from censquant.metrics import BootstrapInterval, Evaluation
from censquant.plotting._parts import (
    OBSERVED,
    axes_or_new,
    legend_above,
    name_rows,
    series_color,
    unclutter,
    with_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Records = Sequence[Mapping[str, Any]]

# A fall of the learning rate to half or less is a step of its schedule.
_STEP = 0.5


def plot_history(history: Any, *, ax: Axes | None = None) -> Axes:
    """Axes with the loss of each epoch of a training.

    One line per network: members of an ensemble, or the levels of a sequential grid. The loss of
    held-out rows, where there are any, is dashed, with a disc at its lowest value; it may be on
    another scale than that of the training, so compare their courses. Thin vertical lines mark
    epochs at which the learning rate falls. A pool has networks that minimise different
    losses: each is shown as the share of its range that is left, from 1 to 0.

    Parameters
    ----------
    history : fitted model, or list of dict
        A model with ``history_``, a Pipeline or search around one, a pool with such candidates, or
        the records themselves.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that pyplot does not know by default (``ax.figure`` shows it in
        a notebook and has ``savefig``).

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from censquant.plotting import plot_history
    >>> records = [{"epoch": 1, "loss": 0.9, "learning_rate": 0.01},
    ...            {"epoch": 2, "loss": 0.5, "learning_rate": 0.01}]
    >>> plot_history(records).lines[0].get_ydata().tolist()
    [0.9, 0.5]
    """
    runs = _read_runs(history)
    ax = axes_or_new(ax, width=6.0, height=3.8)
    from matplotlib.ticker import MaxNLocator

    is_pool = len({name for name, _ in runs}) > 1
    colors = {name: series_color(place) for place, (name, _) in enumerate(dict(runs).items())}
    marks: dict[str, Any] = {}
    for name, records in runs:
        color = colors[name] if is_pool else series_color(0)
        epochs = [record["epoch"] for record in records]
        loss = np.array([record["loss"] for record in records], dtype=np.float64)
        if is_pool:
            loss = _share_left(loss)
        (line,) = ax.plot(epochs, loss, color=color, linewidth=1.4, alpha=0.85)
        marks.setdefault(name if is_pool else "training", line)
        held_out = np.array([record.get("validation_loss", np.nan) for record in records])
        if not is_pool and not np.isnan(held_out).all():
            style: dict[str, Any] = {"color": OBSERVED, "linewidth": 1.4}
            (line,) = ax.plot(epochs, held_out, dashes=(4, 2), **style)
            best = int(np.nanargmin(held_out))
            (mark,) = ax.plot(epochs[best], held_out[best], "o", color=OBSERVED)
            marks |= {"held-out rows": line, "lowest": mark}
    if not is_pool:
        falls = _falls(runs[0][1])
        for epoch in falls:
            marks["learning rate falls"] = ax.axvline(epoch, color="0.75", linewidth=0.9, zorder=1)
    ax.set_xlabel("epoch")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylabel("loss, share of its range that is left" if is_pool else "loss")
    unclutter(ax, grid_axis="y")
    legend_above(ax, marks, ncols=2 if len(marks) == 4 else 3)
    return ax


def _read_runs(history: Any) -> list[tuple[str, Records]]:
    """Return the records of each network, with the candidate that it belongs to."""
    if isinstance(history, Sequence) and history and isinstance(history[0], Mapping):
        return [("", run) for run in _split(history)]
    model, _ = final_model(history, None)
    if getattr(model, "history_", None):
        return [("", run) for run in _split(model.history_)]
    candidates = getattr(model, "estimators_", None)
    found: list[tuple[str, Records]] = []
    if isinstance(candidates, Mapping):
        found = [
            (str(name), run)
            for name, fitted in candidates.items()
            for each in fitted
            for run in _split(getattr(each, "history_", []))
        ]
    if not found:
        raise ValueError(
            "history must be a fitted model with history_, or its records, one mapping per epoch, "
            f"got {type(history).__name__} without any: it was not trained by epochs."
        )
    return found


def _split(records: Records) -> list[Records]:
    """Return the records of each member and level."""
    runs: dict[Any, list[Mapping[str, Any]]] = {}
    for record in records:
        runs.setdefault((record.get("member"), record.get("level")), []).append(record)
    return list(runs.values())


def _share_left(loss: np.ndarray[Any, np.dtype[np.float64]]) -> Any:
    low, high = loss.min(), loss.max()
    return (loss - low) / (high - low) if high > low else np.zeros_like(loss)


def _falls(records: Records) -> list[float]:
    """Return the epochs at which the learning rate falls by a step."""
    rates = np.array([record.get("learning_rate", np.nan) for record in records])
    with np.errstate(invalid="ignore", divide="ignore"):
        falls = np.flatnonzero(rates[1:] <= _STEP * rates[:-1]) + 1
    return [records[int(place)]["epoch"] for place in falls]


def plot_comparison(
    results: Mapping[str, Any],
    metric: str = "crps_censored",
    *,
    sort: bool = True,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Axes with the score of each method and its interval, one row per method.

    Intervals of methods that are scored on the same rows move together: two that overlap may still
    differ. Compare two methods by `censquant.metrics.bootstrap_interval` with ``other=``; where all
    results are such differences, a line at zero is drawn, and an interval that does not cross it
    speaks for a difference.

    Parameters
    ----------
    results : mapping of str to Evaluation, BootstrapInterval or (value, lower, upper)
        Result of each method.
    metric : str, default="crps_censored"
        Row of the evaluations to draw, and the label of the axis.
    sort : bool, default=True
        Whether the best method is on top, by the direction that evaluations know; otherwise, and
        for other results, the order given is kept.
    unit : str
        Unit of the score, for the axis.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that pyplot does not know by default (``ax.figure`` shows it in
        a notebook and has ``savefig``).

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from censquant.plotting import plot_comparison
    >>> ax = plot_comparison({"forest": (0.4, 0.3, 0.5), "network": (0.35, 0.3, 0.4)}, "CRPS")
    >>> [label.get_text() for label in ax.get_yticklabels()], ax.get_xlabel()
    (['forest', 'network'], 'CRPS')
    """
    if not results:
        raise ValueError("results must have at least one method, got none.")
    table = np.array([_read_result(name, result, metric) for name, result in results.items()])
    names, given = list(results), list(results.values())
    directions = {one[metric].direction for one in given if isinstance(one, Evaluation)}
    label = metric.replace("_", " ")
    if len(directions) == 1:
        (direction,) = directions
        label = f"{label}, {direction} is better"
        if sort:
            keys = -table[:, 0] if direction == "higher" else table[:, 0]
            order = np.argsort(keys, kind="stable")
            table, names = table[order], [names[place] for place in order]
    ax = axes_or_new(ax, width=6.4, height=1.2 + 0.42 * len(names))
    rows = np.arange(len(names))
    ax.hlines(rows, table[:, 1], table[:, 2], color=series_color(0), linewidth=2.0, zorder=3)
    ax.plot(table[:, 0], rows, "o", color=series_color(0), markersize=6.5, zorder=4)
    if all(isinstance(one, BootstrapInterval) and one.p_value is not None for one in given):
        ax.axvline(0.0, color="black", linewidth=1.0, linestyle=(0, (5, 3)))
    ax.set_xlabel(with_unit(label, unit))
    name_rows(ax, [str(name) for name in names])
    return ax


def _read_result(name: str, result: Any, metric: str) -> tuple[float, float, float]:
    """Return value and ends of the interval, or raise one sentence."""
    if isinstance(result, Evaluation):
        result = result[metric]
    if hasattr(result, "lower"):
        return float(result.value), float(result.lower), float(result.upper)
    numbers = np.asarray(result, dtype=np.float64)
    if numbers.shape != (3,):
        raise ValueError(
            "results must map methods to an Evaluation, a BootstrapInterval or value, lower and "
            f"upper end, got shape {numbers.shape} for {name!r}."
        )
    return float(numbers[0]), float(numbers[1]), float(numbers[2])
