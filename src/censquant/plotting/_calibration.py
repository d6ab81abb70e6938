"""Figures of calibration: predicted against observed, coverage, bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import check_choice, check_number
from censquant.adapters._predictions import is_left_censored, is_supported
from censquant.metrics import (
    CalibrationAt,
    a_calibration,
    d_calibration,
    pit_band,
    pit_curve,
    pit_histogram,
)
from censquant.plotting._parts import (
    NARROW,
    OBSERVED,
    axes_or_new,
    legend_above,
    read_observed,
    read_predictions,
    read_quantiles,
    series_color,
    unclutter,
)
from censquant.quantiles._grid import check_quantiles
from censquant.survival import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from censquant._calibration._coverage import CoverageTable


_KINDS = ("pit", "a", "d")
_TOLERATED = "0.88"
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
        Predicted quantiles, or any model that `censquant.adapters.is_supported` knows.
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
        color=_TOLERATED,
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


def plot_calibration_at(
    calibration: CalibrationAt | Mapping[str, CalibrationAt],
    *,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Axes with the observed against the predicted risk of an event by one time.

    On the diagonal the risks are right. Above it more individuals have the event than predicted,
    below it fewer. Discs are groups by quantiles of the predicted risk with their intervals; they
    are left out where several models are compared.

    Parameters
    ----------
    calibration : CalibrationAt, or mapping of str to CalibrationAt
        As `censquant.metrics.calibration_at` returns it; of several models, by name.
    unit : str
        Unit of time, for the axes.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that pyplot does not know by default (``ax.figure`` shows it in
        a notebook and has ``savefig``).

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.metrics import calibration_at
    >>> from censquant.plotting import plot_calibration_at
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.uniform(0.2, 2, size=300)
    >>> found = calibration_at(1 - np.exp(-rate), None, rng.exponential(1 / rate), time=1.0)
    >>> ax = plot_calibration_at(found, unit="years")
    >>> ax.get_xlabel()
    'predicted risk by 1 years'
    """
    several = calibration if isinstance(calibration, Mapping) else {"observed": calibration}
    if not several or not all(isinstance(one, CalibrationAt) for one in several.values()):
        raise TypeError(
            "calibration must be a result of censquant.metrics.calibration_at, or map names to "
            f"such results, got {calibration!r:.60}."
        )
    times = sorted({one.time for one in several.values()})
    if len(times) > 1:
        raise ValueError(
            f"calibration must be about one time, got {', '.join(f'{time:g}' for time in times)}: "
            "draw a figure for each."
        )
    ax = axes_or_new(ax, width=4.8, height=4.8)
    legend: dict[str, Any] = {}
    ends = [0.0]
    for place, (name, one) in enumerate(several.items()):
        color = series_color(place)
        band = ax.fill_between(
            one.risk, one.lower, one.upper, color=color, alpha=0.16, linewidth=0, zorder=2
        )
        (legend[name],) = ax.plot(one.risk, one.curve, color=color, linewidth=1.8, zorder=3)
        ends += [float(one.risk[-1]), float(np.nanmax(one.upper, initial=0.0))]
        if len(several) > 1:
            continue
        if not np.isnan(one.curve).all():
            kind = "band" if one.is_simultaneous else "pointwise band"
            legend[f"{100 * one.confidence:g} % {kind}"] = band
        groups = np.array([group[:4] for group in one.bins])
        predicted, observed, low, high = groups[~np.isnan(groups).any(axis=1)].T
        style: dict[str, Any] = {"color": OBSERVED, "zorder": 4}
        ax.vlines(predicted, low, high, linewidth=1.4, **style)
        (legend["groups"],) = ax.plot(predicted, observed, "o", markersize=4.5, **style)
        ends += [*predicted.tolist(), *high.tolist()]
    # A figure of small risks is not a speck in a corner.
    end = min(1.0, 0.05 * np.ceil(max(ends) / 0.05 + 0.2))
    legend["ideal"] = ax.plot([0, end], [0, end], color="black", linewidth=1.0, dashes=(5, 3))[0]
    ax.set_xlim(0, end)
    ax.set_ylim(0, end)
    ax.set_aspect("equal")
    when = f"by {times[0]:g} {unit}".rstrip()
    ax.set_xlabel(f"predicted risk {when}")
    ax.set_ylabel(f"observed risk {when}")
    unclutter(ax, grid_axis="both")
    legend_above(ax, legend, ncols=2)
    return ax


_BOUND, _INSIDE, _OUTSIDE = "#08306b", "0.45", "#d55e00"
_CLOSED, _OPEN = "#a6cde3", "#e3eff6"


