"""Distributions with formulas, one per individual, whose parameters networks predict."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from censquant._engine._families import STANDARD, Standard
from censquant._engine.losses._shape import shape_log_likelihood
from censquant._typing import Floats
from censquant.quantiles._grid import even_grid

_PRECISION = 1e-13  # of log-odds, relative to their size: levels are more exact than that
_MOST_STEPS = 200  # bisection alone needs fewer


class FormulaDistribution:
    """Predicted distributions, in model units.

    ``quantile`` and ``cdf`` are inverse to each other, and so are ``inverse_survival`` and
    ``survival``. The latter two are exact where the probability of a later event is so small that
    one minus it rounds to one.
    """

    def __len__(self) -> int:
        raise NotImplementedError

    def take(self, rows: Any) -> Self:
        """Return the distributions of some of the individuals."""
        raise NotImplementedError

    def quantile(self, p: Floats) -> Floats:
        """Return the times by which the event has happened with given probabilities."""
        raise NotImplementedError

    def inverse_survival(self, p: Floats) -> Floats:
        """Return the times after which the event happens with given probabilities."""
        raise NotImplementedError

    def cdf(self, t: Floats) -> Floats:
        """Return the probabilities that the event has happened by given times."""
        raise NotImplementedError

    def survival(self, t: Floats) -> Floats:
        """Return the probabilities of no event until given times."""
        raise NotImplementedError

    def _average(self, parts: Sequence[Self]) -> Self:
        """Return the distributions whose quantiles are the means of the parts'."""
        raise NotImplementedError


Family = TypeVar("Family", bound=FormulaDistribution)


def average_of(distributions: Sequence[Family]) -> Family:
    """Return the distributions whose quantiles are the means of the given ones'.

    The members of an ensemble are averaged this way: their quantiles at each level and not their
    probabilities at each time, so that members which disagree do not make a wider distribution.
    """
    kinds = sorted({type(part).__name__ for part in distributions})
    if len(kinds) != 1:
        raise TypeError(
            f"distributions must be at least one, and of one family, got {', '.join(kinds) or 0}."
        )
    first = distributions[0]
    return first if len(distributions) == 1 else first._average(distributions)


@dataclass(frozen=True, eq=False)
class LocationScaleDistribution(FormulaDistribution):
    """A standard distribution, given by its name, with locations and scales of shape (n,)."""

    location: Floats
    scale: Floats
    base: str = "normal"

    def __len__(self) -> int:
        return len(self.location)

    def take(self, rows: Any) -> Self:
        """Return the distributions of some of the individuals."""
        return replace(self, location=self.location[rows], scale=self.scale[rows])

    def _average(self, parts: Sequence[Self]) -> Self:
        return replace(
            self,
            location=np.mean([part.location for part in parts], axis=0),
            scale=np.mean([part.scale for part in parts], axis=0),
        )

    def quantile(self, p: Floats) -> Floats:
        """Return the times by which the event has happened with given probabilities."""
        return self._stretch(STANDARD[self.base].quantile(p))

    def inverse_survival(self, p: Floats) -> Floats:
        """Return the times after which the event happens with given probabilities."""
        return self._stretch(STANDARD[self.base].inverse_survival(p))

    def cdf(self, t: Floats) -> Floats:
        """Return the probabilities that the event has happened by given times."""
        return STANDARD[self.base].cdf(self._standardize(t))

    def survival(self, t: Floats) -> Floats:
        """Return the probabilities of no event until given times."""
        return STANDARD[self.base].survival(self._standardize(t))

    def _stretch(self, u: Floats) -> Floats:
        result: Floats = self.location[:, None] + self.scale[:, None] * u
        return result

    def _standardize(self, t: Floats) -> Floats:
        result: Floats = (t - self.location[:, None]) / self.scale[:, None]
        return result


