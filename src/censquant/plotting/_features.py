"""Figures of what features do: importance, dependence, contributions, effects, coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant._validation import check_integer
from censquant.adapters._predictions import final_model
from censquant.estimators.linear import CoefficientSummary
from censquant.inspection import (
    Contrast,
    Contributions,
    PartialDependence,
    PermutationImportance,
    contributions,
    partial_dependence,
    permutation_importance,
)
from censquant.inspection._table import FeatureTable
from censquant.plotting._parts import (
    MEDIAN,
    NARROW,
    OBSERVED,
    PALEST,
    SERIES,
    axes_or_new,
    legend_beside,
    name_rows,
    series_color,
    unclutter,
    with_unit,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_LABELS = {"neg_censored_pinball": "increase of the censored check loss when shuffled"}


def plot_importance(
    importance: Any,
    X: Any = None,
    y: object = None,
    *,
    max_features: int = 20,
    unit: str = "",
    random_state: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Axes with the importance of features, the most important on top.

    A bar says by how much predictions become worse when the values of the feature are shuffled
    among the rows; the line at its end is two standard errors of repeated shuffles to either side.

    Parameters
    ----------
    importance : PermutationImportance, or fitted model
        Outcome of `censquant.inspection.permutation_importance`, or a model that is scored by the
        censored check loss.
    X : array-like or DataFrame of shape (n, n_features), optional
        Rows that the model was not fitted to, where a model is given.
    y : target in any form, of n rows, optional
        Their times and events, where a model is given.
    max_features : int, at least 1, default=20
        The least important ones beyond this number are left out.
    unit : str
        Unit of time, for the axis.
    random_state : int, Generator, RandomState or None
        Source of the shuffles, where a model is given.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that pyplot does not know by default (``ax.figure`` shows it in
        a notebook and has ``savefig``).

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.inspection import PermutationImportance
    >>> from censquant.plotting import plot_importance
    >>> found = PermutationImportance(
    ...     ("age", "sex"), np.array([[0.1, 0.1], [0.4, 0.6]]), -2.0, "neg_censored_pinball"
    ... )
    >>> ax = plot_importance(found)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['sex', 'age']
    """
    most = check_integer("max_features", max_features, minimum=1)
    found = importance
    if not isinstance(found, PermutationImportance):
        if X is None or y is None:
            missing = "X" if X is None else "y"
            raise ValueError(
                f"{missing} must be given where importance is a fitted model, got None."
            )
        found = permutation_importance(importance, X, y, random_state=random_state)
    order = found.order[:most]
    mean, error = found.mean[order], found.standard_error[order]
    ax = axes_or_new(ax, width=6.4, height=1.2 + 0.34 * len(order))
    rows = np.arange(len(order))
    ax.barh(rows, mean, height=0.62, color=NARROW, zorder=2)
    if not np.isnan(error).all():
        ax.hlines(rows, mean - 2 * error, mean + 2 * error, color=MEDIAN, linewidth=1.6, zorder=3)
    ax.axvline(0.0, color="0.35", linewidth=0.9, zorder=2)
    label = _LABELS.get(found.scoring, f"fall of {found.scoring} when shuffled")
    ax.set_xlabel(with_unit(label, unit))
    name_rows(ax, [found.features[place] for place in order])
    return ax


_N_INDIVIDUAL = 50
# A quantile that fewer of the rows identify than this is drawn as an extrapolation.
_IDENTIFIED = 0.5


