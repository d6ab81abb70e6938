"""Proportional hazards in a graph."""

from dataclasses import dataclass

import numpy as np

from censquant._typing import Floats
from censquant.estimators.hazards._baseline import Baseline
from censquant.export import Value, interpolate


@dataclass(frozen=True, eq=False)
class HazardsGraph:
    """See ``ProportionalHazards``; ``risk`` has the shape (n, 1)."""

    risk: Value
    baseline: Baseline

    def quantile(self, levels: Floats) -> Value:
        """Return quantiles ``(n, k)`` at levels ``(k,)``."""
        known = self.baseline
        hazard: Value = -np.log1p(-levels) / self.risk
        tail = (hazard - float(known.hazard[-1])).maximum(0.0) / known.tail_rate
        return interpolate(hazard, known.hazard, known.time) + tail

    def cdf(self, times: Value) -> Value:
        """Return levels ``(n, T)`` of times ``(n, T)``."""
        known = self.baseline
        inside = interpolate(times, known.time, known.hazard)
        tail = (times - float(known.time[-1])).maximum(0.0) * known.tail_rate
        return 1.0 - (-self.risk * (inside + tail)).exp()
