"""Coefficients of a linear model over the levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from censquant.adapters._predictions import final_model
from censquant.estimators.linear import CoefficientSummary
from censquant.plotting._axes import axes_or_new, legend_beside, unclutter, with_unit
from censquant.plotting._palette import SERIES, series_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
