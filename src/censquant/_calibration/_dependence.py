"""The test whether censoring depends on the features."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.survival import Target

DEPENDENT = 0.05
"""Censoring counts as dependent on the features below this p-value."""

FEWEST_CENSORED = 20
"""With fewer censored rows nothing is tested."""

# Rows that are looked at; with more of them a dependence would be found that changes nothing.
_MOST_ROWS = 3_000
# Columns that are tested together, drawn from more; and half of the waves.
_MOST_TOGETHER, _N_WAVES = 100, 50
# How much less directions count in which the columns vary less, as in a ridge regression.
_RIDGE = 3.0
# The score of a column is normal enough if no row makes up more than this share of its variance.
_LARGEST_SHARE = 0.2
_ROUNDING = 1e-9  # of a variance that is zero, relative


def rows_to_look_at(target: Target, weight: Floats | None = None) -> NDArray[np.intp]:
    """Return the rows that the test looks at, spread evenly; none where too few are censored."""
    counted = np.ones(len(target), np.bool_) if weight is None else weight > 0
    if np.count_nonzero(counted & ~target.event) < FEWEST_CENSORED:
        return np.empty(0, np.intp)
    some = np.flatnonzero(counted)
    return some[:: -(-len(some) // _MOST_ROWS)]


def censoring_dependence(target: Target, columns: Floats, weight: Floats | None = None) -> float:
    r"""Return the p-value of the test that the hazard of censoring is the same for all rows.

    The score of a column compares, at each censoring, the rows censored with those at risk:

    .. math:: U = \sum_{j: \delta_j = 0} \{z_j - \bar z(R_j)\}, \qquad
              V = \sum_{j: \delta_j = 0} \mathrm{Cov}\{z(R_j)\}

    Its mean is 0 and its variance V where censoring depends on nothing, whatever the events depend
    on. Three tests are combined by Cauchy's rule: of the ranks of all columns together, which finds
    many small effects; of each column's ranks and their squares, which finds a single one of any
    shape; and of waves in random directions, which find what only several columns show.

    The columns are finite numbers of rows with positive weights; the result is 1 where none varies.
    """
    # From the last time on; events leave before the censorings of their time.
    order = np.lexsort((~target.event, target.time))[::-1]
    weights = np.ones(len(target)) if weight is None else weight
    risks = _RiskSets.of(target.time[order], ~target.event[order], weights[order])
    ranks, squares = _ranks(columns[order], risks.weight)
    if not ranks.shape[1]:
        return 1.0
    generator = np.random.default_rng(0)
    parts = [
        _p_of_all(risks, _drawn_together(ranks, generator)),
        *_p_of_each(risks, np.hstack((ranks, squares))),
        _p_of_waves(risks, _waves(ranks, generator)),
    ]
    return combined_p_value(np.array(parts))


@dataclass(frozen=True, eq=False)
class _RiskSets:
    """Who was censored, and among whom; rows from the last time on."""

    weight: Floats
    censored: NDArray[np.intp]  # places of the censored rows
    last: NDArray[np.intp]  # place of the last row at risk at each of these times
    at_risk: Floats  # weight of the rows at risk
    share: Floats  # of the variance in the risk set that each adds

    @classmethod
    def of(cls, time: Floats, is_censored: NDArray[np.bool_], weight: Floats) -> "_RiskSets":
        """Return the risk sets of rows in order."""
        censored = np.flatnonzero(is_censored)
        # Tied censorings share the risk set of the last of them in this order.
        ends = np.append((time[1:] != time[:-1]) | (is_censored[1:] != is_censored[:-1]), True)
        last = np.flatnonzero(ends)
        last = last[np.searchsorted(last, censored)]
        at_risk, own = np.cumsum(weight)[last], weight[censored]
        tied = np.bincount(last, own, minlength=len(time))[last]
        # Drawn without replacement: where all who are at risk are censored, nothing is by chance.
        left = np.divide(
            at_risk - tied, at_risk - own, out=np.zeros(len(own)), where=tied < at_risk
        )
        return cls(weight, censored, last, at_risk, own**2 * left)

    def scores(self, columns: Floats) -> tuple[Floats, Floats]:
        """Return the scores of columns, and their means in the risk set of each censored row."""
        means = np.cumsum(self.weight[:, None] * columns, axis=0)[self.last]
        means /= self.at_risk[:, None]
        return self.weight[self.censored] @ (columns[self.censored] - means), means

    def area(self) -> Floats:
        """Return how much each row adds to the variances."""
        steps = np.bincount(self.last, self.share / self.at_risk, minlength=len(self.weight))
        return np.cumsum(steps[::-1])[::-1] * self.weight

    def covariance(self, columns: Floats, means: Floats) -> Floats:
        """Return the covariance of the scores of columns."""
        inside = (columns.T * self.area()) @ columns
        return np.asarray(inside - (means.T * self.share) @ means)


def _ranks(columns: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return ranks of columns that vary, from -1 to 1, and what their squares add to them."""
    ranks, squares = [np.empty((len(columns), 0))], [np.empty((len(columns), 0))]
    total = weight.sum()
    for column in columns.T:
        distinct, place = np.unique(column, return_inverse=True)
        if len(distinct) < 2:
            continue
        counts = np.bincount(place, weight)
        rank = ((2.0 * np.cumsum(counts) - counts) / total - 1.0)[place]
        ranks.append(rank[:, None])
        if len(distinct) > 2:
            square = rank**2 - (weight @ rank**2) / total
            slope = (weight @ (square * rank)) / (weight @ rank**2)
            squares.append((square - slope * rank)[:, None])
    return np.hstack(ranks), np.hstack(squares)


