"""Logistic regression of estimated outcomes on a spline, with a band for the whole curve."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.metrics._calibration import chi_squared_tail
from censquant.survival._comparisons import normal_deviate

# Knots by the smaller of the numbers of rows with the event and without; below the first number the
# curve is a line.
_KNOTS = (
    (20, (0.1, 0.5, 0.9)),
    (40, (0.05, 0.35, 0.65, 0.95)),
    (1_000, (0.05, 0.275, 0.5, 0.725, 0.95)),
    (5_000, (0.05, 0.23, 0.41, 0.59, 0.77, 0.95)),
)
_MOST_STEPS, _SMALL_STEP = 100, 1e-12


def logistic(log_odds: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(log_odds))


@dataclass(frozen=True, eq=False)
class Spline:
    """A natural cubic spline: a constant, a line, and cubes that end in lines at both sides."""

    knots: Floats
    n_columns: int

    @classmethod
    def of(cls, x: Floats, weight: Floats, fewest: float) -> "Spline":
        """Return the spline that rows have events enough for."""
        if x.min() == x.max():
            return cls(np.empty(0), 1)
        shares = [shares for least, shares in _KNOTS if fewest >= least]
        knots = np.unique(weighted_quantiles(x, weight, shares[-1])) if shares else np.empty(0)
        return cls(knots, max(len(knots), 2)) if len(knots) > 2 else cls(np.empty(0), 2)

    @property
    def diagonal(self) -> Floats:
        """The coefficients with which the curve is the diagonal, after the constant."""
        return np.append(0.0, np.eye(1, self.n_columns - 1)[0])

    def __call__(self, x: Floats) -> Floats:
        """Return the columns at some log odds."""
        if self.n_columns == 1:
            return np.ones((len(x), 1))
        columns = [np.ones(len(x)), x]
        if len(self.knots):
            *inner, before, last = self.knots
            scale = (last - self.knots[0]) ** 2
            for knot in inner:
                cubes = (np.maximum(x - one, 0.0) ** 3 for one in (knot, before, last))
                own, second, third = cubes
                bent = own * (last - before) - second * (last - knot) + third * (before - knot)
                columns.append(bent / (scale * (last - before)))
        return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class FittedCurve:
    """Coefficients of a logistic regression with their robust covariance."""

    coefficients: Floats
    covariance: Floats
    n_clusters: int | None

    def errors(self, columns: Floats) -> Floats:
        """Return the standard errors of the log odds of rows."""
        return np.asarray(np.sqrt(np.einsum("ij,jk,ik->i", columns, self.covariance, columns)))

    def factor(self, confidence: float) -> float:
        """Return how many standard errors an interval reaches to each side."""
        return self._for_clusters(normal_deviate(confidence))

    def reach(self, columns: Floats, confidence: float, *, simultaneous: bool) -> Floats:
        """Return how far a band around the curve reaches to each side, in log odds."""
        factor = normal_deviate(confidence)
        if simultaneous and len(columns) > 1:
            factor = self._tube(columns, confidence)
        return self._for_clusters(factor) * self.errors(columns)

    def p_value_of(self, coefficients: Floats) -> float:
        """Return the p-value of Wald's test of some coefficients."""
        off = self.coefficients - coefficients
        statistic = float(off @ np.linalg.solve(self.covariance, off))
        df = len(off)
        if self.n_clusters is None:
            return chi_squared_tail(df, statistic)
        from scipy.special import fdtrc

        return float(fdtrc(df, max(self.n_clusters - df, 1), statistic / df))

    def _for_clusters(self, factor: float) -> float:
        """Return the factor of Student's law that belongs to one of the normal law."""
        if self.n_clusters is None:
            return factor
        from scipy.special import ndtr, stdtrit

        return float(stdtrit(self.n_clusters - 1, ndtr(factor)))

    def _tube(self, columns: Floats, confidence: float) -> float:
        """Return the factor of a band for the whole curve, by the volume of a tube around it.

        The largest standardised error along the curve is that of a fixed curve on a sphere in a
        random direction, and exceeds c with the chance 2 (1 - Phi(c)) + length exp(-c^2/2) / pi.
        """
        from scipy.optimize import brentq
        from scipy.special import ndtr

        values, vectors = np.linalg.eigh(self.covariance)
        way = columns @ (vectors * np.sqrt(np.maximum(values, 0.0)))
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        length = float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum())

        def excess(c: float) -> float:
            tube = 2.0 * (1.0 - ndtr(c)) + length * np.exp(-(c**2) / 2.0) / np.pi
            return float(tube - (1.0 - confidence))

        low = normal_deviate(confidence)
        return float(brentq(excess, low, low + 10.0))


