"""The rows of a report: how many, how long they were followed, how many had the event."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from censquant.report._numbers import round_times
from censquant.report._settings import Settings
from censquant.report._study import Study
from censquant.survival import kaplan_meier

FEWEST = 10
"""Rows of a group; smaller ones would tell of individuals."""

_N_TIMES = 6


@dataclass(frozen=True)
class SurvivalRow:
    """One line of the Kaplan-Meier table.

    Parameters
    ----------
    time : float
    at_risk : int
        Individuals under observation just before the time.
    events : int
        Observed up to the time.
    survival, low, high : float
        Kaplan-Meier estimate and its 95 % limits.
    """

    time: float
    at_risk: int
    events: int
    survival: float
    low: float
    high: float


@dataclass(frozen=True)
class Cohort:
    """Counts and follow-up.

    Parameters
    ----------
    n_rows, n_events : int
    end : float
        Time up to which at least ten individuals were under observation, rounded down to two
        digits: the longest times themselves would tell of individuals.
    median_follow_up : float
        By Kaplan-Meier of the censoring times; infinite if it is not reached.
    median_survival : float
        By Kaplan-Meier; infinite if it is not reached.
    table : tuple of SurvivalRow
    """

    n_rows: int
    n_events: int
    end: float
    median_follow_up: float
    median_survival: float
    table: tuple[SurvivalRow, ...]


def private_end(time: NDArray[np.float64]) -> float:
    """Return the time up to which ten or more rows were observed, rounded down to two digits."""
    last = float(np.sort(time)[-min(FEWEST, len(time))])
    if not last > 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(last)) - 1)
    return float(f"{math.floor(last / step + 1e-9) * step:.12g}")


def cohort_of(study: Study, settings: Settings) -> Cohort:
    """Return what is known of the rows without a model."""
    time, event = study.y
    end = private_end(time)
    curve = kaplan_meier(time, event)
    # Follow-up is what censoring leaves: the roles of event and censoring are swapped.
    followed = kaplan_meier(time, ~event).quantile(0.5) if not event.all() else np.max(time)
    asked = sorted({*round_times(end, _N_TIMES), *(one for one in settings.horizons if one <= end)})
    survival, (low, high) = curve(asked), curve.limits(asked)
    table = tuple(
        SurvivalRow(
            at,
            int((time >= at).sum()),
            int((event & (time <= at)).sum()),
            float(survival[k]),
            float(low[k]),
            float(high[k]),
        )
        for k, at in enumerate(asked)
    )
    return Cohort(
        len(study),
        int(event.sum()),
        end,
        float(followed),
        float(curve.quantile(0.5)),
        table,
    )
