"""Levels that mean what they say: Kaplan-Meier of where events fall on their own curves."""

from dataclasses import dataclass

import numpy as np

from censquant._calibration._family import HIGHEST, BoundFamily
from censquant._typing import Floats
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import CURVE_QUANTILES
from censquant.survival import Target, kaplan_meier

LEVELS: Floats = np.array(CURVE_QUANTILES)
_STEP = 1e-9


@dataclass(frozen=True, eq=False)
class Recalibration:
    """Where on the curves of a model the stated shares of events are found.

    Every calibration row's time is an index on its own curve (its level, see `BoundFamily`),
    censored where the time is. The Kaplan-Meier curve of these indices tells by which index a share
    of the events has happened: the model's quantile there is the recalibrated one. It assumes that
    indices of events and of censorings are independent, as they are if the model is wrong in the
    same way for all individuals, or if censoring does not depend on the features.

    Parameters
    ----------
    index : ndarray of shape (k,)
        Increasing indices of observed events.
    level : ndarray of shape (k,)
        Share of events by each of them.
    """

    index: Floats
    level: Floats

    @classmethod
    def fit(cls, curve: QuantileCurve, target: Target, weight: Floats) -> "Recalibration":
        """Learn from rows that the model has not seen."""
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
        """Return the recalibrated curves, with the reach that is left of theirs."""
        values = BoundFamily(curve).at(self.index_at(LEVELS))
        result = QuantileCurve.from_predictions(values, LEVELS, curve.lower)
        reach = np.minimum(self.level_of(curve.reach), self.highest)
        return result.with_reach(np.where(curve.reach >= 1.0, self.highest, reach))