def fit_curve(
    columns: Floats, outcome: Floats, weight: Floats, cluster: NDArray[np.intp] | None
) -> FittedCurve:
    """Fit a logistic regression to pseudo-observations, some of which lie outside of [0, 1].

    The loss is convex whatever the outcomes are, and its minimum makes their mean right.
    """
    coefficients = np.eye(1, columns.shape[1], 1)[0]

    def loss(at: Floats) -> float:
        log_odds = columns @ at
        return float(weight @ (np.logaddexp(0.0, log_odds) - outcome * log_odds))

    for _ in range(_MOST_STEPS):
        fitted = logistic(columns @ coefficients)
        gradient = columns.T @ (weight * (outcome - fitted))
        step = _solve(_information(columns, weight, fitted), gradient)
        size, now = 1.0, loss(coefficients)
        while loss(coefficients + size * step) > now + _SMALL_STEP * abs(now) and size > 1e-8:
            size /= 2.0
        coefficients = coefficients + size * step
        if abs(gradient @ step) < _SMALL_STEP * weight.sum():
            break
    fitted = logistic(columns @ coefficients)
    information = _information(columns, weight, fitted)
    inverse = _solve(information, np.eye(len(information)))
    share = fitted * (1.0 - fitted) * np.einsum("ij,jk,ik->i", columns, inverse, columns)
    # A row pulls the curve to itself, and its residual is larger than it seems (HC2).
    residual = (outcome - fitted) / np.sqrt(np.maximum(1.0 - share, 0.5))
    middle, n_clusters = covariance_of_sum(columns * residual[:, None], weight, cluster)
    return FittedCurve(coefficients, inverse @ middle @ inverse, n_clusters)


def _information(columns: Floats, weight: Floats, fitted: Floats) -> Floats:
    return np.asarray((columns.T * (weight * fitted * (1.0 - fitted))) @ columns)


def _solve(matrix: Floats, right: Floats) -> Floats:
    """Solve equations whose matrix may be close to singular, where risks hardly differ."""
    ridge = 1e-12 * np.trace(matrix) * np.eye(len(matrix))
    return np.asarray(np.linalg.solve(matrix + ridge, right))


def covariance_of_sum(
    scores: Floats, weight: Floats, cluster: NDArray[np.intp] | None
) -> tuple[Floats, int | None]:
    """Return the covariance of a weighted sum of scores, and the number of clusters.

    A weight of k counts as k equal rows, which are independent unless they are of one cluster.
    """
    if cluster is None:
        return np.asarray((scores.T * weight) @ scores), None
    sums = np.zeros((int(cluster.max()) + 1, scores.shape[1]))
    np.add.at(sums, cluster, weight[:, None] * scores)
    count = np.unique(cluster).size
    return sums.T @ sums * (count / (count - 1)), count


def weighted_quantiles(values: Floats, weight: Floats, levels: ArrayLike) -> Floats:
    """Return quantiles of weighted rows; a weight of k counts as k equal rows."""
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    place = np.searchsorted(share, np.asarray(levels) - 1e-12)
    return np.asarray(values[order][np.minimum(place, len(values) - 1)])
