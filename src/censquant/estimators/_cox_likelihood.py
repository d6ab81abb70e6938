"""Coefficients of proportional hazards: partial likelihood, ridge penalty, Newton's method."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from censquant._compile import exact
from censquant._typing import Floats

# Rows of a matrix product: large enough for BLAS, small enough for the processor's cache.
_BLOCK = 1024
# Ratios of hazards beyond exp of it are no model of anything, and their squares would underflow.
_WIDEST = 300.0
# The expected decrease at which the next step is the last one: its own error is the square of it.
_SMALL_DECREASE = 1e-10
_MOST_STEPS = 100
# A step that must be shorter than 2 to the minus this runs against a wall.
_MOST_HALVINGS = 15
# Rounding of a value that is a mean over rows.
_ROUNDING = 1e-13
_FIRST_DAMPING = 1e-10  # of the mean curvature
# Curvature below this share of the largest is rounding: nothing is known along that direction.
_NO_CURVATURE = 1e-9
# The likelihood flattens by this factor only where it has no maximum.
_SEPARATED = 1e-6
# A spread below this share of a feature's largest value is rounding: the feature is constant.
_NO_SPREAD = 1e-10
_SMALLEST_RISK_SET = 0.01  # of the largest one


def standardize(x: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Overwrite features with standardised ones; return their centre and scale.

    Features are the largest array of a fit, so that no second one is made. Constant features
    become zeros and have the scale 1.
    """
    peak = np.maximum(x.max(axis=0), -x.min(axis=0))
    # Divided by a power of two, which rounds nothing: no square of values overflows then.
    unit = np.ldexp(1.0, np.frexp(peak)[1] - 1)
    x /= unit
    total = weight.sum()
    center = weight @ x / total
    x -= center
    scale = np.sqrt(np.einsum("i,ij,ij->j", weight, x, x) / total)
    constant = scale <= _NO_SPREAD * (peak / unit)
    x[:, constant] = 0.0
    scale[constant] = 1.0
    x /= scale
    return center * unit, np.where(constant, 1.0, scale * unit)


@exact
def tie_sums(
    risk: Any,
    weight: Any,
    event: Any,
    ends: Any,
    waiting: Any,
    n_waiting: Any,
    efron: bool,
    hazard: Any,
    own: Any,
    curve: Any,
) -> float:
    """Fill in sums over the events at each time; return the sum of the logarithms.

    An event among ``d`` at the same time has the denominator ``R - share * E``: the risk of all
    who are still there less, by Efron's rule, the part ``share = 0, 1/d, ..., (d - 1)/d`` of those
    with the event at that time. Times come from the latest to the earliest, and so do the rows
    ``waiting`` by their entries, of which ``n_waiting`` have not entered before a time.
    """
    total, value, start, n_gone = 0.0, 0.0, 0, 0
    for k in range(len(ends)):
        tied, mass, count = 0.0, 0.0, 0
        for i in range(start, ends[k]):
            total += risk[i]
            if event[i]:
                tied += risk[i]
                mass += weight[i]
                count += 1
        start = ends[k]
        while n_gone < n_waiting[k]:
            total -= risk[waiting[n_gone]]
            n_gone += 1
        # Those with the event are at risk, whatever rounding leaves of a difference.
        total = max(total, tied)
        hazard[k] = own[k] = curve[k, 0] = curve[k, 1] = curve[k, 2] = 0.0
        n_shares = count if efron else min(count, 1)
        for place in range(n_shares):
            share = place / n_shares
            each = mass / n_shares
            denominator = total - share * tied
            value += each * np.log(denominator)
            hazard[k] += each / denominator
            own[k] += each * share / denominator
            square = each / denominator**2
            curve[k, 0] += square
            curve[k, 1] += square * share
            curve[k, 2] += square * share**2
    return value


@exact
def expected_events(risk: Any, event: Any, ends: Any, hazard: Any, own: Any, out: Any) -> None:
    """Fill in the number of events that the model expects of each row up to its own time."""
    cumulative = 0.0
    for k in range(len(ends) - 1, -1, -1):
        cumulative += hazard[k]
        start = ends[k - 1] if k > 0 else 0
        for i in range(start, ends[k]):
            out[i] = risk[i] * (cumulative - (own[k] if event[i] else 0.0))


