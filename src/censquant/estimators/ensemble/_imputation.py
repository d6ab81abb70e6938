"""Plain rows that stand for rows with intervals, for candidates that know no intervals."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from censquant._rows._fit_data import FitData
from censquant._typing import Floats
from censquant.estimators.ensemble._mixture import LEVELS, levels_at
from censquant.survival._target import GeneralTarget

_COPIES = 5  # exact rows that stand for an interval, with a fifth of its weight each
_PLACES = 33  # times of an interval at which its distribution is read
_NOTHING = 1e-6  # a smaller chance of an interval says nothing about where in it events lie


@dataclass(frozen=True, eq=False)
class StandIns:
    """Rows without intervals, and the places of the rows that they stand for."""

    rows: FitData
    source: NDArray[np.intp]

    @classmethod
    def of(cls, rows: FitData, values: Floats, lower: float) -> "StandIns":
        """Return rows with exact times at quantiles of each interval.

        ``values`` are quantiles of each row at ``LEVELS``, as models say that have not seen it. In
        intervals that they find impossible, or where they are NaN, times are spread evenly.
        """
        target = GeneralTarget.of(rows.target)
        inside = np.flatnonzero(target.interval)
        copies = np.where(target.interval, _COPIES, 1)
        source = np.repeat(np.arange(len(rows)), copies)
        times = target.time[source]
        begin = np.maximum(target.lower[inside], 0.0)
        times[target.interval[source]] = _spread(
            begin, target.time[inside], values[inside], lower
        ).ravel()
        exact = replace(target.take(source), time=times, lower=times)
        return cls(
            replace(
                rows.take(source),
                target=exact.plain or exact,
                weight=rows.weight[source] / copies[source],
            ),
            source,
        )


def _spread(begin: Floats, end: Floats, values: Floats, lower: float) -> Floats:
    """Return times in each interval at evenly spaced levels given the interval, ``(n, copies)``."""
    share = (np.arange(_COPIES) + 0.5) / _COPIES
    place = np.linspace(0.0, 1.0, _PLACES)
    width = end - begin
    times = begin[:, None] + width[:, None] * place
    levels = np.empty(times.shape)
    levels_at(np.ascontiguousarray(values), LEVELS, lower, times, levels)
    chance = levels[:, -1] - levels[:, 0]
    out = begin[:, None] + width[:, None] * share
    for row in np.flatnonzero(chance > _NOTHING):
        wanted = levels[row, 0] + chance[row] * share
        out[row] = np.interp(wanted, levels[row], times[row])
    # After the last time without an event, which a row's entry may be.
    return np.maximum(out, (begin + 1e-6 * width)[:, None])
