"""The distributions of individuals whose hazards are proportional."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant.estimators.hazards._baseline import Baseline

Floats = NDArray[np.float64]


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
        with np.errstate(over="ignore"):
            return np.asarray(-np.expm1(-self.risk[:, None] * self.baseline.cumulative(times)))

    def take(self, rows: Any) -> "ProportionalHazards":
        """Return the distributions of some of the individuals."""
        return replace(self, risk=self.risk[rows])