def plot_partial_dependence(
    dependence: Any,
    X: Any = None,
    feature: str | int = 0,
    *,
    quantiles: ArrayLike = (0.5,),
    individual: bool = True,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Axes with the mean predicted quantile at each value of a feature, in units of time.

    Thick lines are averages over the rows, one per level. Grey lines are fifty of the rows, for one
    level only: where they are not parallel, the feature interacts with others. An average is dotted
    where the data cannot speak for the quantile of most rows. Ticks at the bottom are the values of
    the rows.

    Parameters
    ----------
    dependence : PartialDependence, or fitted model
        Outcome of `censquant.inspection.partial_dependence`, or any model that
        `censquant.adapters.is_supported` knows.
    X : array-like or DataFrame of shape (n, n_features), optional
        Rows to average over, where a model is given; their values are marked.
    feature : str or int, default=0
        Column, by name or number, where a model is given.
    quantiles : array-like of shape (k,), inside (0, 1), default=(0.5,)
        Increasing levels, where a model is given.
    individual : bool, default=True
        Whether to draw lines of single rows, for one level.
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
    >>> import numpy as np
    >>> from censquant import LinearQuantileRegressor
    >>> from censquant.plotting import plot_partial_dependence
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = LinearQuantileRegressor([0.25, 0.5]).fit(X, 20 + 3 * X[:, 0] + X[:, 1])
    >>> ax = plot_partial_dependence(model, X, "x0", unit="days")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x0', 'median (days)')
    """
    found = dependence
    if not isinstance(found, PartialDependence):
        if X is None:
            raise ValueError("X must be given where dependence is a fitted model, got None.")
        found = partial_dependence(dependence, X, feature, quantiles=quantiles)
    ax = axes_or_new(ax, width=6.4, height=4.2)
    from matplotlib import colormaps

    at = np.arange(len(found.grid)) if found.is_categorical else found.grid
    levels, average = found.quantiles, found.average
    colors = colormaps["viridis"](np.linspace(0.0, PALEST, len(levels)))
    if individual and len(levels) == 1:
        shown = np.linspace(0, len(found.individual) - 1, _N_INDIVIDUAL).round().astype(np.intp)
        ax.plot(at, found.individual[np.unique(shown), :, 0].T, color="0.8", linewidth=0.6)
    marks: dict[str, Any] = {}
    for k in reversed(range(len(levels))):
        lines = _draw_average(ax, at, average[:, k], found.identified[:, k], colors[k])
        marks[quantile_name(levels[k])] = lines[0]
        if len(lines) > 1:
            marks["beyond the data"] = lines[1]
    if "beyond the data" in marks:
        marks["beyond the data"] = marks.pop("beyond the data")
    if found.is_categorical:
        ax.set_xticks(at, [str(value) for value in found.grid])
        ax.set_xlim(-0.5, len(at) - 0.5)
    elif X is not None:
        _draw_values(ax, FeatureTable.read(X), found.feature, feature)
    if average.min() >= 0 and found.individual.min() >= 0:
        ax.set_ylim(bottom=0)
    ax.set_xlabel(found.feature)
    name = quantile_name(levels[0]) if len(levels) == 1 else "predicted time"
    ax.set_ylabel(with_unit(name, unit))
    unclutter(ax, grid_axis="y")
    if len(marks) > 1:
        legend_beside(ax, marks)
    return ax


def quantile_name(level: float) -> str:
    """Return what a quantile is called in a figure."""
    return "median" if level == 0.5 else f"{100 * level:g} % quantile"


def _draw_average(ax: Axes, at: Any, average: Floats, identified: Floats, color: Any) -> list[Any]:
    """Draw one average, solid and, where the data cannot speak for it, dotted."""
    known = identified >= _IDENTIFIED
    # A dotted line begins where the solid one ends.
    beside = known.copy()
    beside[1:-1] = known[:-2] & known[1:-1] & known[2:]
    style: dict[str, Any] = {"color": color, "linewidth": 2.4, "zorder": 3}
    lines = [ax.plot(at, np.where(known, average, np.nan), "-", **style)[0]]
    if not known.all():
        lines.append(ax.plot(at, np.where(beside, np.nan, average), ":", **style)[0])
    return lines


def _draw_values(ax: Axes, table: FeatureTable, name: str, feature: str | int) -> None:
    """Draw a tick at the bottom for values that the rows have."""
    place = table.names.index(name) if name in table.names else table.place(feature)
    values = table.numbers(place)
    if values is None:
        return
    low, high = ax.get_xlim()
    inside = np.unique(values[(values >= low) & (values <= high)])
    ax.plot(
        inside,
        np.zeros(len(inside)),
        "|",
        color="0.35",
        markersize=7,
        markeredgewidth=0.5,
        transform=ax.get_xaxis_transform(),
        clip_on=False,
    )
    ax.set_xlim(low, high)


def plot_contributions(
    contribution: Any,
    X: Any = None,
    background: Any = None,
    *,
    row: int = 0,
    max_features: int = 10,
    unit: str = "",
    random_state: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Axes with the way from the average prediction to that of one individual, in units of time.

    Each bar begins where the one above it ends: features that move the quantile to later times are
    blue, to earlier times vermilion. The dashed line on top is the average over others, the solid
    one at the bottom the individual's prediction. Thin lines are two standard errors to either
    side.

    Parameters
    ----------
    contribution : Contributions, or fitted model
        Outcome of `censquant.inspection.contributions`, or any model that
        `censquant.adapters.is_supported` knows, whose median is explained.
    X : array-like or DataFrame of shape (n, n_features), optional
        Individuals, where a model is given.
    background : array-like or DataFrame of shape (n_others, n_features), optional
        Rows that the individual is compared with, where a model is given.
    row : int, default=0
        Which individual is drawn.
    max_features : int, at least 1, default=10
        Features with a bar of their own; the others share one.
    unit : str
        Unit of time, for the axis.
    random_state : int, Generator, RandomState or None
        Source of the sampled orders, where a model is given.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that pyplot does not know by default (``ax.figure`` shows it in
        a notebook and has ``savefig``).

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from censquant import LinearQuantileRegressor
    >>> from censquant.plotting import plot_contributions
    >>> X = np.random.default_rng(0).normal(size=(100, 2)).round(1)
    >>> model = LinearQuantileRegressor([0.5]).fit(X, 20 + 3 * X[:, 0] + X[:, 1])
    >>> ax = plot_contributions(model, X[:1], X, unit="days")
    >>> ax.get_xlabel(), [label.get_text() for label in ax.get_yticklabels()][0]
    ('median (days)', 'x0 = 0.1')
    """
    most = check_integer("max_features", max_features, minimum=1)
    found, place = contribution, row
    if not isinstance(found, Contributions):
        if X is None or background is None:
            missing = "X" if X is None else "background"
            raise ValueError(
                f"{missing} must be given where contribution is a fitted model, got None."
            )
        one = X.iloc[[row]] if hasattr(X, "iloc") else X[row : row + 1]
        found = contributions(contribution, one, background, random_state=random_state)
        place = 0
    if not -len(found) <= place < len(found):
        raise ValueError(f"row must be one of {len(found)} individuals, got {row}.")
    names, values, errors = _shown(found, place, most)
    ax = axes_or_new(ax, width=6.8, height=1.5 + 0.36 * len(names))
    ends = found.base + np.cumsum(values)
    starts = ends - values
    rows = np.arange(len(names))
    colors = [NARROW if value >= 0 else OBSERVED for value in values]
    ax.barh(rows, values, left=starts, height=0.62, color=colors, zorder=2)
    for bar in ax.patches:
        bar.sticky_edges.x.clear()
    ax.hlines(rows, ends - 2 * errors, ends + 2 * errors, color="0.3", linewidth=1.0, zorder=3)
    ax.vlines(ends[:-1], rows[:-1], rows[1:], color="0.6", linewidth=0.8, zorder=1)
    right = np.maximum(starts, ends + 2 * errors)
    for end, value, line in zip(right, values, rows, strict=True):
        ax.annotate(
            f"{value:+.3g}",
            (end, line),
            (5, 0),
            textcoords="offset points",
            va="center",
            size="small",
        )
    prediction = float(found.predictions[place])
    ax.vlines(found.base, -0.55, 0.31, color="black", linewidth=1.2, linestyle=(0, (4, 2)))
    ax.vlines(prediction, rows[-1] - 0.31, rows[-1] + 0.45, color="black", linewidth=1.6)
    ax.margins(x=0.12)
    name_rows(ax, names)
    ax.set_title(
        f"average {found.base:.4g}, this individual {prediction:.4g}", fontsize="medium", loc="left"
    )
    ax.set_xlabel(with_unit(quantile_name(found.quantile), unit))
    return ax


def _shown(found: Contributions, row: int, most: int) -> tuple[list[str], Any, Any]:
    """Return names, contributions and errors from the largest on, the smallest together."""
    values, errors = found.values[row], found.standard_errors[row]
    order = np.argsort(-np.abs(values), kind="stable")
    texts = found.texts(row % len(found))
    names = [f"{found.features[place]} = {texts[place]}" for place in order]
    values, errors = values[order], np.nan_to_num(errors[order])
    if len(values) <= most:
        return names, values, errors
    rest = len(values) - most
    # The errors of several features that are not independent add up to this at most.
    return (
        [*names[:most], f"{rest} other features"],
        np.append(values[:most], values[most:].sum()),
        np.append(errors[:most], errors[most:].sum()),
    )


def plot_contrast(
    contrast: Contrast, *, ratio: bool = False, unit: str = "", ax: Axes | None = None
) -> Axes:
    """Axes with a forest plot: the difference between two values of a feature, by subgroup.

    A mark is the estimate, the line through it its interval, an arrow means that the interval goes
    on. The dashed line is no difference, the dotted one the estimate for all rows. Subgroups whose
    intervals cross the dotted line do not differ clearly from the rest.

    Parameters
    ----------
    contrast : Contrast
        Outcome of `censquant.inspection.contrast`.
    ratio : bool, default=False
        Whether to draw ratios, on a logarithmic axis, instead of differences.
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
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.inspection import contrast
    >>> from censquant.plotting import plot_contrast
    >>> X, y = load_gbsg2(as_frame=True)
    >>> found = contrast(
    ...     CoxQuantileRegressor(), X, y, feature="horTh", to=1, from_=0, by="menostat", at=1825,
    ...     method="doubly_robust",
    ... )
    >>> ax = plot_contrast(found, unit="days")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['all', 'menostat = 0', 'menostat = 1']
    """
    rows = contrast.rows
    several = len({row.at for row in rows}) > 1
    names = [f"{row.group}, {row.at:g}" if several else row.group for row in rows]
    table = np.array(
        [
            (row.ratio, row.ratio_low, row.ratio_high)
            if ratio
            else (row.difference, row.low, row.high)
            for row in rows
        ]
    )
    ax = axes_or_new(ax, width=6.4, height=1.3 + 0.36 * len(rows))
    lines = np.arange(len(rows))
    ax.axvline(1.0 if ratio else 0.0, color="0.35", linewidth=1.0, linestyle="--", zorder=1)
    known = np.isfinite(table[:, 0])
    if len(rows) > 1 and known[0]:
        ax.axvline(table[0, 0], color="0.6", linewidth=1.0, linestyle=":", zorder=1)
    if ratio:
        ax.set_xscale("log")
    ax.plot(table[known, 0], lines[known], "o", color=MEDIAN, markersize=6, zorder=3)
    # Infinite ends go to the edge of what the finite numbers need.
    finite = table[np.isfinite(table)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    ends = np.clip(np.where(np.isnan(table), table[:, :1], table), low, high)
    ax.hlines(lines[known], ends[known, 1], ends[known, 2], color=MEDIAN, linewidth=1.8, zorder=2)
    for place, mark in ((1, "<"), (2, ">")):
        open_end = known & np.isinf(table[:, place])
        ax.plot(ends[open_end, place], lines[open_end], mark, color=MEDIAN, markersize=6)
    quantity = _QUANTITIES[contrast.what]
    words = f"ratio of the {quantity}" if ratio else f"difference of the {quantity}"
    is_time = contrast.what not in ("risk", "survival")
    ax.set_xlabel(with_unit(words, "" if ratio or not is_time else unit))
    ax.set_title(
        f"{contrast.feature}: {contrast.to} instead of {contrast.from_}",
        fontsize="medium",
        loc="left",
    )
    name_rows(ax, names)
    return ax


_QUANTITIES = {
    "restricted_mean": "restricted mean time",
    "risk": "risk",
    "survival": "probability of no event",
    "median": "median time",
    "quantile": "quantile",
}


def plot_coefficients(
    model: Any,
    terms: str | Sequence[str] | None = None,
    *,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Coefficients of `LinearQuantileRegressor` as functions of the level, with 95 % bands.

    A level line says that a feature shifts early and late times alike; one that rises says that it
    moves late times more. Bands are pointwise and need a fit with ``n_bootstrap``. Coefficients are
    in units of time per unit of the feature, or of the logarithm of time if that was fitted.

    Parameters
    ----------
    model : LinearQuantileRegressor or CoefficientSummary
        A fitted linear model, a Pipeline around one, or its ``summary()``.
    terms : str or sequence of str, optional
        Which to draw, ``"intercept"`` among them; by default the features, at most eight. Features
        of different units are better drawn on axes of their own.
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
    >>> from censquant import LinearQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.plotting import plot_coefficients
    >>> X, y = load_gbsg2()
    >>> model = LinearQuantileRegressor([0.1, 0.2, 0.3], time_transform="log").fit(X, y)
    >>> ax = plot_coefficients(model, ["horTh", "tgrade"])
    >>> ax.get_ylabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('coefficient, of log time', ['horTh', 'tgrade'])
    """
    final, _ = final_model(model, None)
    summary = final
    if not isinstance(summary, CoefficientSummary):
        if not hasattr(final, "coef_table"):
            raise TypeError(
                "model must be a fitted LinearQuantileRegressor, a Pipeline around one or its "
                "summary, got "
                f"{type(final).__name__}."
            )
        summary = final.summary()
    if summary.quantiles is None:
        raise TypeError(
            "model must have coefficients that depend on the level, got the summary of a model "
            "whose coefficients are the same at all levels."
        )
    names = _read_terms(terms, summary.terms)
    ax = axes_or_new(ax, width=6.4, height=4.0)
    marks: dict[str, Any] = {}
    for line, name in enumerate(names):
        place, color = summary.terms.index(name), series_color(line)
        if summary.limits is not None:
            low, high = summary.limits[:, place].T
            ax.fill_between(
                summary.quantiles, low, high, color=color, alpha=0.16, linewidth=0, zorder=1
            )
        style: dict[str, Any] = {"color": color, "linewidth": 1.8, "markersize": 3.5, "zorder": 3}
        (marks[name],) = ax.plot(summary.quantiles, summary.coefficients[:, place], "o-", **style)
    ax.axhline(0.0, color="0.35", linewidth=0.9, zorder=2)
    ax.set_xlabel("level of the quantile")
    is_log = getattr(final, "time_transform", None) == "log"
    ax.set_ylabel("coefficient, of log time" if is_log else with_unit("coefficient", unit))
    unclutter(ax, grid_axis="y")
    legend_beside(ax, marks)
    return ax


def _read_terms(terms: str | Sequence[str] | None, known: tuple[str, ...]) -> list[str]:
    """Return the terms to draw, or raise one sentence."""
    if terms is None:
        return [term for term in known if term != "intercept"][: len(SERIES)]
    names = [terms] if isinstance(terms, str) else [str(term) for term in terms]
    for name in names:
        if name not in known:
            listed = ", ".join(repr(term) for term in known[:10])
            raise ValueError(f"terms must be among {listed}, got {name!r}.")
    if not names:
        raise ValueError("terms must name at least one, got none.")
    return names