def _drawn_together(ranks: Floats, generator: np.random.Generator) -> Floats:
    """Return the columns, or random mixtures of more of them than are tested together."""
    if ranks.shape[1] <= _MOST_TOGETHER:
        return ranks
    return np.asarray(ranks @ generator.normal(size=(ranks.shape[1], _MOST_TOGETHER)))


def _waves(ranks: Floats, generator: np.random.Generator) -> Floats:
    """Return waves of a length of about the width of the columns, in random directions."""
    width = np.sqrt(ranks.shape[1] / 3.0)  # of ranks that are uniform
    phases = ranks @ (generator.normal(size=(ranks.shape[1], _N_WAVES)) / width)
    return np.hstack((np.cos(phases), np.sin(phases)))


def _p_of_each(risks: _RiskSets, columns: Floats) -> list[float]:
    """Return one p-value of columns that are tested one by one; none if all are too rare."""
    from scipy.special import chdtrc

    score, means = risks.scores(columns)
    variance = risks.area() @ columns**2 - risks.share @ means**2
    kept = np.max(columns**2, axis=0) * (1.0 + _ROUNDING) <= _LARGEST_SHARE * variance
    return [combined_p_value(chdtrc(1.0, score[kept] ** 2 / variance[kept]))] if kept.any() else []


def _p_of_all(risks: _RiskSets, columns: Floats) -> float:
    """Return the p-value of columns together, each brought to the same variance."""
    score, means = risks.scores(columns)
    covariance = risks.covariance(columns, means)
    scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > _ROUNDING * scale.max())
    values, vectors = np.linalg.eigh(covariance * np.outer(scale, scale))
    values = np.maximum(values, 0.0)
    shares = 1.0 / (values + _RIDGE)
    value = shares @ (vectors.T @ (scale * score)) ** 2
    return _p_of_sum(float(value), shares * values)


def _p_of_waves(risks: _RiskSets, columns: Floats) -> float:
    """Return the p-value of the sum of the squared scores."""
    score, means = risks.scores(columns)
    values = np.linalg.eigvalsh(risks.covariance(columns, means))
    return _p_of_sum(float(score @ score), np.maximum(values, 0.0))


def _p_of_sum(value: float, parts: Floats) -> float:
    """Return the chance of a larger sum of squared normal numbers of some variances.

    By Satterthwaite: the chi-squared law of the same mean and variance.
    """
    from scipy.special import chdtrc

    mean, half_variance = float(parts.sum()), float((parts**2).sum())
    if half_variance <= 0.0:
        return 1.0
    return float(chdtrc(mean**2 / half_variance, value * mean / half_variance))


def combined_p_value(p_values: Floats) -> float:
    """Return one p-value of several by Cauchy's rule, which holds for dependent ones."""
    clipped = np.clip(p_values, 1e-15, 1.0 - 1e-9)
    return float(0.5 - np.arctan(np.tan((0.5 - clipped) * np.pi).mean()) / np.pi)