@exact
def mean_rows(
    z: Any,
    risk: Any,
    event: Any,
    ends: Any,
    waiting: Any,
    n_waiting: Any,
    curve: Any,
    group: int,
    sums: Any,
    out: Any,
) -> tuple[int, int]:
    """Fill in rows whose outer products add up to the Hessian's second term.

    The sum over tied events of ``(S - share * E)(S - share * E)'`` over the squared denominator,
    ``S`` and ``E`` being sums of features over those at risk and over the tied events, is that of
    two rows: one along ``S - c E``, and one along ``E`` where there is more than one event.
    """
    n_filled, p = 0, z.shape[1]
    n_gone = n_waiting[group - 1] if group > 0 else 0
    while group < len(ends) and n_filled + 2 <= len(out):
        start = ends[group - 1] if group > 0 else 0
        rest = 0.0
        if curve[group, 0] > 0:
            rest = curve[group, 2] - curve[group, 1] ** 2 / curve[group, 0]
        has_shares = curve[group, 1] > 0
        if has_shares:
            sums[1] = 0.0
        for i in range(start, ends[group]):
            for j in range(p):
                sums[0, j] += risk[i] * z[i, j]
            if has_shares and event[i]:
                for j in range(p):
                    sums[1, j] += risk[i] * z[i, j]
        while n_gone < n_waiting[group]:
            i = waiting[n_gone]
            for j in range(p):
                sums[0, j] -= risk[i] * z[i, j]
            n_gone += 1
        if curve[group, 0] > 0:
            factor, part = np.sqrt(curve[group, 0]), curve[group, 1] / curve[group, 0]
            for j in range(p):
                out[n_filled, j] = factor * (sums[0, j] - (part * sums[1, j] if has_shares else 0))
            n_filled += 1
        if has_shares and rest > 0:
            factor = np.sqrt(rest)
            for j in range(p):
                out[n_filled, j] = factor * sums[1, j]
            n_filled += 1
        group += 1
    return n_filled, group


