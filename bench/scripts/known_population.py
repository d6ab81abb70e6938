"""A population whose law is known, and models of it that are wrong in known ways."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator

from censquant.survival import Surv, kaplan_meier

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Population:
    """Log-normal events and exponential censoring, both given three features."""

    rate: float
    strength: float

    @classmethod
    def with_censored(cls, share: float, strength: float = 1.5) -> "Population":
        """Return the one of which so many are censored, sooner or later by the first feature."""
        X = features(100_000, np.random.default_rng(0))
        event = lognormal_quantiles(X, np.random.default_rng(1).uniform(size=(len(X), 1)))[:, 0]

        def excess(log_rate: float) -> float:
            escaped = np.exp(-event * cls(math.exp(log_rate), strength).hazard(X))
            return float(1 - escaped.mean()) - share

        return cls(math.exp(brentq(excess, -10, 10)), strength)

    def hazard(self, X: Floats) -> Floats:
        """Return the rate at which each individual is censored."""
        found: Floats = self.rate * np.exp(self.strength * (X[:, 0] - 0.5))
        return found

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.void]]:
        """Return features and what was observed."""
        X = features(n, rng)
        event = lognormal_quantiles(X, rng.uniform(size=(n, 1)))[:, 0]
        censoring = rng.exponential(size=n) / self.hazard(X)
        observed = Surv.from_arrays(event=event <= censoring, time=np.minimum(event, censoring))
        return X, observed

    def followed(self, X: Floats, levels: Floats) -> Floats:
        """Return the share under observation at the true quantile of each level."""
        times = lognormal_quantiles(X, levels)
        shares: Floats = np.exp(-times * self.hazard(X)[:, None]).mean(axis=0)
        return shares


def features(n: int, rng: np.random.Generator) -> Floats:
    """Return three uniform features."""
    return rng.uniform(size=(n, 3))


def lognormal_quantiles(X: Floats, levels: Floats, widening: float = 1.0) -> Floats:
    """Return quantiles of the event at levels of shape (k,) or (n, k)."""
    mean, sd = 1 + X[:, [0]] - 0.5 * X[:, [1]], 0.4 + 0.4 * X[:, [2]]
    found: Floats = np.exp(mean + widening * sd * ndtri(levels))
    return found


def share_by(times: Floats, X: Floats) -> Floats:
    """Return the true probability of an event by each time, for times of shape (n, k)."""
    mean, sd = 1 + X[:, [0]] - 0.5 * X[:, [1]], 0.4 + 0.4 * X[:, [2]]
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(times, 0.0))
    found: Floats = ndtr((logs - mean) / sd)
    return found


class KnownModel(BaseEstimator):
    """A model that is fitted already: the truth, bent in a known way."""

    def __init__(self, power: float = 1.0, widening: float = 1.0, by_group: bool = False) -> None:
        self.power = power
        self.widening = widening
        self.by_group = by_group

    def fit(self, X: Any, y: Any) -> "KnownModel":
        """Nothing is learned."""
        return self

    def predict_quantiles(self, X: ArrayLike, quantiles: ArrayLike) -> Floats:
        """Return true quantiles at bent levels."""
        rows, levels = np.asarray(X, np.float64), np.atleast_1d(np.asarray(quantiles, np.float64))
        late = lognormal_quantiles(rows, levels ** (1 / self.power), self.widening)
        if not self.by_group:
            return late
        early = lognormal_quantiles(rows, levels**self.power, self.widening)
        return np.where(in_second_group(rows)[:, None], early, late)


class MarginalModel(BaseEstimator):
    """Kaplan-Meier's curve of the rows it is fitted to, whatever the features: a wrong model."""

    def fit(self, X: Any, y: Any) -> "MarginalModel":
        """Estimate the curve."""
        self.curve_ = kaplan_meier(y["time"], y["event"])
        return self

    def predict_quantiles(self, X: Any, quantiles: ArrayLike) -> Floats:
        """Return the same quantiles for each row, the last time where the curve ends before."""
        found = self.curve_.quantile(np.atleast_1d(quantiles))
        return np.tile(np.minimum(found, self.curve_.time[-1]), (len(X), 1))


def in_second_group(X: ArrayLike) -> NDArray[np.bool_]:
    """Return who belongs to the second of two groups."""
    found: NDArray[np.bool_] = np.asarray(X)[:, 1] > 0.5
    return found


@dataclass(frozen=True)
class ShortFollowUp:
    """Log-normal events of which follow-up shows a tenth, nearly all at high risk.

    Of "admin" all are followed for 4 to 10 years; in "hetero" the spread grows with the risk; in
    "lowdep" those at low risk are followed for less time.
    """

    kind: str

    def law(self, X: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of the logarithm of the event time."""
        first = X[:, 0]
        if self.kind == "admin":
            return 4.0 - 2.2 * first + 0.5 * np.sin(3 * X[:, 1]), np.full(len(X), 0.8)
        if self.kind == "hetero":
            return 3.6 - 1.6 * first - 0.6 * (X[:, 1] > 0.3), 0.4 + 0.35 * (first + 1)
        return 3.2 - 1.8 * first + 0.4 * X[:, 2], np.full(len(X), 0.7)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.void]]:
        """Return six features and what was observed."""
        X = rng.uniform(-1, 1, (n, 6))
        mean, sd = self.law(X)
        event = np.exp(mean + sd * rng.normal(size=n))
        if self.kind == "lowdep":
            end = rng.uniform(0.4, 1.0, n) * np.exp(1.6 + 0.7 * X[:, 0])
        else:
            end = rng.uniform(4.0, 10.0, n)
        return X, Surv.from_arrays(event=event <= end, time=np.minimum(event, end))

    def share_by(self, times: Floats, X: Floats) -> Floats:
        """Return the true probability of an event before each time, for times of shape (n, k)."""
        mean, sd = self.law(X)
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(times, 0.0))
        found: Floats = ndtr((logs - mean[:, None]) / sd[:, None])
        return found