@dataclass(frozen=True, eq=False)
class AsymmetricLaplaceDistribution(FormulaDistribution):
    r"""Asymmetric Laplace distributions, or averages of their quantile functions.

    Each is an exponential distribution on either side of its location. With the probability
    :math:`b` of a time below it,

    .. math:: F^{-1}(p) = \theta + \alpha \min\Big(\log \frac{p}{b}, 0\Big)
              - \beta \min\Big(\log \frac{1 - p}{1 - b}, 0\Big)

    The average of several such functions is none of them. It is kept as it is, and inverted
    numerically. Arrays have shape (n, n_members).
    """

    location: Floats  # theta
    early: Floats  # alpha, the mean distance of the times below the location
    late: Floats  # beta, of those above it
    log_odds: Floats  # log(b / (1 - b))

    def __len__(self) -> int:
        return len(self.location)

    def take(self, rows: Any) -> Self:
        """Return the distributions of some of the individuals."""
        return type(self)(*(array[rows] for array in self._arrays()))

    def _average(self, parts: Sequence[Self]) -> Self:
        columns = zip(*(part._arrays() for part in parts), strict=True)
        return type(self)(*(np.hstack(arrays) for arrays in columns))

    def _arrays(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.location, self.early, self.late, self.log_odds

    def _members(self) -> list[list[Floats]]:
        """Return the four parameters as columns, member by member."""
        n_members = self.location.shape[1]
        return [[array[:, k, None] for array in self._arrays()] for k in range(n_members)]

    def quantile(self, p: Floats) -> Floats:
        """Return the times by which the event has happened with given probabilities."""
        with np.errstate(divide="ignore"):
            return self._quantile_of_logs(np.log(p), np.log1p(-p))

    def inverse_survival(self, p: Floats) -> Floats:
        """Return the times after which the event happens with given probabilities."""
        with np.errstate(divide="ignore"):
            return self._quantile_of_logs(np.log1p(-p), np.log(p))

    def cdf(self, t: Floats) -> Floats:
        """Return the probabilities that the event has happened by given times."""
        return np.asarray(expit(self._log_odds_at(t)))

    def survival(self, t: Floats) -> Floats:
        """Return the probabilities of no event until given times."""
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
        return self._invert(times, np.min(each, axis=0), np.max(each, axis=0))

    def _invert(self, t: Floats, low: Floats, high: Floats) -> Floats:
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


def shape_knots(base: str, n_levels: int) -> Floats:
    """Return the quantiles of a standard distribution at evenly spaced levels."""
    return STANDARD[base].quantile(even_grid(n_levels))


@dataclass(frozen=True, eq=False)
class ShapeDistribution(FormulaDistribution):
    """Distributions whose quantile functions bend that of a standard distribution.

    The quantile at a level is linear in the standard distribution's own between knots, and both
    end segments are prolonged: their tails are those of the standard distribution.
    """

    values: Floats  # (n, k): quantiles of each individual at evenly spaced levels, at least two
    base: str = "normal"
    cap: float = np.inf  # larger quantiles are moved down to it

    @property
    def _standard(self) -> Standard:
        return STANDARD[self.base]

    @cached_property
    def _knots(self) -> Floats:
        return shape_knots(self.base, self.values.shape[1])

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Any) -> Self:
        """Return the distributions of some of the individuals."""
        return replace(self, values=self.values[rows])

    def log_likelihood(self, time: Floats, event: NDArray[np.bool_]) -> Floats:
        """Return the log-density of events and the log-survival of censored individuals.

        The density is smoothed as in training: its logarithm is linear between the middles of the
        segments, where that of the piecewise distribution would jump.
        """
        out = np.empty(len(self))
        shape_log_likelihood(self.values, time, event, self._knots, self._standard.code, out)
        return out

    def _average(self, parts: Sequence[Self]) -> Self:
        return replace(self, values=np.mean([part.values for part in parts], axis=0))

    def quantile(self, p: Floats) -> Floats:
        """Return the times by which the event has happened with given probabilities."""
        return self._bend(self._standard.quantile(p))

    def inverse_survival(self, p: Floats) -> Floats:
        """Return the times after which the event happens with given probabilities."""
        return self._bend(self._standard.inverse_survival(p))

    def cdf(self, t: Floats) -> Floats:
        """Return the probabilities that the event has happened by given times."""
        return np.where(t >= self.cap, 1.0, self._standard.cdf(self._straighten(t)))

    def survival(self, t: Floats) -> Floats:
        """Return the probabilities of no event until given times."""
        # What was moved down to the cap lies at it and not below.
        return np.where(t > self.cap, 0.0, self._standard.survival(self._straighten(t)))

    def _bend(self, u: Floats) -> Floats:
        """Return the values at places (1, k) or (n, k) of the standard distribution."""
        last = len(self._knots) - 2
        segment = np.clip(np.searchsorted(self._knots, u, side="right") - 1, 0, last)
        share = (u - self._knots[segment]) / np.diff(self._knots)[segment]
        rows = np.arange(len(self))[:, None]
        left, right = self.values[rows, segment], self.values[rows, segment + 1]
        return np.minimum(left + share * (right - left), self.cap)

    def _straighten(self, t: Floats) -> Floats:
        """Return the places in the standard distribution of values (T,) or (n, T)."""
        t = np.broadcast_to(t, (len(self), t.shape[-1]))
        segment = np.zeros(t.shape, dtype=np.intp)
        for knot in range(1, len(self._knots) - 1):
            segment += self.values[:, knot, None] <= t
        rows = np.arange(len(self))[:, None]
        left, right = self.values[rows, segment], self.values[rows, segment + 1]
        step = np.diff(self._knots)[segment]
        result: Floats = self._knots[segment] + (t - left) / (right - left) * step
        return result