class PartialLikelihood:
    """The probability of who had each event, given when events happened.

    Weights of tied events follow R's ``coxph``: each of them counts with their mean.

    Rows of the features ``z`` come from the latest time to the earliest; ``ties`` are ``"efron"``
    or ``"breslow"``. A row is at risk after its ``entry``, -inf for the start, and up to its time.
    """

    def __init__(
        self,
        z: Floats,
        time: Floats,
        event: NDArray[np.bool_],
        weight: Floats,
        ties: str,
        entry: Floats | None = None,
    ) -> None:
        self.z, self.time, self.event, self.weight = z, time, event, weight
        self.entry = np.full(len(time), -np.inf) if entry is None else entry
        self.total_weight = float(weight.sum())
        self._efron = ties == "efron"
        self._ends = np.append(np.flatnonzero(np.diff(time)) + 1, len(time))
        n_times = len(self._ends)
        late = np.flatnonzero(self.entry > -np.inf)
        self._waiting = late[np.argsort(-self.entry[late], kind="stable")]
        times = time[self._ends - 1]
        self._n_waiting = np.searchsorted(-self.entry[self._waiting], -times, side="right")
        # The first of the times, from the latest on, that lie before the entry or are equal to it.
        self._before = np.searchsorted(-times, -self.entry[self._waiting], side="left")
        self._hazard, self._own = np.empty(n_times), np.empty(n_times)
        self._curve = np.empty((n_times, 3))

    def with_features(self, z: Floats) -> "PartialLikelihood":
        """Return the likelihood of the same rows with other features."""
        ties = "efron" if self._efron else "breslow"
        return PartialLikelihood(z, self.time, self.event, self.weight, ties, self.entry)

    def value(self, coefficients: Floats) -> float:
        """Return the log-likelihood, minus infinity where hazards differ beyond all measure."""
        eta = self._relative(coefficients)
        if not eta.min() > -_WIDEST:
            return -math.inf
        denominators = self._sums(self.weight * np.exp(eta))
        return float(np.where(self.event, self.weight, 0.0) @ eta) - denominators

    def is_at_its_limit(self, coefficients: Floats) -> bool:
        """Whether hazard ratios are about as far apart as :meth:`value` allows."""
        return bool(self._relative(coefficients).min() < -0.9 * _WIDEST)

    def derivatives(self, coefficients: Floats) -> tuple[Floats, Floats]:
        """Return gradient and Hessian of the log-likelihood."""
        risk = self.weight * np.exp(self._relative(coefficients))
        self._sums(risk)
        expected = np.empty_like(risk)
        expected_events(risk, self.event, self._ends, self._hazard, self._own, expected)
        if self._waiting.size:
            cumulative = np.append(np.cumsum(self._hazard[::-1])[::-1], 0.0)
            missed = risk[self._waiting] * cumulative[self._before]
            # A difference that rounding makes negative is 0.
            expected[self._waiting] = np.maximum(expected[self._waiting] - missed, 0.0)
        gradient = (np.where(self.event, self.weight, 0.0) - expected) @ self.z
        return gradient, self._second_term(risk) - self._first_term(expected)

    def cumulative_hazard(self, eta: Floats) -> tuple[Floats, Floats]:
        """Return the times of events, from early to late, and the baseline hazard up to each.

        ``eta`` are the logarithms of the hazard ratios. It is Breslow's estimate, or with Efron's
        ties the one that belongs to them. Before the largest risk set, where late entries may leave
        hardly anybody at risk, a step is that of a hundredth of it at most: one event among two
        rows would decide the curve of all.
        """
        risk = self.weight * np.exp(eta)
        self._sums(risk)
        if self._waiting.size:
            gone = np.append(0.0, np.cumsum(risk[self._waiting]))[self._n_waiting]
            at_risk = np.maximum(np.cumsum(risk)[self._ends - 1] - gone, 0.0)
            early = np.arange(len(at_risk)) > np.argmax(at_risk)
            share = np.minimum(1.0, at_risk / (_SMALLEST_RISK_SET * at_risk.max()))
            self._hazard *= np.where(early, share, 1.0)
        has_events = self._hazard > 0
        times = self.time[self._ends - 1][has_events]
        return times[::-1].copy(), np.cumsum(self._hazard[has_events][::-1])

    def _relative(self, coefficients: Floats) -> Floats:
        """Return logarithms of hazard ratios, 0 for the largest."""
        eta = self.z @ coefficients
        eta -= eta.max()
        return np.asarray(eta)

    def _sums(self, risk: Floats) -> float:
        return float(
            tie_sums(
                risk,
                self.weight,
                self.event,
                self._ends,
                self._waiting,
                self._n_waiting,
                self._efron,
                self._hazard,
                self._own,
                self._curve,
            )
        )

    def _first_term(self, expected: Floats) -> Floats:
        p = self.z.shape[1]
        product, root = np.zeros((p, p)), np.sqrt(expected)
        for start in range(0, len(root), _BLOCK):
            rows = slice(start, start + _BLOCK)
            block = self.z[rows] * root[rows, None]
            product += block.T @ block
        return product

    def _second_term(self, risk: Floats) -> Floats:
        p = self.z.shape[1]
        product, sums, block = np.zeros((p, p)), np.zeros((2, p)), np.empty((_BLOCK, p))
        group = 0
        while group < len(self._ends):
            n_filled, group = mean_rows(
                self.z,
                risk,
                self.event,
                self._ends,
                self._waiting,
                self._n_waiting,
                self._curve,
                group,
                sums,
                block,
            )
            product += block[:n_filled].T @ block[:n_filled]
        return product


class RidgeFit(NamedTuple):
    """Coefficients, and what is to be said about them."""

    coefficients: Floats
    n_steps: int
    converged: bool
    # Directions that the data say nothing about; 0 with a penalty.
    n_unknown: int = 0
    # Whether the likelihood grows without end, so that the coefficients are where it had become
    # flat; never with a penalty.
    separated: bool = False


@dataclass(frozen=True, eq=False)
class _Penalised:
    """Negative log-likelihood per row and half the squared norm, in a basis of directions."""

    likelihood: PartialLikelihood
    penalty: float
    basis: Floats | None = None

    def value(self, place: Floats) -> float:
        gained = self.likelihood.value(self._coefficients(place)) / self.likelihood.total_weight
        return 0.5 * self.penalty * float(place @ place) - gained

    def derivatives(self, place: Floats) -> tuple[Floats, Floats]:
        gradient, hessian = self.likelihood.derivatives(self._coefficients(place))
        if self.basis is not None:
            gradient, hessian = gradient @ self.basis, self.basis.T @ hessian @ self.basis
        n = self.likelihood.total_weight
        ridge = self.penalty * np.eye(len(place))
        return self.penalty * place - gradient / n, ridge - hessian / n

    def _coefficients(self, place: Floats) -> Floats:
        return place if self.basis is None else self.basis @ place


