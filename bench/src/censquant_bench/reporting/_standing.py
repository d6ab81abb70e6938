"""Where a method stands among learners with published scores, and what chance can explain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from censquant._typing import Floats
from censquant_bench.reporting._summary import HIGHER_IS_BETTER

if TYPE_CHECKING:
    from pandas import DataFrame, Series

    from censquant_bench._ranks import MethodRanks

OURS = "ours"
"""Column of the method itself, beside the learners' own names."""

_LEVEL = 0.05
_DRAWS = 2000


class Published(Protocol):
    """Scores that a study published of its learners."""

    def means(self, dataset: str, metric: str, runs: Iterable[int]) -> Series:
        """Return each learner's mean over the runs of a set; empty for sets it does not have."""

    def learners(self, metric: str) -> list[str]:
        """Return the learners that have a score, in the order of the columns."""


@dataclass(frozen=True, eq=False)
class Standing:
    """Scores and ranks of one method and of all learners, one row per data set.

    Parameters
    ----------
    metric : str
        What is ranked.
    scores : DataFrame of shape (n_sets, n_learners)
        Means over the runs; NaN where a learner has no score.
    reference : str
        The learner that the method is compared with.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting import Standing
    >>> scores = pd.DataFrame({"CPH": [0.6, 0.7], "KM": [0.5, 0.5], "ours": [0.6, 0.8]})
    >>> found = Standing("cindex", scores, "CPH")
    >>> found.mean_ranks.to_dict(), found.place, found.n_better
    ({'CPH': 1.75, 'KM': 3.0, 'ours': 1.25}, 1, 1)
    """

    metric: str
    scores: DataFrame
    reference: str

    @property
    def ranks(self) -> DataFrame:
        """Ranks on each set, 1 the best, ties averaged, among those that have a score."""
        return self.scores.rank(axis=1, ascending=self.metric not in HIGHER_IS_BETTER)

    @property
    def mean_ranks(self) -> Series:
        """Mean rank of each learner over the sets on which it has a score."""
        return self.ranks.mean()

    @property
    def rank_intervals(self) -> DataFrame:
        """Ends of the 95 % intervals of the mean ranks, by drawing data sets anew.

        Indexed as `mean_ranks`, with the columns ``lower`` and ``upper``. The draws are the same
        in every call.
        """
        import pandas as pd

        ranks = self.ranks
        n_sets = len(ranks)
        values = ranks.to_numpy(dtype=np.float64)
        there = np.isfinite(values)
        counts = np.random.default_rng(0).multinomial(n_sets, [1 / n_sets] * n_sets, _DRAWS)
        with np.errstate(invalid="ignore"):  # a draw may have no set on which a learner has a score
            means = (counts @ np.where(there, values, 0.0)) / (counts @ there)
        ends = np.nanquantile(means, (_LEVEL / 2, 1 - _LEVEL / 2), axis=0)
        return pd.DataFrame({"lower": ends[0], "upper": ends[1]}, index=ranks.columns)

    @property
    def place(self) -> int:
        """Place of the method by mean rank, 1 the best."""
        return 1 + int((self.mean_ranks < self.mean_ranks[OURS]).sum())

    @property
    def n_missing(self) -> int:
        """Number of published scores that are missing."""
        return int(self.scores.isna().to_numpy().sum())

    @property
    def gaps(self) -> Series:
        """How much better the method is than the best learner on each set; negative if worse."""
        theirs = self.scores.drop(columns=OURS)
        if self.metric in HIGHER_IS_BETTER:
            return self.scores[OURS] - theirs.max(axis=1)
        return theirs.min(axis=1) - self.scores[OURS]

    @property
    def lead(self) -> float:
        """The reference's mean rank minus the method's own."""
        ranks = self.mean_ranks
        return float(ranks.get(self.reference, math.nan) - ranks[OURS])

    @property
    def critical_difference(self) -> float:
        """Difference of mean ranks that one of as many comparisons with it must exceed."""
        return critical_difference(self.scores.shape[1], len(self.scores))

    @property
    def n_better(self) -> int:
        """Number of sets on which the method's mean is better than the reference's."""
        return int((self._gains() > 0).sum())

    @property
    def wilcoxon_p(self) -> float:
        """Two-sided p-value of the signed-rank test of the sets' means against the reference's."""
        from scipy.stats import wilcoxon

        gains = self._gains()
        return float(wilcoxon(gains).pvalue) if gains.any() else math.nan

    def method_ranks(self) -> MethodRanks:
        """Return what `plot_critical_differences` draws: all pairs, by Friedman and Nemenyi.

        Learners that lack a score on a set are left out.
        """
        from censquant_bench._ranks import rank_methods

        return rank_methods(
            self.scores.dropna(axis=1), higher_is_better=self.metric in HIGHER_IS_BETTER
        )

    def _gains(self) -> Floats:
        if self.reference not in self.scores:
            return np.zeros(0)
        sign = 1.0 if self.metric in HIGHER_IS_BETTER else -1.0
        gains = sign * (self.scores[OURS] - self.scores[self.reference])
        return np.asarray(gains.dropna(), dtype=np.float64)


def standing(
    runs: Mapping[str, Series], metric: str, published: Published, reference: str
) -> Standing | None:
    """Compare a method with published learners on the runs that it has.

    Parameters
    ----------
    runs : mapping of str to Series
        The method's scores by run, of each data set.
    metric : str
        What is ranked.
    published : Published
        The learners' scores.
    reference : str
        The learner that the method is compared with.

    Returns
    -------
    standing : Standing or None
        None if the study has none of the sets.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.field import PublishedScores
    >>> from censquant_bench.reporting import standing
    >>> table = pd.DataFrame({"task": "lung", "learner": ["CPH", "KM"], "tuned_for": "isbs",
    ...                       "iteration": 1, "harrell_c": float("nan"), "isbs": [0.15, 0.17]})
    >>> runs = {"field_lung": pd.Series({1: 0.16})}
    >>> standing(runs, "isbs", PublishedScores(table), "CPH").ranks.to_dict("records")
    [{'KM': 3.0, 'CPH': 1.0, 'ours': 2.0}]
    """
    import pandas as pd

    rows = {}
    for dataset, scores in runs.items():
        there = scores.dropna()
        means = published.means(dataset, metric, there.index)
        if len(there) and len(means):
            rows[dataset] = {**means, OURS: float(there.mean())}
    if not rows:
        return None
    columns = [*published.learners(metric), OURS]
    return Standing(metric, pd.DataFrame.from_dict(rows, "index", columns=columns), reference)


def critical_difference(n_learners: int, n_sets: int) -> float:
    """Return the critical difference of mean ranks by Bonferroni and Dunn at the level 0.05.

    All learners are compared with one of them, so the level is divided by one less than their
    number.

    Parameters
    ----------
    n_learners : int
        Learners that are ranked, both sides of the comparison included.
    n_sets : int
        Data sets that mean ranks are of.

    Returns
    -------
    difference : float

    References
    ----------
    .. [1] J. Demsar (2006). Statistical comparisons of classifiers over multiple data sets.
       *Journal of Machine Learning Research* 7, 1-30.

    Examples
    --------
    >>> from censquant_bench.reporting import critical_difference
    >>> round(critical_difference(22, 34), 2)
    4.78
    """
    from scipy.stats import norm

    quantile = float(norm.ppf(1.0 - _LEVEL / (2 * (n_learners - 1))))
    return quantile * math.sqrt(n_learners * (n_learners + 1) / (6 * n_sets))
