"""The distributions of individuals whose hazards are proportional."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from censquant._typing import Floats
from censquant.estimators.hazards._baseline import Baseline
from censquant.quantiles._distribution_curve import DistributionCurve, LimitedDistribution

# Times at which survival is integrated exactly; between them the hazard is taken to be constant.
_MOST_NODES = 1_000
_LEAST_DECAY = 1e-8


@dataclass(frozen=True, eq=False)
class ProportionalHazards:
    """Survival functions ``exp(-risk * H(t))`` of individuals with one baseline ``H``.

    Parameters
    ----------
    risk : ndarray of shape (n,)
        Hazard ratios.
    baseline : Baseline

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.estimators.hazards._baseline import Baseline
    >>> from censquant.estimators.hazards._distribution import ProportionalHazards
    >>> baseline = Baseline(np.array([0.0, 2.0]), np.array([0.0, 1.0]), 0.5)
    >>> two = ProportionalHazards(np.array([1.0, 2.0]), baseline)
    >>> two.quantile(two.cdf(np.array([1.0, 3.0])))
    array([[1., 3.], [1., 3.]])
    """

    risk: Floats
    baseline: Baseline

    def quantile(self, levels: Floats) -> Floats:
        """Return quantiles ``(n, k)`` at levels of shape ``(k,)`` or ``(n, k)``."""
        return self.baseline.time_at(-np.log1p(-levels) / self.risk[:, None])

    def cdf(self, times: Floats) -> Floats:
        """Return levels ``(n, T)`` of times of shape ``(T,)`` or ``(n, T)``."""
        if times.ndim == 2 and times.strides[0] == 0:  # common times that were broadcast
            times = times[:1]
        with np.errstate(over="ignore"):
            return np.asarray(-np.expm1(-self.risk[:, None] * self.baseline.cumulative(times)))

    def take(self, rows: Any) -> "ProportionalHazards":
        """Return the distributions of some of the individuals."""
        return replace(self, risk=self.risk[rows])

    def restricted_mean(self, horizon: float) -> Floats:
        """Return the means ``(n,)`` of the time up to a horizon, in the order of the risks."""
        known = self.baseline.time
        if horizon <= known[0]:
            return np.full(len(self.risk), horizon)
        kept = np.linspace(0, len(known) - 1, _MOST_NODES).round().astype(np.intp)
        times = known if len(known) <= _MOST_NODES else known[np.union1d(kept, 1)]
        end = min(horizon, known[-1])
        times = np.append(times[times < end], end)
        # A point mass at the start is behind the first of two equal times.
        hazard = self.baseline.cumulative(times)
        hazard[0] = 0.0
        survival = np.exp(-self.risk[:, None] * hazard)
        mean = times[0] + _means(survival, self.risk[:, None] * np.diff(hazard)) @ np.diff(times)
        if horizon <= known[-1]:
            return np.asarray(mean)
        rate = self.risk * self.baseline.tail_rate
        with np.errstate(over="ignore"):
            return np.asarray(mean - survival[:, -1] * np.expm1(-rate * (horizon - end)) / rate)


def _means(survival: Floats, decay: Floats) -> Floats:
    """Return the mean survival between neighbouring times, given its decay on the log scale."""
    # The difference of two numbers that are nearly equal would be rounding.
    before, clear = survival[:, :-1], decay > _LEAST_DECAY
    return np.where(clear, (before - survival[:, 1:]) / np.where(clear, decay, 1.0), before)


class HazardCurve(DistributionCurve):
    """Curves of proportional hazards, whose restricted means are areas under the curve.

    A rule over levels has errors that differ between individuals, so that two whose risks are
    close could change places.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.estimators.hazards._baseline import Baseline
    >>> from censquant.estimators.hazards._distribution import HazardCurve, ProportionalHazards
    >>> baseline = Baseline(np.array([0.0, 2.0]), np.array([0.0, 2.0]), 1.0)
    >>> curve = HazardCurve(ProportionalHazards(np.ones(1), baseline), np.array([0.5]), 0.0)
    >>> bool(np.isclose(curve.restricted_mean(1.0)[0], 1.0 - np.exp(-1.0)))
    True
    """

    distribution: ProportionalHazards | LimitedDistribution[ProportionalHazards]

    def _rows(self, rows: Any) -> "HazardCurve":
        return type(self)(self.distribution.take(rows), self.taus, self.lower)

    def _restricted_mean(self, horizon: float) -> Floats:
        law = self.distribution
        if not isinstance(law, LimitedDistribution):
            return law.restricted_mean(horizon)
        own, tail = law.own, law.tail
        mean = own.restricted_mean(min(horizon, tail.end))
        if horizon <= tail.end:
            return np.asarray(mean)
        # The baseline ends before the last observed time: its hazard is constant from there on.
        alive = 1.0 - own.cdf(np.array([tail.end]))[:, 0]
        return np.asarray(mean + alive * tail.area(own.risk * own.baseline.tail_rate, horizon))