def plot_bounds(
    y: object,
    lower: ArrayLike,
    upper: ArrayLike | None = None,
    *,
    log: bool = False,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Axes with the bounds of individuals, sorted by their lower bound, and their times.

    A disc is an event, vermilion where it broke the promise; a triangle is the time up to which a
    censored individual had no event, open where it says nothing yet about the lower bound. The
    share of broken promises among the marks is *not* one minus the coverage: events that censoring
    hid are missing (`censquant.metrics.coverage` estimates it).

    Parameters
    ----------
    y : structured array or any other form of target, of n rows
        What was observed.
    lower : array-like of shape (n,)
        Lower bounds; minus infinity or zero for none.
    upper : array-like of shape (n,), optional
        Upper bounds; infinity for none, whose interval is paler and has no end.
    log : bool, default False
        Whether the axis of time is logarithmic; bounds of zero are then at its lower end.
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
    >>> from censquant.plotting import plot_bounds
    >>> y = [3.0, 1.0, 2.0, 5.0], [True, True, False, False]
    >>> ax = plot_bounds(y, [1.0, 2.0, 3.0, 4.0], unit="years")
    >>> [text.get_text() for text in ax.get_legend().get_texts()][:3]
    ['lower bound', 'event, as promised', 'event, promise broken']
    """
    low = _read_bounds(lower, "lower")
    target = read_observed(y, len(low), name="lower")
    high = np.full(len(low), np.inf) if upper is None else _read_bounds(upper, "upper")
    if len(high) != len(low):
        raise ValueError(
            f"upper must have one bound for each of lower, got {len(high)} and {len(low)}."
        )
    if (crossed := np.flatnonzero(low > high)).size:
        raise ValueError(
            f"lower must not exceed upper, but it does in {crossed.size} of {len(low)} rows, the "
            f"first of them row {crossed[0]}."
        )
    ax = axes_or_new(ax, width=7.0, height=4.2)
    order = np.argsort(low, kind="stable")
    low, high, time, event = low[order], high[order], target.time[order], target.event[order]
    rank = np.arange(1, len(low) + 1)
    legend: dict[str, Any] = {}
    shown = np.where(np.isfinite(low), low, np.nan)
    (legend["lower bound"],) = ax.plot(
        rank, shown, color=_BOUND, linewidth=1.6, drawstyle="steps-mid", zorder=4
    )
    if upper is not None:
        legend |= _draw_bounds(ax, rank, low, high, _largest(time, low, high))
    inside = (low <= time) & (time <= high)
    for name, which, marker, color, face in (
        ("event, as promised", event & inside, "o", _INSIDE, _INSIDE),
        ("event, promise broken", event & ~inside, "o", _OUTSIDE, _OUTSIDE),
        ("censored later", ~event & (time >= low), "^", _INSIDE, _INSIDE),
        ("censored before", ~event & (time < low), "^", _INSIDE, "white"),
    ):
        if which.any():
            (legend[name],) = ax.plot(
                rank[which],
                time[which],
                marker,
                color=color,
                markerfacecolor=face,
                markersize=4.5,
                markeredgewidth=0.8,
                zorder=5 if color == _OUTSIDE else 3,
            )
    if log:
        ax.set_yscale("log")
    elif min(np.min(time), np.min(low[np.isfinite(low)], initial=0.0)) >= 0:
        ax.set_ylim(bottom=0)
    ax.set_xlabel("individuals, by their lower bound")
    ax.set_ylabel(f"time ({unit})" if unit else "time")
    unclutter(ax, grid_axis="y")
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


def _draw_bounds(
    ax: Axes, rank: NDArray[np.intp], low: Floats, high: Floats, top: float
) -> dict[str, Any]:
    """Draw the interval of each row, up to the top where it has no end; return what is there."""
    found: dict[str, Any] = {}
    start = np.where(np.isfinite(low), low, 0.0)
    for name, which, color in (
        ("interval", np.isfinite(high), _CLOSED),
        ("interval without end", ~np.isfinite(high), _OPEN),
    ):
        if which.any():
            height = np.where(which, np.minimum(high, top), start)[which] - start[which]
            style: dict[str, Any] = {"width": 0.9, "color": color, "zorder": 1}
            found[name] = ax.bar(rank[which], height, bottom=start[which], **style)
    closed = np.isfinite(high)
    ax.hlines(
        high[closed],
        rank[closed] - 0.45,
        rank[closed] + 0.45,
        color=_BOUND,
        linewidth=1.2,
        zorder=4,
    )
    return found


def _read_bounds(values: ArrayLike, name: str) -> Floats:
    """Return one bound per row, infinite ones allowed, or raise one sentence."""
    bounds = np.asarray(values, dtype=np.float64)
    if bounds.ndim != 1 or not bounds.size:
        raise ValueError(f"{name} must have shape (n,) with one row at least, got {bounds.shape}.")
    if missing := int(np.isnan(bounds).sum()):
        raise ValueError(f"{name} must not hold NaN, got it in {missing} of {bounds.size} rows.")
    return bounds


def _largest(*columns: Floats) -> float:
    """Return a time above all that is drawn."""
    return 1.05 * max(float(np.max(one[np.isfinite(one)], initial=0.0)) for one in columns)
