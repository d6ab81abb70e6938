"""Where a method stands among the study's learners, and whether it beats Cox's model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from censquant_bench.field._published import COX, PublishedScores
from censquant_bench.reporting import HIGHER_IS_BETTER

if TYPE_CHECKING:
    from pandas import DataFrame, Series

OURS = "ours"
"""Column of the method itself, beside the learners' own abbreviations."""

_LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class Standing:
    """Scores and ranks of one method and of all learners, one row per data set.

    Parameters
    ----------
    metric : str
        What is ranked.
    scores : DataFrame of shape (n_sets, n_learners)
        Means over the iterations; NaN where a learner has no score.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.field import Standing
    >>> scores = pd.DataFrame({"CPH": [0.6, 0.7], "KM": [0.5, 0.5], "ours": [0.6, 0.8]})
    >>> found = Standing("cindex", scores)
    >>> found.mean_ranks.to_dict(), found.place, found.n_better_than_cox
    ({'CPH': 1.75, 'KM': 3.0, 'ours': 1.25}, 1, 1)
    """

    metric: str
    scores: DataFrame

    @property
    def ranks(self) -> DataFrame:
        """Ranks on each set, 1 the best, ties averaged, among those that have a score."""
        return self.scores.rank(axis=1, ascending=self.metric not in HIGHER_IS_BETTER)

    @property
    def mean_ranks(self) -> Series:
        """Mean rank of each learner over the sets on which it has a score."""
        return self.ranks.mean()

    @property
    def place(self) -> int:
        """Place of the method by mean rank, 1 the best."""
        return 1 + int((self.mean_ranks < self.mean_ranks[OURS]).sum())

    @property
    def n_missing(self) -> int:
        """Number of published scores that are missing."""
        return int(self.scores.isna().to_numpy().sum())

    @property
    def lead_over_cox(self) -> float:
        """Cox's mean rank minus the method's own."""
        ranks = self.mean_ranks
        return float(ranks.get(COX, math.nan) - ranks[OURS])

    @property
    def critical_difference(self) -> float:
        """Difference of mean ranks that one of as many comparisons with Cox must exceed."""
        return critical_difference(self.scores.shape[1], len(self.scores))

    @property
    def n_better_than_cox(self) -> int:
        """Number of sets on which the method's mean is better than Cox's."""
        return int((self._gains() > 0).sum())

    @property
    def wilcoxon_p(self) -> float:
        """Two-sided p-value of the signed-rank test of the sets' means against Cox's."""
        from scipy.stats import wilcoxon

        gains = self._gains()
        return float(wilcoxon(gains).pvalue) if gains.any() else math.nan

    def _gains(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        if COX not in self.scores:
            return np.zeros(0)
        sign = 1.0 if self.metric in HIGHER_IS_BETTER else -1.0
        gains = sign * (self.scores[OURS] - self.scores[COX])
        return np.asarray(gains.dropna(), dtype=np.float64)


def standing(
    runs: Mapping[str, Series], metric: str, published: PublishedScores
) -> Standing | None:
    """Compare a method with the study's learners on the iterations that it was run on.

    Parameters
    ----------
    runs : mapping of str to Series
        The method's scores by iteration, of each data set.
    metric : str
        What is ranked.
    published : PublishedScores
        The learners' scores.

    Returns
    -------
    standing : Standing or None
        None if the study has none of the sets.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.field import PublishedScores, standing
    >>> table = pd.DataFrame({"task": "lung", "learner": ["CPH", "KM"], "tuned_for": "isbs",
    ...                       "iteration": 1, "harrell_c": float("nan"), "isbs": [0.15, 0.17]})
    >>> runs = {"field_lung": pd.Series({1: 0.16})}
    >>> standing(runs, "isbs", PublishedScores(table)).ranks.to_dict("records")
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
    return Standing(
        metric, pd.DataFrame.from_dict(rows, "index", columns=[*published.learners(metric), OURS])
    )


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
    >>> from censquant_bench.field import critical_difference
    >>> round(critical_difference(22, 34), 2)
    4.78
    """
    from scipy.stats import norm

    quantile = float(norm.ppf(1.0 - _LEVEL / (2 * (n_learners - 1))))
    return quantile * math.sqrt(n_learners * (n_learners + 1) / (6 * n_sets))
