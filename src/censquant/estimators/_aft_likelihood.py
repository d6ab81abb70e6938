"""Accelerated failure times: likelihood of rows (entry, lower, upper], Newton's method.

Of a standardised logarithm of time ``y`` the residual is ``u = phi * y - eta``, with ``eta`` linear
in the features and ``phi`` one over the scale. In these coefficients the log-likelihood of exact,
censored and interval-censored rows is concave, because the standard densities are log-concave:
Newton's method finds the one maximum from anywhere.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigh
from scipy.special import expit, log_expit, log_ndtr

from censquant._typing import Floats
from censquant.estimators._cox_likelihood import minimize

# Rows of a matrix product: large enough for BLAS, small enough for the processor's cache.
_BLOCK = 1024
# Curvature below this share of the largest is rounding: nothing is known along that direction.
_NO_CURVATURE = 1e-9
# Curvature per row and squared standard deviation that is left only where there is no maximum.
_SEPARATED = 1e-7
# Of half the square of one over the scale: events that all agree still have a maximum, with a
# scale of 1e-5 standard deviations. It moves no other estimate by more than rounding.
_NARROWEST = 1e-10
RESCUE = 1e-3
"""Penalty of all coefficients, one over the scale included, where there is no maximum without."""
# Residuals at the start of the search: within them no exponential overflows.
_LARGEST_START = 10.0
_LOG_ROOT = 0.5 * float(np.log(2.0 * np.pi))


class LogLaw(ABC):
    """A standard distribution of residuals: logarithms that are exact in both tails."""

    @abstractmethod
    def log_density(self, u: Floats) -> Floats:
        """Return the logarithm of the density."""

    @abstractmethod
    def log_survival(self, u: Floats) -> Floats:
        """Return the logarithm of the probability above places."""

    @abstractmethod
    def log_cdf(self, u: Floats) -> Floats:
        """Return the logarithm of the probability below places."""

    @abstractmethod
    def slopes(self, u: Floats) -> tuple[Floats, Floats]:
        """Return the first and the second derivative of the log-density."""


class _Gumbel(LogLaw):
    def log_density(self, u: Floats) -> Floats:
        return np.asarray(u - np.exp(u))

    def log_survival(self, u: Floats) -> Floats:
        return -np.exp(u)

    def log_cdf(self, u: Floats) -> Floats:
        # Below -40 the probability is exp(u) in all digits, down to where exp(u) underflows.
        return np.where(u < -40.0, u, np.log(-np.expm1(-np.exp(np.maximum(u, -40.0)))))

    def slopes(self, u: Floats) -> tuple[Floats, Floats]:
        # Far out the density is 0 in all digits, and no derivative may be infinite.
        e = np.exp(np.minimum(u, 700.0))
        return 1.0 - e, -e


class _Normal(LogLaw):
    def log_density(self, u: Floats) -> Floats:
        return np.asarray(-0.5 * u * u - _LOG_ROOT)

    def log_survival(self, u: Floats) -> Floats:
        return np.asarray(log_ndtr(-u))

    def log_cdf(self, u: Floats) -> Floats:
        return np.asarray(log_ndtr(u))

    def slopes(self, u: Floats) -> tuple[Floats, Floats]:
        return -u, np.full_like(u, -1.0)


class _Logistic(LogLaw):
    def log_density(self, u: Floats) -> Floats:
        return np.asarray(log_expit(u) + log_expit(-u))

    def log_survival(self, u: Floats) -> Floats:
        return np.asarray(log_expit(-u))

    def log_cdf(self, u: Floats) -> Floats:
        return np.asarray(log_expit(u))

    def slopes(self, u: Floats) -> tuple[Floats, Floats]:
        below, above = expit(u), expit(-u)
        return np.asarray(above - below), np.asarray(-2.0 * below * above)


class Law(NamedTuple):
    """A distribution of times by the law of the residuals of their logarithms."""

    residuals: LogLaw
    base: str  # its name among the standard distributions
    has_scale: bool = True


LAWS = {
    "weibull": Law(_Gumbel(), "gumbel"),
    "lognormal": Law(_Normal(), "normal"),
    "loglogistic": Law(_Logistic(), "logistic"),
    "exponential": Law(_Gumbel(), "gumbel", has_scale=False),
}
"""Distributions of times by the names that R's ``survreg`` has for them."""


