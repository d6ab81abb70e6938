"""Asymmetric Laplace distributions, and averages of their quantile functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit, log_expit

from censquant._engine.objectives._distributions import FormulaDistribution
from censquant._typing import Floats

_PRECISION = 1e-13  # of log-odds, relative to their size: levels are more exact than that
_MOST_STEPS = 200  # bisection alone needs fewer


@dataclass(frozen=True, eq=False)
class AsymmetricLaplaceDistribution(FormulaDistribution):
    r"""Asymmetric Laplace distributions, or averages of their quantile functions.

    Each is an exponential distribution on either side of its location. With the probability
    :math:`b` of a time below it,

    .. math:: F^{-1}(p) = \theta + \alpha \min\Big(\log \frac{p}{b}, 0\Big)
              - \beta \min\Big(\log \frac{1 - p}{1 - b}, 0\Big)

    The average of several such functions is none of them. It is kept as it is, and inverted
    numerically.

    Parameters
    ----------
    location : ndarray of shape (n, n_members)
        :math:`\theta`.
    early, late : ndarray of shape (n, n_members)
        Mean distances :math:`\alpha, \beta` of the times below and above the location.
    log_odds : ndarray of shape (n, n_members)
        :math:`\log\{b / (1 - b)\}`.
    """

    location: Floats
    early: Floats
    late: Floats
    log_odds: Floats

    def __len__(self) -> int:
        return len(self.location)

    def _take(self, rows: Any) -> Self:
        return type(self)(*(array[rows] for array in self._arrays()))

    def _averaged(self, parts: Sequence[Self]) -> Self:
        columns = zip(*(part._arrays() for part in parts), strict=True)
        return type(self)(*(np.hstack(arrays) for arrays in columns))

    def _arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.location, self.early, self.late, self.log_odds

    def _members(self) -> list[list[Floats]]:
        """Return the four parameters as columns, member by member."""
        n_members = self.location.shape[1]
        return [[array[:, k, None] for array in self._arrays()] for k in range(n_members)]

    def _quantile(self, p: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return self._quantile_of_logs(np.log(p), np.log1p(-p))

    def _inverse_survival(self, p: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return self._quantile_of_logs(np.log1p(-p), np.log(p))

    def _cdf(self, t: Floats) -> Floats:
        return np.asarray(expit(self._log_odds_at(t)))

    def _survival(self, t: Floats) -> Floats:
        return np.asarray(expit(-self._log_odds_at(t)))

    def _quantile_of_logs(self, log_p: Floats, log_q: Floats) -> Floats:
        """Return the quantiles at levels given by their logarithms and their complements'."""
        members = self._members()
        total = np.zeros(np.broadcast_shapes(log_p.shape, (len(self), 1)))
        for location, early, late, odds in members:
            total += location + early * np.minimum(log_p - log_expit(odds), 0.0)
            total -= late * np.minimum(log_q - log_expit(-odds), 0.0)
        return total / len(members)

    def _slope(self, x: Floats) -> Floats:
        """Return the derivative of the quantiles by the log-odds of the level."""
        members = self._members()
        p, q = expit(x), expit(-x)
        total = np.zeros_like(x)
        for _, early, late, odds in members:
            total += np.where(x < odds, early * q, late * p)
        return total / len(members)

    def _log_odds_at(self, t: Floats) -> Floats:
        """Return the log-odds of the levels of times, which are exact in both tails."""
        times = np.broadcast_to(t, (len(self), t.shape[-1]))
        each = [_log_odds_of_one(times, *member) for member in self._members()]
        if len(each) == 1:
            return each[0]
        # At the lowest of the members' levels no member's quantile lies above the time, so neither
        # does their mean; at the highest none lies below it.
        return self._inverted(times, np.min(each, axis=0), np.max(each, axis=0))

    def _inverted(self, t: Floats, low: Floats, high: Floats) -> Floats:
        """Return the log-odds between low and high at which the quantile is ``t``."""
        finite = np.isfinite(t)
        low, high = np.where(finite, low, 0.0), np.where(finite, high, 0.0)
        x, step = 0.5 * (low + high), high - low
        for _ in range(_MOST_STEPS):
            error, slope = self._quantile_of_logs(log_expit(x), log_expit(-x)) - t, self._slope(x)
            low, high = np.where(error <= 0, x, low), np.where(error >= 0, x, high)
            newton = x - error / slope
            # Bisection where Newton's step leaves the interval, or did not halve the one before it.
            bad = (newton < low) | (newton > high) | (2.0 * np.abs(error) > np.abs(step * slope))
            following = np.where(bad, 0.5 * (low + high), newton)
            step, x = following - x, following
            if not (finite & (np.abs(step) > _PRECISION * (1.0 + np.abs(x)))).any():
                break
        return np.where(finite, x, t)


def _log_odds_of_one(
    t: Floats, location: Floats, early: Floats, late: Floats, odds: Floats
) -> Floats:
    """Return the log-odds of the levels of times under one asymmetric Laplace distribution."""
    below = t < location
    distance = np.abs(t - location) / np.where(below, early, late)
    # The logarithm of the probability beyond the time on its side: a sum of negative numbers, in
    # which no digit is lost.
    tail = np.where(below, log_expit(odds), log_expit(-odds)) - distance
    size = tail - _log_complement(tail)
    result: Floats = np.where(below, size, -size)
    return result


def _log_complement(log_p: Floats) -> Floats:
    """Return ``log(1 - exp(log_p))`` of negative numbers."""
    far = np.log1p(-np.exp(np.minimum(log_p, -1.0)))
    return np.where(log_p < -1.0, far, np.log(-np.expm1(np.maximum(log_p, -1.0))))
