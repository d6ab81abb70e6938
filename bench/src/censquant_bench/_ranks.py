"""Methods ranked over several data sets, and which of them cannot be told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._frames import pandas_for
from censquant._typing import Floats
from censquant._validation import check_number
from censquant.plotting._parts import MEDIAN, NARROW, axes_or_new, name_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class MethodRanks:
    """Mean ranks of methods over data sets, with the difference that chance can explain.

    Made by `rank_methods`.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant_bench import MethodRanks
    >>> ranks = MethodRanks(("a", "b", "c"), np.array([1.1, 1.9, 3.0]), 10, 1.0, 0.001, 0.05)
    >>> ranks.groups
    [('a', 'b')]
    """

    methods: tuple[str, ...]  # names, in the order given
    mean_ranks: Floats  # shape (n_methods,); 1 is best
    n_sets: int  # number of data sets
    # Two mean ranks that differ by less are not told apart (Nemenyi's test)
    critical_difference: float
    # Of Friedman's test that all methods are equally good, for two methods of Wilcoxon's
    p_value: float
    alpha: float  # level of the tests

    @property
    def order(self) -> NDArray[np.intp]:
        """Places of the methods from the best to the worst."""
        return np.argsort(self.mean_ranks, kind="stable")

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """Largest sets of methods, two at least, that are not told apart; best first."""
        order, ranks = self.order, self.mean_ranks[self.order]
        found: list[tuple[int, int]] = []
        for start in range(len(ranks)):
            within = ranks - ranks[start] < self.critical_difference
            stop = int(np.flatnonzero(within)[-1])
            if stop > start and (not found or stop > found[-1][1]):
                found.append((start, stop))
        return [
            tuple(self.methods[place] for place in order[start : stop + 1]) for start, stop in found
        ]

    def to_frame(self) -> Any:
        """Return a DataFrame with one row per method, the best first.

        Returns
        -------
        frame : DataFrame
            Indexed by ``method``, with the column ``mean_rank``.
        """
        pd = pandas_for("to_frame")
        index = pd.Index([self.methods[place] for place in self.order], name="method")
        return pd.DataFrame({"mean_rank": self.mean_ranks[self.order]}, index=index)


def rank_methods(
    scores: ArrayLike | Mapping[str, ArrayLike],
    methods: Sequence[str] | None = None,
    *,
    higher_is_better: bool = False,
    alpha: float = 0.05,
) -> MethodRanks:
    r"""Mean ranks of methods over data sets, with Friedman's and Nemenyi's tests.

    Scores of different data sets are not comparable, ranks are. Friedman's test says whether the
    methods differ at all; mean ranks of two methods that differ by less than

    .. math:: q_\alpha \sqrt{\frac{k (k + 1)}{6 N}}

    are not told apart, with k methods, N data sets and :math:`q_\alpha` the quantile of the
    studentised range divided by :math:`\sqrt 2`. Few sets tell little apart; that is no proof that
    methods are equal. Runs of one data set with different seeds are not different sets: average
    them first.

    Parameters
    ----------
    scores : array-like of shape (n_sets, n_methods), DataFrame or mapping
        One row per data set; a frame or mapping has one column per method. No value may be
        missing.
    methods : sequence of str, optional
        Names of the columns of an array; numbers from 1 by default.
    higher_is_better : bool, default=False
    alpha : float in (0, 1), default=0.05
        Level of the tests.

    Returns
    -------
    ranks : MethodRanks

    References
    ----------
    .. [1] J. Demsar (2006). Statistical comparisons of classifiers over multiple data sets.
       *Journal of Machine Learning Research* 7, 1-30.

    Examples
    --------
    >>> from censquant_bench import rank_methods
    >>> scores = {"ours": [1.0, 2.0, 1.0], "theirs": [2.0, 3.0, 2.0], "mean": [3.0, 4.0, 3.0]}
    >>> ranks = rank_methods(scores)
    >>> ranks.mean_ranks.tolist(), round(ranks.critical_difference, 2)
    ([1.0, 2.0, 3.0], 1.91)
    """
    from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon

    level = check_number("alpha", alpha, minimum=0.0, below=1.0, exclude_minimum=True)
    table, names = _read_scores(scores, methods)
    n_sets, n_methods = table.shape
    ranks = rankdata(-table if higher_is_better else table, axis=1)
    quantile = float(studentized_range.ppf(1 - level, n_methods, np.inf)) / np.sqrt(2)
    p_value = 1.0
    if (table != table[:, :1]).any():
        # Friedman's test needs three; of two the ranks are signs.
        test = friedmanchisquare if n_methods > 2 else wilcoxon
        p_value = float(test(*table.T).pvalue)
    return MethodRanks(
        names,
        ranks.mean(axis=0),
        n_sets,
        float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets))),
        p_value,
        level,
    )


def _read_scores(scores: Any, methods: Sequence[str] | None) -> tuple[Floats, tuple[str, ...]]:
    """Return scores with one column per method and the names, or raise one sentence."""
    if isinstance(scores, Mapping) or hasattr(scores, "columns"):
        names = [str(name) for name in scores]
        table = np.column_stack([np.asarray(scores[name], dtype=np.float64) for name in scores])
    else:
        table = np.asarray(scores, dtype=np.float64)
        names = [str(place + 1) for place in range(table.shape[-1])]
    if methods is not None:
        names = [str(name) for name in methods]
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        raise ValueError(
            "scores must have one row per data set and one column per method, two of each at "
            f"least, got shape {table.shape}."
        )
    if len(names) != table.shape[1]:
        raise ValueError(
            f"methods must have one name for each of {table.shape[1]} columns of scores, got "
            f"{len(names)}."
        )
    if missing := int(np.isnan(table).sum()):
        raise ValueError(
            f"scores must have no missing value, got {missing}: leave out the data sets or methods "
            "without a score."
        )
    return table, tuple(names)


def plot_critical_differences(
    ranks: Any, *, higher_is_better: bool = False, ax: Axes | None = None
) -> Axes:
    """Axes with the mean rank of each method, the best on top, and the critical difference.

    Thick lines join the largest sets of methods that are not told apart: no two of a set differ by
    the critical difference (Nemenyi's test). Methods that share no line differ.

    Parameters
    ----------
    ranks : MethodRanks, or scores
        Outcome of `rank_methods`, or the scores that it takes, one row per
        data set and one column per method.
    higher_is_better : bool, default=False
        Of scores; ranks know it already.
    ax : matplotlib Axes, optional
        Where to draw; a new figure that pyplot does not know by default (``ax.figure`` shows it in
        a notebook and has ``savefig``).

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from censquant_bench import plot_critical_differences
    >>> scores = {"ours": [1.0, 2.0, 1.0], "theirs": [2.0, 3.0, 2.0], "mean": [3.0, 4.0, 3.0]}
    >>> ax = plot_critical_differences(scores)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['ours', 'theirs', 'mean']
    """
    if not isinstance(ranks, MethodRanks):
        ranks = rank_methods(ranks, higher_is_better=higher_is_better)
    order, means = ranks.order, ranks.mean_ranks[ranks.order]
    ax = axes_or_new(ax, width=6.4, height=1.7 + 0.38 * len(order))
    rows = np.arange(len(order))
    ax.hlines(rows, 1.0, means, color="0.85", linewidth=1.2, zorder=1)
    ax.plot(means, rows, "o", color=MEDIAN, markersize=6.5, zorder=3)
    for mean, row in zip(means, rows, strict=True):
        ax.annotate(
            f"{mean:.2f}",
            (mean, row),
            (0, 7),
            textcoords="offset points",
            ha="center",
            size="small",
        )
    names = [ranks.methods[place] for place in order]
    right = float(means[-1])
    gap = 0.04 * max(right - 1.0, 1.0)
    for place, group in enumerate(ranks.groups):
        first, last = names.index(group[0]), names.index(group[-1])
        ax.vlines(
            right + (3 + place) * gap,
            first - 0.15,
            last + 0.15,
            color=NARROW,
            linewidth=4.0,
            zorder=2,
        )
    top = -0.95
    ax.plot([1.0, 1.0 + ranks.critical_difference], [top, top], "|-", color="black", markersize=8)
    ax.annotate(
        f"critical difference {ranks.critical_difference:.2f}",
        (1.0 + ranks.critical_difference, top),
        (6, 0),
        textcoords="offset points",
        va="center",
        size="small",
    )
    name_rows(ax, names)
    ax.set_ylim(len(names) - 0.45, -1.35)
    ax.set_xlabel(f"mean rank over {ranks.n_sets} data sets, 1 is best")
    return ax
