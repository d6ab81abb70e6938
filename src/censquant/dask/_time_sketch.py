"""The distribution of times and events of many rows in a few thousand numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.survival import Target

MOST_TIMES = 4_096
"""Times that a sketch keeps of events, and as many of censored rows."""


@dataclass(frozen=True, eq=False)
class TimeSketch:
    """Times that stand for those of all rows, with the weight that each of them carries.

    Up to 4,096 distinct times of events, and as many of censored rows, are kept as they are: times
    in whole days lose nothing. Of more, neighbours are replaced by their weighted mean in groups of
    equal weight, so that means are exact and levels are right within 1/4,096. The first and the
    last time always stay.

    Parameters
    ----------
    events, censored : tuple of ndarray
        Increasing times and their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.dask._time_sketch import TimeSketch
    >>> from censquant.survival import read_target
    >>> sketch = TimeSketch.of(read_target(([5.0, 2.0, 5.0], [1, 0, 1])), np.ones(3))
    >>> sketch.merge(sketch).target.time, sketch.merge(sketch).weight
    (array([2., 5.]), array([2., 4.]))
    """

    events: tuple[Floats, Floats]
    censored: tuple[Floats, Floats]

    @classmethod
    def of(cls, target: Target, weight: Floats) -> "TimeSketch":
        """Return the sketch of some rows."""
        event = target.event
        return cls(
            _compressed(target.time[event], weight[event]),
            _compressed(target.time[~event], weight[~event]),
        )

    def merge(self, *others: "TimeSketch") -> "TimeSketch":
        """Return the sketch of these rows and those of others."""
        parts = (self, *others)
        return TimeSketch(
            _compressed(*_joined([part.events for part in parts])),
            _compressed(*_joined([part.censored for part in parts])),
        )

    @property
    def target(self) -> Target:
        """The times, in increasing order."""
        time, order = self._in_order()
        return Target(time[order], (np.arange(len(time)) < len(self.events[0]))[order])

    @property
    def weight(self) -> Floats:
        """The weight of each time of :attr:`target`."""
        _, order = self._in_order()
        return np.concatenate((self.events[1], self.censored[1]))[order]

    def _in_order(self) -> tuple[Floats, NDArray[np.intp]]:
        time = np.concatenate((self.events[0], self.censored[0]))
        return time, np.argsort(time, kind="stable")


def _joined(columns: list[tuple[Floats, Floats]]) -> tuple[Any, Any]:
    times, weights = zip(*columns, strict=True)
    return np.concatenate(times), np.concatenate(weights)


def _compressed(time: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return distinct times in order with their weights, at most so many."""
    distinct, place = np.unique(time, return_inverse=True)
    total: Floats = np.bincount(place, weights=weight, minlength=len(distinct)).astype(np.float64)
    if len(distinct) <= MOST_TIMES:
        return distinct, total
    # The ends stay as they are; each other time goes to the group that its middle falls into.
    inner, own = distinct[1:-1], total[1:-1]
    middle = np.cumsum(own) - 0.5 * own
    group = np.minimum((middle / own.sum() * (MOST_TIMES - 2)).astype(np.intp), MOST_TIMES - 3)
    together = np.bincount(group, weights=own, minlength=MOST_TIMES - 2)
    sums = np.bincount(group, weights=own * inner, minlength=MOST_TIMES - 2)
    used = together > 0
    # A mean may leave its group by rounding.
    means = np.clip(sums[used] / together[used], distinct[0], distinct[-1])
    return (
        np.concatenate((distinct[:1], means, distinct[-1:])),
        np.concatenate((total[:1], together[used], total[-1:])),
    )