@dataclass(frozen=True, eq=False)
class LogRows:
    """Rows (entry, lower, upper] of logarithms of time, in any unit.

    A row is exact where both ends are equal, right-censored where ``upper`` is inf, left-censored
    where ``lower`` is -inf; an ``entry`` of -inf means under observation from the start.
    """

    lower: Floats
    upper: Floats
    entry: Floats

    @classmethod
    def of(cls, lower: Floats, upper: Floats, entry: Floats | None = None) -> "LogRows":
        """Return rows of times, of which 0 is the start and inf is never."""
        with np.errstate(divide="ignore"):
            ends = np.log(lower), np.log(upper)
            start = np.full(len(lower), -np.inf) if entry is None else np.log(entry)
        # What lies before the entry was never possible.
        return cls(np.maximum(ends[0], start), ends[1], start)

    def moved(self, center: float, scale: float) -> "LogRows":
        """Return the rows in other units."""
        ends = (self.lower, self.upper, self.entry)
        return LogRows(*((end - center) / scale for end in ends))

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Which rows are events at known times."""
        return np.asarray(self.lower == self.upper)

    @property
    def middle(self) -> Floats:
        """One finite number for each row: its time, its only end, or the mean of both."""
        low, high = np.isfinite(self.lower), np.isfinite(self.upper)
        one = np.where(low, self.lower, np.where(high, self.upper, 0.0))
        both = low & high
        return np.where(both, 0.5 * (one + np.where(both, self.upper, 0.0)), one)

    def spread(self, weight: Floats) -> tuple[float, float]:
        """Return the weighted mean and standard deviation; the latter is 1 for equal times."""
        place, total = self.middle, weight.sum()
        center = float(weight @ place / total)
        scale = float(np.sqrt(weight @ (place - center) ** 2 / total))
        return center, scale if scale > 1e-12 * max(1.0, abs(center)) else 1.0


class Slopes(NamedTuple):
    """Derivatives of each row's log-likelihood by ``eta`` and ``phi``."""

    eta: Floats
    phi: Floats
    eta_eta: Floats
    eta_phi: Floats
    phi_phi: Floats


