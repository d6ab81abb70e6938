"""Distributions with formulas, one per individual, whose parameters networks predict."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from censquant._typing import Floats


class FormulaDistribution:
    """What the distributions of this package answer, in model units.

    ``quantile`` and ``cdf`` are inverse to each other, and so are ``inverse_survival`` and
    ``survival``. The latter two are exact where the probability of a later event is so small that
    one minus it rounds to one.
    """

    def __len__(self) -> int:
        raise NotImplementedError

    def take(self, rows: Any) -> Self:
        """Return the distributions of some of the individuals."""
        return self._take(rows)

    def quantile(self, levels: NDArray[Any]) -> Floats:
        """Return the times by which the event has happened with given probabilities."""
        return self._quantile(np.asarray(levels, dtype=np.float64))

    def inverse_survival(self, probabilities: NDArray[Any]) -> Floats:
        """Return the times that are outlived with given probabilities."""
        return self._inverse_survival(np.asarray(probabilities, dtype=np.float64))

    def cdf(self, times: NDArray[Any]) -> Floats:
        """Return the probabilities that the event has happened by given times."""
        return self._cdf(np.asarray(times, dtype=np.float64))

    def survival(self, times: NDArray[Any]) -> Floats:
        """Return the probabilities of no event until given times."""
        return self._survival(np.asarray(times, dtype=np.float64))

    def _take(self, rows: Any) -> Self:
        raise NotImplementedError

    def _averaged(self, parts: Sequence[Self]) -> Self:
        """Return the distributions whose quantiles are the means of the parts'."""
        raise NotImplementedError

    def _quantile(self, p: Floats) -> Floats:
        raise NotImplementedError

    def _inverse_survival(self, p: Floats) -> Floats:
        raise NotImplementedError

    def _cdf(self, t: Floats) -> Floats:
        raise NotImplementedError

    def _survival(self, t: Floats) -> Floats:
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
    return first if len(distributions) == 1 else first._averaged(distributions)


@dataclass(frozen=True, eq=False)
class _LocationScale(FormulaDistribution):
    """A standard distribution, shifted and stretched."""

    location: Floats
    scale: Floats

    def __len__(self) -> int:
        return len(self.location)

    def _take(self, rows: Any) -> Self:
        return replace(self, location=self.location[rows], scale=self.scale[rows])

    def _averaged(self, parts: Sequence[Self]) -> Self:
        return replace(
            self,
            location=np.mean([part.location for part in parts], axis=0),
            scale=np.mean([part.scale for part in parts], axis=0),
        )

    def _stretched(self, u: Floats) -> Floats:
        result: Floats = self.location[:, None] + self.scale[:, None] * u
        return result

    def _standardized(self, t: Floats) -> Floats:
        result: Floats = (t - self.location[:, None]) / self.scale[:, None]
        return result


@dataclass(frozen=True, eq=False)
class NormalDistribution(_LocationScale):
    """Normal distributions, one per individual.

    Parameters
    ----------
    location, scale : ndarray of shape (n,)
    """

    def _quantile(self, p: Floats) -> Floats:
        return self._stretched(ndtri(p))

    def _inverse_survival(self, p: Floats) -> Floats:
        return self._stretched(-ndtri(p))

    def _cdf(self, t: Floats) -> Floats:
        return np.asarray(ndtr(self._standardized(t)))

    def _survival(self, t: Floats) -> Floats:
        return np.asarray(ndtr(-self._standardized(t)))


@dataclass(frozen=True, eq=False)
class GumbelDistribution(_LocationScale):
    """Minimum Gumbel distributions, one per individual: logarithms of Weibull times.

    Parameters
    ----------
    location, scale : ndarray of shape (n,)
        The location is the quantile at level 1 - 1/e; mirrored, at level 1/e.
    mirrored : bool, default False
        Whether they are maximum Gumbel distributions instead, those of negated logarithms.
    """

    mirrored: bool = False

    def _quantile(self, p: Floats) -> Floats:
        return self._stretched(-_log_log(p) if self.mirrored else _log_log_complement(p))

    def _inverse_survival(self, p: Floats) -> Floats:
        return self._stretched(-_log_log_complement(p) if self.mirrored else _log_log(p))

    def _cdf(self, t: Floats) -> Floats:
        u = self._standardized(t)
        return _double_exponential(-u) if self.mirrored else _double_exponential_complement(u)

    def _survival(self, t: Floats) -> Floats:
        u = self._standardized(t)
        return _double_exponential_complement(-u) if self.mirrored else _double_exponential(u)


def _log_log(p: Floats) -> Floats:
    """Return ``log(-log(p))``."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(-np.log(p)))


def _log_log_complement(p: Floats) -> Floats:
    """Return ``log(-log(1 - p))``."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(-np.log1p(-p)))


def _double_exponential(u: Floats) -> Floats:
    """Return ``exp(-exp(u))``."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-np.exp(u)))


def _double_exponential_complement(u: Floats) -> Floats:
    """Return ``1 - exp(-exp(u))``."""
    with np.errstate(over="ignore"):
        return np.asarray(-np.expm1(-np.exp(u)))
