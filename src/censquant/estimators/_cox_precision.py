"""What a Cox model says of its own coefficients: covariances, residuals, proportional hazards."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.estimators._summary import wald_test

# Information along a direction below this share of the largest is rounding.
_NOTHING_KNOWN = 1e-9
# A direction that is known moves a feature by all but rounding.
_LOST = 1e-6


@dataclass(frozen=True, eq=False)
class RiskSets:
    """Sums over those at risk at each event, of a model whose coefficients are known.

    Rows are at risk in (entry, time]. An event among d at the same time has, by Efron's rule, d
    parts: part j leaves out the share j / d of the tied events' own risk; by Breslow's rule there
    is one part for all.
    """

    z: Floats  # features of shape (n, p)
    time: Floats
    entry: Floats | None
    event: NDArray[np.bool_]
    weight: Floats
    eta: Floats  # logarithms of hazard ratios
    efron: bool

    @cached_property
    def times(self) -> Floats:
        """Distinct times of events, increasing."""
        return np.unique(self.time[self.event & (self.weight > 0)])

    @cached_property
    def _span(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The first time at which each row is at risk, and the first at which it is no more."""
        ends = np.searchsorted(self.times, self.time, side="right")
        if self.entry is None:
            return np.zeros(len(ends), dtype=np.intp), ends
        return np.searchsorted(self.times, self.entry, side="right"), ends

    @cached_property
    def _risk(self) -> Floats:
        return np.asarray(self.weight * np.exp(self.eta - self.eta.max()))

    def _at_risk(self, values: Floats) -> Floats:
        """Return sums at each time of values of rows, over those at risk."""
        first, ends = self._span
        size = len(self.times) + 1
        # Added up from the last time on, so that the smallest risk sets are exact.
        later = _sums(ends, values, size)[::-1].cumsum(axis=0)[::-1]
        found = later[1:]
        if self.entry is not None:
            found = found - _sums(first, values, size)[::-1].cumsum(axis=0)[::-1][1:]
        return found

    @cached_property
    def _own(self) -> NDArray[np.intp]:
        """Rows with an event."""
        return np.flatnonzero(self.event & (self.weight > 0))

    @cached_property
    def _place(self) -> NDArray[np.intp]:
        """The time of each of them."""
        return np.searchsorted(self.times, self.time[self._own])

    @cached_property
    def _parts(self) -> tuple[NDArray[np.intp], Floats, Floats, Floats]:
        """Of each part of the events: place of its time, share, weight, risk."""
        size, own = len(self.times), self._own
        count = np.bincount(self._place, minlength=size)
        n_parts = count if self.efron else np.ones(size, dtype=np.intp)
        place = np.repeat(np.arange(size), n_parts)
        number = np.arange(len(place)) - np.repeat(np.cumsum(n_parts) - n_parts, n_parts)
        share = number / n_parts[place]
        mass = np.bincount(self._place, self.weight[own], minlength=size) / n_parts
        risk, tied = self._risk, self._risk[own]
        total = self._at_risk(risk)[place] - share * _sums(self._place, tied, size)[place]
        return place, share, mass[place], total

    @cached_property
    def _means(self) -> Floats:
        """Mean features of those at risk, of each part of the events."""
        place, share, _, total = self._parts
        own = self._own
        moment = self._at_risk(self._risk[:, None] * self.z)
        of_tied = _sums(self._place, self._risk[own, None] * self.z[own], len(self.times))
        return np.asarray((moment[place] - share[:, None] * of_tied[place]) / total[:, None])

    def log_likelihood(self) -> float:
        """Return the logarithm of the partial likelihood."""
        _, _, mass, total = self._parts
        own = self._own
        return float(self.weight[own] @ (self.eta[own] - self.eta.max()) - mass @ np.log(total))

    def score(self, factor: Floats | None = None) -> Floats:
        """Return the derivative of the log-likelihood; ``factor`` is one number for each time."""
        place, _, mass, _ = self._parts
        mean = self._means
        own, weight = self._own, self.weight[self._own]
        if factor is not None:
            weight, mass = weight * factor[self._place], mass * factor[place]
        return np.asarray(weight @ self.z[own] - mass @ mean)

    def information(self, factor: Floats | None = None) -> Floats:
        """Return the variance of the features at the events, summed with a factor for each time."""
        place, share, mass, total = self._parts
        mean = self._means
        if factor is not None:
            mass = mass * factor[place]
        expected = self._risk * self._up_to_own_time(place, mass / total, share)
        return np.asarray((self.z * expected[:, None]).T @ self.z - (mean * mass[:, None]).T @ mean)

    def _up_to_own_time(self, place: NDArray[np.intp], values: Floats, share: Floats) -> Floats:
        """Return sums of values of parts while each row was at risk, less its own shares."""
        size = len(self.times)
        shape = (size + 1, *values.shape[1:])
        summed = np.zeros(shape)
        summed[1:] = np.cumsum(_sums(place, values, size), axis=0)
        first, ends = self._span
        # Who enters after the last event, or leaves before the first, was never at risk at one.
        found = np.asarray(summed[ends] - summed[np.minimum(first, ends)])
        lost = _sums(place, values * share.reshape(-1, *[1] * (values.ndim - 1)), size)
        found[self._own] -= lost[self._place]
        return found

    def residuals(self) -> Floats:
        """Return the score residuals of shape (n, p), weighted, whose sum is the score."""
        place, share, mass, total = self._parts
        mean = self._means
        hazard = mass / total
        waited = self._up_to_own_time(place, hazard, share)
        moved = self._up_to_own_time(place, hazard[:, None] * mean, share)
        found = -self._risk[:, None] * (self.z * waited[:, None] - moved)
        own, size = self._own, len(self.times)
        parts = np.bincount(place, minlength=size)
        centre = _sums(place, mean, size) / parts[:, None]
        found[own] += self.weight[own, None] * (self.z[own] - centre[self._place])
        return found


