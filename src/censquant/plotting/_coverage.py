"""Coverage of promised levels or of subgroups, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant._validation import check_choice
from censquant.plotting._axes import axes_or_new, unclutter

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from censquant.estimators.meta import CoverageTable


_AFTER, _BEFORE, _PROMISE = "#2171b5", "#d55e00", "0.25"
_APART = 0.14
# Standard errors to each side of an interval of 95 %.
_SPREAD = 1.959964


class _Interval(NamedTuple):
    """The part of a `censquant.metrics.Coverage` that is drawn."""

    estimate: float
    confidence_low: float
    confidence_high: float


def plot_coverage(
    coverage: CoverageTable | Mapping[Any, Any] | ArrayLike,
    *,
    nominal: ArrayLike | None = None,
    before: Mapping[Any, Any] | ArrayLike | None = None,
    labels: Sequence[str] | None = None,
    side: str = "lower",
    ax: Axes | None = None,
) -> Axes:
    """Axes with estimated coverage and its interval, one row per subgroup or promised level.

    An interval that holds the tick of the promise leaves nothing to object to; one that ends to the
    left of it says that the promise was not kept.

    Parameters
    ----------
    coverage : CoverageTable, mapping, or array-like of shape (k, 3)
        The ``coverage_`` of a calibrated estimator, which also says what is promised and how the
        model was before, with intervals of 95 %; `censquant.metrics.Coverage` by label, as
        `censquant.metrics.coverage` with ``groups=`` returns it; or one row of estimate, lower and
        upper end of its interval for each label.
    nominal : float or array-like of shape (k,), optional
        Promised coverage; by default that of a CoverageTable, and the labels of a mapping
        themselves if all of them are numbers inside (0, 1).
    before : mapping or array-like of shape (k, 3), optional
        The same before calibration, drawn above each row.
    labels : sequence of k str, optional
        Names of the rows; by default confidence and subgroup, the keys of the mapping, or numbers
        from 1.
    side : {"lower", "upper"}, default "lower"
        Whose rows of a CoverageTable are drawn. Bounds none of which is finite are left out.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that pyplot does not know by default (``ax.figure`` shows it in
        a notebook and has ``savefig``).

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from censquant.metrics import coverage
    >>> from censquant.plotting import plot_coverage
    >>> y = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    >>> by_sex = coverage(y, 1.5, float("inf"), groups=["f", "m", "f", "m", "f", "m"])
    >>> ax = plot_coverage(by_sex, nominal=0.9)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['f', 'm']
    """
    check_choice("side", side, ("lower", "upper"))
    if hasattr(coverage, "rows"):
        coverage, nominal, before = _of_table(coverage, side, nominal, before)
    keys, after = _read_intervals(coverage, "coverage")
    earlier = None
    if before is not None:
        earlier_keys, earlier = _read_intervals(before, "before")
        if earlier_keys != keys:
            raise ValueError(
                f"before must have the rows of coverage, {_listed(keys)}, got "
                f"{_listed(earlier_keys)}."
            )
    promised = _read_nominal(nominal, keys, is_mapping=isinstance(coverage, Mapping))
    names = _read_names(labels, keys)
    ax = axes_or_new(ax, width=6.4, height=1.5 + 0.42 * len(keys))
    rows = np.arange(len(keys), dtype=np.float64)
    legend: dict[str, Any] = {}
    shift = 0.0 if earlier is None else _APART
    name = "coverage" if earlier is None else "after"
    legend[name] = _draw_intervals(ax, rows + shift, after, _AFTER, "o")
    if earlier is not None:
        legend["before"] = _draw_intervals(ax, rows - shift, earlier, _BEFORE, "s")
    if promised is not None:
        legend["promised"] = ax.vlines(
            promised, rows - 0.4, rows + 0.4, color=_PROMISE, linewidth=1.6, zorder=2
        )
    ax.set_yticks(rows, names)
    ax.set_ylim(len(keys) - 0.45, -0.55)
    ax.set_xlabel("coverage")
    unclutter(ax, grid_axis="x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
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


def _of_table(
    table: Any,
    side: str,
    nominal: ArrayLike | None,
    before: Mapping[Any, Any] | ArrayLike | None,
) -> tuple[dict[str, _Interval], ArrayLike, Mapping[Any, Any] | ArrayLike]:
    """Return intervals by confidence and subgroup, what is promised, and how it was before."""
    rows = [row for row in table.rows if row.side == side and np.isfinite(row.estimate)]
    keys = [f"{row.confidence:g} {row.group}".rstrip() for row in rows]
    after = {
        key: _Interval(
            row.estimate,
            max(row.estimate - _SPREAD * row.standard_error, 0.0),
            min(row.estimate + _SPREAD * row.standard_error, 1.0),
        )
        for key, row in zip(keys, rows, strict=True)
    }
    promised = [row.confidence for row in rows] if nominal is None else nominal
    if before is None:
        # The table has no standard errors of these.
        values = [row.uncalibrated for row in rows]
        before = {key: _Interval(one, one, one) for key, one in zip(keys, values, strict=True)}
    return after, promised, before


def _draw_intervals(ax: Axes, rows: Floats, table: Floats, color: str, marker: str) -> Any:
    estimate, low, high = table.T
    ax.hlines(rows, low, high, color=color, linewidth=1.6, zorder=3)
    return ax.plot(estimate, rows, marker, color=color, markersize=6, zorder=4)[0]


def _read_intervals(given: Mapping[Any, Any] | ArrayLike, name: str) -> tuple[list[Any], Floats]:
    """Return labels, and estimate and ends of the interval of each, or raise one sentence."""
    if isinstance(given, Mapping):
        keys = list(given)
        try:
            values = [
                (one.estimate, one.confidence_low, one.confidence_high) for one in given.values()
            ]
        except AttributeError:
            raise TypeError(
                f"{name} must map labels to results of censquant.metrics.coverage, got "
                f"{type(next(iter(given.values()))).__name__}."
            ) from None
        table = np.array(values, dtype=np.float64).reshape(-1, 3)
    else:
        table = np.asarray(given, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != 3:
            raise ValueError(
                f"{name} must have shape (k, 3), estimate and both ends of its interval, "
                f"got {table.shape}."
            )
        keys = list(range(1, len(table) + 1))
    if not keys:
        raise ValueError(f"{name} must have at least one row, got none.")
    return keys, table


def _read_nominal(nominal: ArrayLike | None, keys: list[Any], *, is_mapping: bool) -> Floats | None:
    """Return the promise of each row, if there is any."""
    if nominal is None:
        if not is_mapping or not all(_is_level(key) for key in keys):
            return None
        nominal = keys
    promised = np.asarray(nominal, dtype=np.float64)
    if promised.shape not in ((), (len(keys),)):
        raise ValueError(
            f"nominal must be a number or have one for each of {len(keys)} rows, got shape "
            f"{promised.shape}."
        )
    if not ((promised > 0) & (promised < 1)).all():
        raise ValueError(f"nominal must be inside (0, 1), got {np.ravel(nominal).tolist()}.")
    return np.broadcast_to(promised, len(keys))


def _is_level(key: Any) -> bool:
    return isinstance(key, float | np.floating) and bool(0 < key < 1)


def _read_names(labels: Sequence[str] | None, keys: list[Any]) -> list[str]:
    if labels is None:
        return [f"{key:g}" if _is_level(key) else str(key) for key in keys]
    if len(labels) != len(keys):
        raise ValueError(
            f"labels must have one name for each row of coverage, got {len(labels)} for "
            f"{len(keys)}."
        )
    return [str(label) for label in labels]


def _listed(keys: list[Any]) -> str:
    return ", ".join(str(key) for key in keys)
