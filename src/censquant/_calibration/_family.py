"""Bounds of each individual by a single index, and the levels that indices have in the data."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import CURVE_QUANTILES
from censquant.survival import Target, kaplan_meier

LEVELS: Floats = np.array(CURVE_QUANTILES)
LOWEST, HIGHEST = CURVE_QUANTILES[0], CURVE_QUANTILES[-1]

# Logarithms of the longest stretch of times past the outermost levels.
_LONGEST_STRETCH = 8.0
_MOST_STRETCHED = 100.0
_MEDIAN = 0.5
_STEP = 1e-9

TRIVIAL_LOW, TRIVIAL_HIGH = -np.inf, np.inf
"""Indices of the bounds that hold whatever happens: the smallest possible time, and infinity."""


def _grid() -> Floats:
    """Return indices at which miscoverage is estimated, finest about the usual confidences."""
    stretch = np.concatenate((np.arange(0.1, 3.0, 0.1), np.arange(3.0, _LONGEST_STRETCH + 0.1)))
    levels = np.concatenate(
        (
            np.geomspace(LOWEST, 0.04, 16),
            np.arange(0.05, 0.3, 0.01),
            np.arange(0.3, 0.7, 0.02),
            np.arange(0.7, 0.955, 0.01),
            (0.96, 0.97, 0.98, HIGHEST),
        )
    )
    return np.concatenate((LOWEST - stretch[::-1], levels, HIGHEST + stretch))


INDICES: Floats = _grid()
"""Increasing indices from far below the lowest level of a curve to far above the highest."""


@dataclass(frozen=True, eq=False)
class BoundFamily:
    """Bounds of n individuals by an index: a level of their curve, or a stretch past its ends.

    An index inside the levels of the curve is a level. An overfitted model has no level that is low
    enough: below its lowest level, each unit of the index divides times by e, and above its
    highest one it multiplies them. Where times may be negative, it is the distance from the median
    that grows instead.
    """

    curve: QuantileCurve
    elapsed: Floats | None = None  # time already survived, which bounds are conditional on

    def at(self, indices: ArrayLike | Sequence[float]) -> Floats:
        """Return the bounds at common indices, shape (n, k), increasing with the index."""
        return self._bounds(np.asarray(indices, dtype=np.float64)[None, :])

    def at_each(self, index: Floats) -> Floats:
        """Return the bound of each individual at an index of its own, shape (n,)."""
        return self._bounds(index[:, None])[:, 0]

    def _bounds(self, index: Floats) -> Floats:
        """Return the bounds at indices ``(n, k)``, or in common ``(1, k)``."""
        wanted = np.clip(index, LOWEST, HIGHEST)
        times = self._quantiles(wanted)
        stretched = (index < LOWEST) | (index > HIGHEST)
        if stretched.any():
            anchor = self._anchor()
            factor = self.stretch(index, is_anchored=anchor is not None)
            if anchor is None:
                anchor = self._quantiles(np.full((len(index), 1), _MEDIAN))
            times = np.where(stretched, anchor + (times - anchor) * factor, times)
        start = self.curve.lower if self.elapsed is None else self.elapsed[:, None]
        times = np.where(index == TRIVIAL_LOW, start, times)
        times = np.where(index == TRIVIAL_HIGH, np.inf, times)
        return np.maximum(times, start)

    @staticmethod
    def stretch(index: Floats, *, is_anchored: bool) -> Floats:
        """Return by how much indices stretch times, 1 for those that are levels."""
        below, above = np.minimum(index - LOWEST, 0.0), np.maximum(index - HIGHEST, 0.0)
        # Infinite indices have trivial bounds; until then they must not overflow.
        power = below + above if is_anchored else above - below
        factor: Floats = np.exp(np.clip(power, -_MOST_STRETCHED, _MOST_STRETCHED))
        return factor

    def _anchor(self) -> Floats | float | None:
        """Return the time from which others are stretched, if there is a first one."""
        if self.elapsed is not None:
            return self.elapsed[:, None]
        return self.curve.lower if np.isfinite(self.curve.lower) else None

    def _quantiles(self, levels: Floats) -> Floats:
        if self.elapsed is None:
            if len(levels) == 1 or (levels == levels[0]).all():
                return self.curve.at(levels[0])
            return self.curve.at_each(levels)
        passed = self.curve.cdf(self.elapsed)[:, None]
        return self.curve.at_each(np.minimum(levels + (1.0 - levels) * passed, 1.0 - 1e-9))

    def index_of(self, times: Floats) -> Floats:
        """Return the index at which the bound of each individual is its own time, shape (n,)."""
        level = self.curve.cdf(times)
        ends = self._quantiles(np.array([[LOWEST, _MEDIAN, HIGHEST]]))
        low, middle, high = ends.T
        anchor = self._anchor()
        base = middle if anchor is None else np.broadcast_to(np.ravel(anchor), middle.shape)
        tiny = np.finfo(np.float64).tiny
        with np.errstate(divide="ignore", invalid="ignore"):
            below = np.log(np.maximum(times - base, tiny)) - np.log(np.maximum(low - base, tiny))
            above = np.log(np.maximum(times - base, tiny)) - np.log(np.maximum(high - base, tiny))
            if anchor is None:
                below = np.log(np.maximum(base - low, tiny)) - np.log(
                    np.maximum(base - times, tiny)
                )
        if self.elapsed is not None:
            passed = self.curve.cdf(self.elapsed)
            level = (level - passed) / np.maximum(1.0 - passed, 1e-12)
        index = np.clip(level, LOWEST, HIGHEST)
        stretch = _LONGEST_STRETCH
        index = np.where(times < low, LOWEST + np.clip(below, -stretch, 0.0), index)
        result: Floats = np.where(times > high, HIGHEST + np.clip(above, 0.0, stretch), index)
        return result


@dataclass(frozen=True, eq=False)
class Recalibration:
    """Where on the curves of a model the stated shares of events are found.

    Every calibration row's time is an index on its own curve (its level, see `BoundFamily`),
    censored where the time is. The Kaplan-Meier curve of these indices tells by which index a share
    of the events has happened: the model's quantile there is the recalibrated one. It assumes that
    indices of events and of censorings are independent, as they are if the model is wrong in the
    same way for all individuals, or if censoring does not depend on the features.
    """

    index: Floats  # of observed events, increasing
    level: Floats  # share of events by each of them

    @classmethod
    def fit(cls, curve: QuantileCurve, target: Target, weight: Floats) -> "Recalibration":
        """Estimate it from rows that the model has not seen."""
        score = BoundFamily(curve).index_of(target.time)
        steps = kaplan_meier(score, target.event, weight)
        with_event = steps.n_events > 0
        level = 1.0 - steps.survival[with_event]
        # A step is centred: by the time of an event, half of it has happened.
        centred = (level + np.concatenate(([0.0], level[:-1]))) / 2.0
        return cls(steps.time[with_event], centred)

    @property
    def highest(self) -> float:
        """Highest level that the calibration rows reach; 0 without events."""
        return float(self.level[-1]) if len(self.level) else 0.0

    def index_at(self, levels: Floats) -> Floats:
        """Return the indices of levels; past the highest known one they go on to the end."""
        if not len(self.level):
            return levels
        end = max(HIGHEST, self.index[-1] + _STEP)
        known_levels = np.concatenate((self.level, [max(1.0, self.highest + _STEP)]))
        result: Floats = np.interp(levels, known_levels, np.append(self.index, end))
        # Below the first event nothing is known but that the level falls with the index.
        first = levels < self.level[0]
        scale = np.log(np.maximum(levels, 1e-12) / self.level[0])
        low = np.where(self.index[0] > 0, self.index[0] * np.exp(scale), self.index[0] + scale)
        return np.where(first, low, result)

    def level_of(self, index: Floats) -> Floats:
        """Return the levels that indices have after recalibration."""
        return np.interp(index, *self.level_steps)

    @property
    def level_steps(self) -> tuple[Floats, Floats]:
        """Indices and the levels that they have, between which others are interpolated."""
        if not len(self.level):
            return np.array([0.0, 1.0]), np.array([0.0, 1.0])
        end = max(HIGHEST, self.index[-1] + _STEP)
        known = np.concatenate(([min(0.0, self.index[0]) - _STEP], self.index, [end]))
        return known, np.concatenate(([0.0], self.level, [1.0]))

    def curve(self, curve: QuantileCurve) -> QuantileCurve:
        """Return the recalibrated curves, with their highest identified levels."""
        values = BoundFamily(curve).at(self.index_at(LEVELS))
        result = QuantileCurve.from_predictions(values, LEVELS, curve.lower)
        reach = np.minimum(self.level_of(curve.reach), self.highest)
        return result.with_reach(np.where(curve.reach >= 1.0, self.highest, reach))
