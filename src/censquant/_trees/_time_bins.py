"""Times as small whole numbers: the event times at which a forest's curves may step."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats

MOST_BINS = 512


@dataclass(frozen=True, eq=False)
class TimeBins:
    """Event times, at most 512, at which curves step, and the codes of rows relative to them.

    Up to 512 distinct event times are all kept. More of them are cut into bins of equal weight, and
    every event of a bin counts at its middle event time; censoring times stay as they are.

    A code is twice a *slot*, plus 1 for an event. An event at the k-th time has slot k + 1, and a
    censored row the number of times up to its own: it is at risk of the events in all slots up to
    its own, whichever of the two it is.

    Parameters
    ----------
    times : ndarray of shape (n_bins,), increasing
    """

    times: Floats

    @classmethod
    def fit(
        cls, time: Floats, event: NDArray[np.bool_], weight: Floats
    ) -> tuple[Self, NDArray[np.uint16]]:
        """Return the bins of the rows and the code of each row."""
        distinct, place = np.unique(time[event], return_inverse=True)
        bin_of = np.arange(len(distinct))
        if len(distinct) > MOST_BINS:
            share = np.bincount(place, weight[event])
            middle = (np.cumsum(share) - share / 2.0) / share.sum()
            _, bin_of = np.unique((middle * MOST_BINS).astype(np.intp), return_inverse=True)
        first = np.flatnonzero(np.diff(bin_of, prepend=-1))
        last = np.append(first[1:], len(distinct)) - 1
        bins = cls(distinct[(first + last) // 2])
        slots = np.searchsorted(bins.times, time, side="right")
        slots[event] = bin_of[place] + 1
        return bins, (2 * slots + event).astype(np.uint16)