def _sums(place: NDArray[np.intp], values: Floats, size: int) -> Floats:
    """Return sums of values, or of rows of them, at each place."""
    if values.ndim == 1:
        return np.asarray(np.bincount(place, values, minlength=size), dtype=np.float64)
    columns = [np.bincount(place, column, minlength=size) for column in values.T]
    return np.column_stack(columns) if columns else np.zeros((size, 0))


def sandwich(residuals: Floats, inverse: Floats, groups: NDArray[np.intp] | None) -> Floats:
    """Return the robust covariance of estimates by their score residuals, summed within groups."""
    if groups is not None:
        residuals = _sums(groups, residuals, int(groups.max()) + 1)
    influence = residuals @ inverse
    return np.asarray(influence.T @ influence)


def inverse_information(information: Floats) -> Floats:
    """Return the inverse, NaN for features along whose directions nothing is known."""
    spread = np.sqrt(np.diagonal(information))
    known = spread > 0
    found = np.full_like(information, np.nan)
    if not known.any():
        return found
    scaled = information[np.ix_(known, known)] / np.outer(spread[known], spread[known])
    sizes, axes = np.linalg.eigh(scaled)
    kept = sizes > _NOTHING_KNOWN * sizes[-1]
    inverse = (axes[:, kept] / sizes[kept]) @ axes[:, kept].T
    lost = 1.0 - (axes[:, kept] ** 2).sum(axis=1) > _LOST
    inverse[lost], inverse[:, lost] = np.nan, np.nan
    found[np.ix_(known, known)] = inverse / np.outer(spread[known], spread[known])
    return found


def proportionality_tests(
    sets: RiskSets, scale: Floats, terms: list[list[int]]
) -> tuple[Floats, NDArray[np.int64]]:
    """Return score tests that coefficients do not change along a scale of time.

    ``scale`` is one number for each time of an event; each of ``terms`` are the features of one
    test. The tests are those of Therneau and Grambsch with the exact information, as of R's
    ``cox.zph`` since version 3.0 of ``survival``; the last one is of all features together.
    """
    place, _, mass, _ = sets._parts
    scale = scale - mass @ scale[place] / mass.sum()  # which changes nothing but rounding
    score = sets.score(scale)
    inverse = inverse_information(sets.information())
    known = np.isfinite(np.diagonal(inverse))
    cross = sets.information(scale)
    spread = sets.information(scale**2)
    fixed = np.where(known[:, None] & known, inverse, 0.0)
    spread = spread - cross @ fixed @ cross
    found = []
    for term in [*terms, list(range(len(score)))]:
        kept = [feature for feature in term if known[feature]]
        found.append(wald_test(score[kept], spread[np.ix_(kept, kept)]))
    return np.array([value for value, _ in found]), np.array([df for _, df in found])
