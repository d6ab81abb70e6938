"""Calibration: shares of events by predicted quantiles, and what that says of the levels."""

from dataclasses import dataclass

import numpy as np

from censquant._typing import Floats
from censquant.metrics import pit_band, pit_curve
from censquant.report._study import LEVELS, Study

SHOWN: Floats = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
"""Levels that are shown one by one."""

_FINE: Floats = np.round(np.arange(1, 199) * 0.005, 3)


@dataclass(frozen=True)
class LevelRow:
    """One predicted level beside what happened.

    Parameters
    ----------
    level : float
        Predicted share of events by the quantile.
    observed, low, high : float
        Share by Kaplan-Meier of the levels of all times, and its 95 % limits; NaN where
        follow-up does not reach.
    identified : float
        Share of individuals whose quantile of this level the data can speak for.
    """

    level: float
    observed: float
    low: float
    high: float
    identified: float


def level_rows(study: Study) -> tuple[LevelRow, ...]:
    """Return the shown levels with their observed and identified shares."""
    values = study.curve.at(LEVELS)
    _, observed = pit_curve(study.y, values, LEVELS, levels=SHOWN)
    low, high = pit_band(study.y, values, LEVELS, levels=SHOWN)
    identified = study.curve.is_identified(SHOWN).mean(axis=0)
    columns = (SHOWN, observed, low, high, identified)
    return tuple(LevelRow(*map(float, row)) for row in zip(*columns, strict=True))


def level_limits(study: Study, level: float) -> tuple[float, float]:
    """Return the nominal levels between which the true quantile of a level may lie.

    A level is kept if the 95 % limits of the share of events by its quantile hold the level that
    is asked for. This takes the model to be wrong in the same way for all individuals. 0 and 1
    stand for no limit.
    """
    values = study.curve.at(LEVELS)
    low, high = pit_band(study.y, values, LEVELS, levels=_FINE)
    kept = (low <= level) & (level <= high)
    if not kept.any():  # the observed share jumps across the level between two of the grid
        place = int(np.nansum(low < level).clip(1, len(_FINE) - 1))
        return float(_FINE[place - 1]), float(_FINE[place])
    first, last = np.flatnonzero(kept)[[0, -1]]
    # The end of what is known, or of the grid, is no limit.
    ends = last + 1 == len(_FINE) or np.isnan(low[last + 1])
    return 0.0 if first == 0 else float(_FINE[first]), 1.0 if ends else float(_FINE[last])