def fit_ridge(likelihood: PartialLikelihood, penalty: float) -> RidgeFit:
    """Return the coefficients that minimise ``-loglik / n + penalty / 2 * |b|**2``.

    Without a penalty they are those of the smallest norm where features are collinear, which is
    the limit of small penalties.
    """
    n, p = likelihood.z.shape
    if p <= n:
        return _fit(likelihood, penalty)
    # The coefficients are combinations of rows: there are no more directions than these.
    products, axes = np.linalg.eigh(likelihood.z @ likelihood.z.T)
    kept = products > _NO_CURVATURE * products[-1]
    sizes = np.sqrt(products[kept])
    fit = _fit(likelihood.with_features(axes[:, kept] * sizes), penalty)
    coefficients = (axes[:, kept] @ (fit.coefficients / sizes)) @ likelihood.z
    n_unknown = p - int(kept.sum()) + fit.n_unknown if penalty == 0 else 0
    return RidgeFit(coefficients, fit.n_steps, fit.converged, n_unknown, fit.separated)


def _fit(likelihood: PartialLikelihood, penalty: float) -> RidgeFit:
    start = np.zeros(likelihood.z.shape[1])
    if penalty > 0:
        best = minimize(_Penalised(likelihood, penalty), start)
        return RidgeFit(best.place, best.n_steps, best.converged)
    _, hessian = _Penalised(likelihood, 0.0).derivatives(start)
    curvatures, directions = np.linalg.eigh(hessian)
    known = curvatures > _NO_CURVATURE * max(curvatures[-1], 1e-300)
    n_unknown = len(start) - int(known.sum())
    if not known.any():
        return RidgeFit(start, 0, True, n_unknown)
    basis = directions[:, known] if n_unknown else None
    function = _Penalised(likelihood, 0.0, basis)
    best = minimize(function, np.zeros(int(known.sum())))
    first, last = (function.derivatives(place)[1] for place in (0.0 * best.place, best.place))
    flattest = eigh(last, first, eigvals_only=True, subset_by_index=[0, 0])[0]
    coefficients = best.place if basis is None else basis @ best.place
    separated = bool(flattest < _SEPARATED) or likelihood.is_at_its_limit(coefficients)
    return RidgeFit(coefficients, best.n_steps, best.converged, n_unknown, separated)


class Minimum(NamedTuple):
    """Where a search ended; it converged if rounding errors at most can lower the value."""

    place: Floats
    n_steps: int
    converged: bool


class Smooth(Protocol):
    """A function to minimise, with its gradient and its Hessian."""

    def value(self, place: Floats) -> float: ...
    def derivatives(self, place: Floats) -> tuple[Floats, Floats]: ...


def minimize(function: Smooth, start: Floats) -> Minimum:
    """Return the minimum of a convex function, by steps that are shortened until they pay."""
    place, value = start, function.value(start)
    for n_steps in range(1, _MOST_STEPS + 1):
        gradient, hessian = function.derivatives(place)
        step = -_solve(hessian, gradient)
        decrease = -float(gradient @ step)
        for _ in range(_MOST_HALVINGS):
            trial = place + step
            found = function.value(trial)
            if found <= value + _ROUNDING * (1.0 + abs(value)):
                place, value = trial, found
                break
            step *= 0.5
        else:
            return Minimum(place, n_steps, decrease <= _SMALL_DECREASE)
        if decrease <= _SMALL_DECREASE:
            return Minimum(place, n_steps, True)
    return Minimum(place, _MOST_STEPS, False)


def _solve(hessian: Floats, gradient: Floats) -> Floats:
    """Return the solution of a system that may be singular up to rounding."""
    curvature = float(np.trace(hessian)) / len(hessian)
    damping = 0.0
    while True:
        damped = hessian + damping * np.eye(len(hessian))
        try:
            return np.asarray(cho_solve(cho_factor(damped), gradient))
        except LinAlgError:
            damping = max(10.0 * damping, _FIRST_DAMPING * abs(curvature), 1e-300)
