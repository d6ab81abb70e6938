"""Cox's partial likelihood with tied times and weights: value, gradient, Hessian, hazard."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._compile import exact
from censquant._typing import Floats

# Rows of a matrix product: large enough for BLAS, small enough for the processor's cache.
_BLOCK = 1024
# Ratios of hazards beyond exp of it are no model of anything, and their squares would underflow.
_WIDEST = 300.0


@exact
def tie_sums(
    risk: Any, weight: Any, event: Any, ends: Any, efron: bool, hazard: Any, own: Any, curve: Any
) -> float:
    """Fill in sums over the events at each time; return the sum of the logarithms.

    An event among ``d`` at the same time has the denominator ``R - share * E``: the risk of all
    who are still there less, by Efron's rule, the part ``share = 0, 1/d, ..., (d - 1)/d`` of those
    with the event at that time. Times come from the latest to the earliest.
    """
    total, value, start = 0.0, 0.0, 0
    for k in range(len(ends)):
        tied, mass, count = 0.0, 0.0, 0
        for i in range(start, ends[k]):
            total += risk[i]
            if event[i]:
                tied += risk[i]
                mass += weight[i]
                count += 1
        start = ends[k]
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
    z: Any, risk: Any, event: Any, ends: Any, curve: Any, group: int, sums: Any, out: Any
) -> tuple[int, int]:
    """Fill in rows whose outer products add up to the Hessian's second term.

    The sum over tied events of ``(S - share * E)(S - share * E)'`` over the squared denominator,
    ``S`` and ``E`` being sums of features over those at risk and over the tied events, is that of
    two rows: one along ``S - c E``, and one along ``E`` where there is more than one event.
    """
    n_filled, p = 0, z.shape[1]
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

    Parameters
    ----------
    z : ndarray of shape (n, p)
        Features; all rows from the latest time to the earliest.
    time, weight : ndarray of shape (n,)
    event : ndarray of bool, shape (n,)
    ties : {"efron", "breslow"}

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.estimators.hazards._partial_likelihood import PartialLikelihood
    >>> z, time = np.array([[1.0], [-1.0]]), np.array([2.0, 1.0])
    >>> likelihood = PartialLikelihood(z, time, np.ones(2, bool), np.ones(2), "efron")
    >>> bool(np.isclose(likelihood.value(np.zeros(1)), np.log(1 / 2)))
    True
    """

    def __init__(
        self, z: Floats, time: Floats, event: NDArray[np.bool_], weight: Floats, ties: str
    ) -> None:
        self.z, self.time, self.event, self.weight = z, time, event, weight
        self.total_weight = float(weight.sum())
        self._efron = ties == "efron"
        self._ends = np.append(np.flatnonzero(np.diff(time)) + 1, len(time))
        n_times = len(self._ends)
        self._hazard, self._own = np.empty(n_times), np.empty(n_times)
        self._curve = np.empty((n_times, 3))

    def with_features(self, z: Floats) -> "PartialLikelihood":
        """Return the likelihood of the same rows with other features."""
        ties = "efron" if self._efron else "breslow"
        return PartialLikelihood(z, self.time, self.event, self.weight, ties)

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
        gradient = (np.where(self.event, self.weight, 0.0) - expected) @ self.z
        return gradient, self._second_term(risk) - self._first_term(expected)

    def cumulative_hazard(self, eta: Floats) -> tuple[Floats, Floats]:
        """Return the times of events, from early to late, and the baseline hazard up to each.

        ``eta`` are the logarithms of the hazard ratios. It is Breslow's estimate, or with Efron's
        ties the one that belongs to them.
        """
        self._sums(self.weight * np.exp(eta))
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
                self.z, risk, self.event, self._ends, self._curve, group, sums, block
            )
            product += block[:n_filled].T @ block[:n_filled]
        return product