@dataclass(frozen=True, eq=False)
class RowsLikelihood:
    """The log-likelihood of rows, by density where exact and by probability elsewhere."""

    rows: LogRows
    law: LogLaw

    def values(self, eta: Floats, phi: float) -> Floats:
        """Return the log-likelihood of each row, per unit of the rows' logarithms."""
        rows, law = self.rows, self.law
        low, high, entry = (phi * end - eta for end in (rows.lower, rows.upper, rows.entry))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            density = law.log_density(np.where(rows.exact, low, 0.0)) + np.log(phi)
            found = np.where(rows.exact, density, self._log_probability(low, high))
            late = np.isfinite(entry)
            if late.any():
                found -= np.where(late, law.log_survival(np.where(late, entry, 0.0)), 0.0)
        return found

    def slopes(self, eta: Floats, phi: float) -> Slopes:
        """Return first and second derivatives of :meth:`values`."""
        rows, law = self.rows, self.law
        low, high = phi * rows.lower - eta, phi * rows.upper - eta
        exact = rows.exact
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            whole = np.where(exact, 0.0, self._log_probability(low, high))
            first, curve = law.slopes(np.where(exact, low, 0.0))
            by_low, low_low = self._end(low, whole, exact)
            by_high, high_high = self._end(high, whole, exact)
            both = by_low * by_high
            a = np.where(exact, first, -by_low)
            aa = np.where(exact, curve, -low_low - by_low**2)
            b, bb = by_high, high_high - by_high**2
        y_low, y_high = _finite(rows.lower), _finite(rows.upper)
        by_eta, by_phi = -(a + b), y_low * a + y_high * b
        eta_eta = aa + bb + 2.0 * both
        eta_phi = -(y_low * (aa + both) + y_high * (bb + both))
        phi_phi = y_low**2 * aa + y_high**2 * bb + 2.0 * y_low * y_high * both
        by_phi += exact / phi
        phi_phi -= exact / phi**2
        late = np.isfinite(rows.entry)
        if late.any():
            y = _finite(rows.entry)
            entry = np.where(late, phi * y - eta, 0.0)
            hazard = np.where(late, np.exp(law.log_density(entry) - law.log_survival(entry)), 0.0)
            rise = hazard * (law.slopes(entry)[0] + hazard)
            by_eta, by_phi = by_eta - hazard, by_phi + y * hazard
            eta_eta, eta_phi = eta_eta + rise, eta_phi - y * rise
            phi_phi = phi_phi + y**2 * rise
        return Slopes(by_eta, by_phi, eta_eta, eta_phi, phi_phi)

    def _log_probability(self, low: Floats, high: Floats) -> Floats:
        """Return the logarithm of the probability between places, without loss in either tail."""
        law, is_below = self.law, low + high < 0.0
        # Differences are taken on the side of the smaller tail; an open end leaves one logarithm.
        near = np.where(is_below, law.log_cdf(high), law.log_survival(low))
        far = np.where(is_below, law.log_cdf(low), law.log_survival(high))
        gap = np.where(np.isinf(far), np.inf, near - far)
        return np.asarray(near + _log1mexp(gap))

    def _end(self, place: Floats, whole: Floats, exact: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Return density, and its derivative, at an end over the probability of the interval."""
        used = np.isfinite(place) & ~exact
        inside = np.where(used, place, 0.0)
        share = np.where(used, np.exp(self.law.log_density(inside) - whole), 0.0)
        return share, np.where(used, share * self.law.slopes(inside)[0], 0.0)


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, 0.0)


def _log1mexp(gap: Floats) -> Floats:
    """Return ``log(1 - exp(-gap))`` of positive numbers, of which none is rounded away."""
    return np.where(gap < 0.7, np.log(-np.expm1(-gap)), np.log1p(-np.exp(-gap)))


class Fit(NamedTuple):
    """Estimates in the units of the rows, and what is to be said about them."""

    level: float  # eta where all features are 0
    slopes: Floats  # of the features, of the smallest norm where these are collinear
    phi: float
    covariance: Floats  # of level, slopes along the basis and, if it is not given, phi
    basis: Floats | None  # directions of features that the data know, None for all
    n_steps: int
    converged: bool
    separated: bool
    penalty: float
    n_unknown: int


@dataclass(frozen=True, eq=False)
class _Objective:
    """Minus the log-likelihood per row, with ridges, as a function of all coefficients."""

    likelihood: RowsLikelihood
    z: Floats
    weight: Floats
    ridges: Floats  # one for each coefficient
    fixed_phi: float | None

    def value(self, place: Floats) -> float:
        eta, phi = self._read(place)
        if not phi > 0:
            return np.inf
        found = self.weight @ self.likelihood.values(eta, phi) / self.weight.sum()
        value = 0.5 * float(self.ridges @ place**2) - float(found)
        return value if np.isfinite(value) else np.inf

    def derivatives(self, place: Floats) -> tuple[Floats, Floats]:
        n, slopes = self.weight.sum(), self.likelihood.slopes(*self._read(place))
        by_eta, by_phi, *curves = (self.weight * part / n for part in slopes)
        gradient, hessian = self.ridges * place, np.diag(self.ridges)
        k = 1 + self.z.shape[1]
        for start in range(0, len(self.z), _BLOCK):
            rows = slice(start, start + _BLOCK)
            x = np.column_stack((np.ones(len(self.z[rows])), self.z[rows]))
            gradient[:k] -= by_eta[rows] @ x
            hessian[:k, :k] -= (x * curves[0][rows, None]).T @ x
            if self.fixed_phi is None:
                cross = curves[1][rows] @ x
                hessian[:k, k] -= cross
                hessian[k, :k] -= cross
        if self.fixed_phi is None:
            gradient[k] -= by_phi.sum()
            hessian[k, k] -= curves[2].sum()
        return gradient, 0.5 * (hessian + hessian.T)

    def _read(self, place: Floats) -> tuple[Floats, float]:
        k = 1 + self.z.shape[1]
        phi = float(place[k]) if self.fixed_phi is None else self.fixed_phi
        return place[0] + self.z @ place[1:k], phi


def fit_rows(
    z: Floats,
    rows: LogRows,
    weight: Floats,
    law: LogLaw,
    penalty: float,
    fixed_phi: float | None = None,
) -> Fit:
    """Return the estimates that maximise ``loglik / n - penalty / 2 * |slopes|**2``.

    ``z`` are standardised features, ``rows`` standardised logarithms. Without a penalty, where the
    likelihood has no maximum, all coefficients have a small one.
    """
    basis = _known_directions(z)
    inner = z if basis is None else z @ basis
    likelihood, k = RowsLikelihood(rows, law), 1 + inner.shape[1]
    phi, start = fixed_phi, np.zeros(k)
    peak = float(np.abs(rows.middle).max())
    if phi is None:
        start = np.append(start, min(1.0, _LARGEST_START / max(peak, 1e-300)))
    else:
        start[0] = max(phi * float(rows.middle.max()) - _LARGEST_START, 0.0)

    def search(slope: float, narrow: float) -> tuple[Floats, int, bool, Floats]:
        ridges = np.concatenate([[0.0], np.full(k - 1, slope), [narrow] * (phi is None)])
        function = _Objective(likelihood, inner, weight, ridges, fixed_phi)
        best = minimize(function, start)
        return best.place, best.n_steps, best.converged, function.derivatives(best.place)[1]

    place, n_steps, converged, hessian = search(penalty, _NARROWEST)
    separated = False
    if penalty == 0:
        separated = not converged or _is_flat(hessian, inner, weight)
        if phi is None:
            # Only where nothing else bounds it is one over the scale as large as that.
            events = float(weight[rows.exact].sum() / weight.sum())
            separated = separated or bool(_NARROWEST * place[k] ** 2 > 0.5 * events > 0)
        if separated:
            place, n_steps, converged, hessian = search(RESCUE, RESCUE)
    slopes = place[1:k] if basis is None else basis @ place[1:k]
    return Fit(
        float(place[0]),
        slopes,
        float(place[k]) if phi is None else phi,
        _inverse(hessian) / weight.sum(),
        basis,
        n_steps,
        converged,
        separated,
        RESCUE if separated else penalty,
        z.shape[1] - inner.shape[1],
    )


def _known_directions(z: Floats) -> Floats | None:
    """Return the orthonormal directions along which rows differ; None if they do along all."""
    n, p = z.shape
    if p == 0:
        return None
    if p > n:
        sizes, axes = np.linalg.eigh(z @ z.T)
        kept = sizes > _NO_CURVATURE * sizes[-1]
        return np.asarray(z.T @ (axes[:, kept] / np.sqrt(sizes[kept])))
    sizes, axes = np.linalg.eigh(z.T @ z)
    kept = sizes > _NO_CURVATURE * max(sizes[-1], 1e-300)
    return None if kept.all() else axes[:, kept]


def _is_flat(hessian: Floats, z: Floats, weight: Floats) -> bool:
    """Whether the curvature along some features vanishes, relative to their spread.

    That of one over the scale does not count: it falls with the square of the scale.
    """
    k = 1 + z.shape[1]
    x = np.column_stack((np.ones(len(z)), z))
    moments = (x * (weight / weight.sum())[:, None]).T @ x
    try:
        inner = eigh(hessian[:k, :k], moments, eigvals_only=True, subset_by_index=[0, 0])
    except LinAlgError:
        return True
    return bool(inner[0] < _SEPARATED)


def _inverse(hessian: Floats) -> Floats:
    """Return the inverse of the information, NaN where it is none."""
    try:
        root = np.linalg.inv(np.linalg.cholesky(hessian))
    except LinAlgError:
        return np.full_like(hessian, np.nan)
    return np.asarray(root.T @ root)
