"""Survival curves of a model at common times, and the distribution that is read from them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant.adapters._inversion import Shape, inverted, read_curves

# A curve that has not fallen at all by its last time leaves no hazard to continue with; this is
# the smallest probability of an event by then that is assumed.
_LEAST_INCIDENCE = 1e-3


@dataclass(frozen=True, eq=False)
class SurvivalCurves:
    """One distribution per row, known by P(T > t) at common times.

    Between the times the curve is a step or a line, see `quantiles_from_survival`. Durations start
    at 0, where a linear curve begins with 1. Past the last time the mean hazard up to there
    continues: an extrapolation that keeps the order of the rows, and that the reach marks.
    """

    times: Floats
    survival: Floats
    shape: Shape

    @classmethod
    def read(cls, times: ArrayLike, survival: ArrayLike, shape: Shape) -> "SurvivalCurves":
        """Curves of checked times and probabilities."""
        grid, curves = read_curves(times, survival)
        if shape == "linear" and grid[0] > 0:
            grid = np.concatenate(([0.0], grid))
            curves = np.concatenate((np.ones((len(curves), 1)), curves), axis=1)
        return cls(grid, curves, shape)

    @property
    def reach(self) -> Floats:
        """Level of each row that its curve comes down to by the last time."""
        return 1.0 - self.survival[:, -1]

    def quantiles(self, levels: Floats) -> Floats:
        """Quantiles at levels inside (0, 1), shape (n, k); beyond the reach extrapolated."""
        values, reached = inverted(self.times, self.survival, 1.0 - levels, self.shape)
        if reached.all():
            return values
        # The maximum matters to levels that are reached only: it keeps their logarithm finite.
        excess = np.log(np.maximum(self._last[:, None], 1.0 - levels) / (1.0 - levels))
        return np.where(reached, values, self.times[-1] + excess / self._rate[:, None])

    def at(self, times: Floats) -> Floats:
        """Survival probabilities at common times, shape (n, n_times)."""
        inside = np.minimum(times, self.times[-1])
        place = np.searchsorted(self.times, inside, side="right")
        known = np.concatenate((np.ones((len(self.survival), 1)), self.survival), axis=1)
        found = known[:, place]
        if self.shape == "linear":
            following = np.minimum(place, self.times.size - 1)
            start = np.maximum(place - 1, 0)
            gap = self.times[following] - self.times[start]
            share = np.divide(
                inside - self.times[start], gap, out=np.zeros_like(gap), where=gap > 0
            )
            end = self.survival[:, following]
            found = np.where(place > 0, found + np.clip(share, 0.0, 1.0) * (end - found), found)
        late = np.maximum(times - self.times[-1], 0.0)
        # Where nobody survives the last time the rate is infinite.
        with np.errstate(invalid="ignore"):
            tail = np.exp(-self._rate[:, None] * late)
        return np.where(late > 0, found * tail, found)

    def restricted_mean(self, horizon: float) -> Floats:
        """Mean time up to a finite horizon: the area under the curve."""
        start = min(0.0, float(self.times[0]))
        if horizon <= start:
            return np.full(len(self.survival), horizon)
        knots = np.minimum(np.concatenate(([start], self.times)), horizon)
        if self.shape == "step":
            heights = np.concatenate((np.ones((len(self.survival), 1)), self.survival), axis=1)
            area = heights[:, :-1] @ np.diff(knots)
        else:
            area = np.trapezoid(self.at(knots), knots, axis=1)
        late = max(horizon - float(self.times[-1]), 0.0)
        with np.errstate(invalid="ignore"):
            tail = -np.expm1(-self._rate * late) * self._last / self._rate
        return np.asarray(start + area + np.where(self._last > 0, tail, 0.0))

    @property
    def _last(self) -> Floats:
        """Survival probability of each row at the last time."""
        return self.survival[:, -1]

    @property
    def _rate(self) -> Floats:
        """Mean hazard of each row up to the last time; infinite where nobody survives it."""
        first, last = float(self.times[0]), float(self.times[-1])
        span = last if first >= 0 and last > 0 else last - first
        with np.errstate(divide="ignore"):
            hazard = -np.log(np.minimum(self._last, 1.0 - _LEAST_INCIDENCE))
        # A single time at or before 0 has no span to take a mean over: any unit does.
        return np.asarray(hazard / (span or 1.0))
