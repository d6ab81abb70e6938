"""Importance of features as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from censquant._validation import check_integer
from censquant.inspection import PermutationImportance, permutation_importance
from censquant.plotting._axes import axes_or_new, name_rows, with_unit
from censquant.plotting._palette import MEDIAN, NARROW

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
