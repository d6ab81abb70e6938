"""Contributions of features to the prediction of one individual."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from censquant._validation import check_integer
from censquant.inspection import Contributions, contributions
from censquant.plotting._axes import axes_or_new, name_rows, with_unit
from censquant.plotting._palette import NARROW, OBSERVED
from censquant.plotting._partial_dependence import quantile_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        `censquant.adapters.predict_quantiles_of` takes, whose median is explained.
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
