"""The times at which a row may have had its event, and the chance that a distribution gives them.

The log score of a row is minus the logarithm of that chance. Where a model has no density, an event
stands for its cell between quantiles of the event times.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.survival._target import GeneralTarget, Target

N_CELLS = 40
SMALLEST_CELL_CHANCE = 1e-4
"""Chance of a row that a log score counts at least, so that no row costs more than 9.21."""

# How often the last cell is halved: in the tail most of a cell's rows have the event or are
# censored in it, and without halving a rate of events that is 1 to 2 % too low scores best.
_HALVINGS = 5
_SMALLEST_ENTRY_CHANCE = 1e-6
# A share that is met exactly counts, whichever way its sum was rounded.
_SAME_SHARE = 1e-12


def cells_of_events(target: Target, weight: Floats | None = None, n_cells: int = N_CELLS) -> Floats:
    """Return the ends between cells: the times by which 1/n, 2/n, ... of the events happened.

    The last of the n cells is halved a few times. Ends are times of events, so that a weight of k
    counts as k equal rows and the cells do not depend on the unit of time. A cell is open on the
    left; the first begins and the last ends at infinity. There are fewer where events are few or
    tied.
    """
    target = target.middle if isinstance(target, GeneralTarget) else target
    kept = target.event if weight is None else target.event & (weight > 0)
    order = np.argsort(target.time[kept])
    time = target.time[kept][order]
    if not time.size:
        return time
    counts = np.cumsum(np.ones(time.size) if weight is None else weight[kept][order])
    tail = 0.5 ** np.arange(1, _HALVINGS + 1) / n_cells
    shares = np.concatenate((np.arange(1, n_cells) / n_cells, 1.0 - tail)) * (1.0 - _SAME_SHARE)
    return np.unique(time[np.searchsorted(counts, shares * counts[-1])])


@dataclass(frozen=True, eq=False)
class ObservedSets:
    """What is known of the event of each row: it lies in (lower, upper], given that after entry.

    Infinite where there is no such end; no entry at all is None.
    """

    lower: Floats
    upper: Floats
    entry: Floats | None = None

    @classmethod
    def of(cls, target: Target, ends: Floats) -> "ObservedSets":
        """Return the cell of each event, cut at its entry, and the time after each censoring.

        An event that lies between two times has no cell, but these.
        """
        edges = np.concatenate(([-np.inf], ends, [np.inf]))
        cell: NDArray[np.intp] = np.searchsorted(ends, target.time)
        if not isinstance(target, GeneralTarget):
            lower = np.where(target.event, edges[cell], target.time)
            return cls(lower, np.where(target.event, edges[cell + 1], np.inf))
        lower = np.maximum(np.where(target.exact, edges[cell], target.lower), target.entry)
        return cls(lower, np.where(target.exact, edges[cell + 1], target.upper), target.entry)

    def __len__(self) -> int:
        return len(self.lower)

    def take(self, rows: NDArray[np.intp] | slice) -> "ObservedSets":
        """Return some of the rows."""
        entry = None if self.entry is None else self.entry[rows]
        return ObservedSets(self.lower[rows], self.upper[rows], entry)

    def chances(self, cdf: Callable[[Floats], Floats]) -> Floats:
        """Return P(lower < T <= upper) / S(entry) of each row.

        ``cdf`` takes times of shape (n, k), of each row its own, and returns levels of that shape.
        """
        columns = (self.lower, self.upper, *(() if self.entry is None else (self.entry,)))
        times = np.column_stack(columns)
        levels = cdf(np.where(np.isfinite(times), times, 0.0))
        levels = np.where(np.isfinite(times), levels, times > 0)
        return chances_in(*levels.T)


def chances_in(at_lower: Floats, at_upper: Floats, at_entry: Floats | None = None) -> Floats:
    """Return the chance of (lower, upper] given no event up to entry, of levels F at these times.

    Between 0 and 1; whoever takes the logarithm cuts it at `SMALLEST_CELL_CHANCE`.
    """
    inside = at_upper - at_lower
    if at_entry is not None:
        inside = inside / np.maximum(1.0 - at_entry, _SMALLEST_ENTRY_CHANCE)
    return np.clip(inside, 0.0, 1.0)
