"""Expected times of censored rows, from a Kaplan-Meier curve that is continued to zero."""

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.exceptions import NoEventsError
from censquant.survival import Target, kaplan_meier


class MeanLife:
    """Area under the Kaplan-Meier curve of some rows, as a whole, from a time on, or changed.

    The curve is a step function up to the last time T. If it has not come down to zero by then, it
    continues along the straight line from (0, 1) through (T, S(T)): the mean needs some such
    assumption, and the larger S(T) the more of the mean is made of it.
    """

    def __init__(self, train: Target, weight: Floats | None) -> None:
        low, high = train.time.min(), train.time.max()
        if low < 0 or high <= 0:
            raise ValueError(
                "y_train must hold durations, none negative and one positive at least, where "
                f"their mean is needed, got times from {low:g} to {high:g}."
            )
        curve = kaplan_meier(train.time, train.event, weight)
        if not curve.n_events.any():
            n_rows = len(train) if weight is None else np.count_nonzero(weight)
            raise NoEventsError(
                f"y_train has no event: {n_rows} of {n_rows} rows are censored, so their mean is "
                "unknown."
            )
        self._n_rows = len(train) if weight is None else weight.sum()
        self._last = float(curve.time[-1])
        self._knots = np.concatenate(([0.0], curve.time))
        self._steps = np.concatenate(([1.0], curve.survival))
        self._area = _areas(self._knots, self._steps)
        # The curve as if one more row were at risk throughout.
        stay = 1.0 - curve.n_events / (curve.n_at_risk + 1.0)
        self._other_steps = np.concatenate(([1.0], np.cumprod(stay)))
        self._other_area = _areas(self._knots, self._other_steps)
        self._end = _end(self._last, self._steps[-1])

    def survival(self, times: Floats) -> Floats:
        """Share that is event-free after each time, along the line past the last one."""
        share = self._steps[self._place(times)]
        return np.where(times > self._last, np.maximum(1.0 - times / self._end, 0.0), share)

    def margin(self, times: Floats) -> Floats:
        r"""Mean of the event times that come after each time, :math:`c + \int_c S / S(c)`."""
        share = self.survival(times)
        inside = np.minimum(times, self._last)
        rest = self._area[-1] - np.interp(inside, self._knots, self._area)
        # The triangle under the line, from the last time or from a later one on.
        left = self._end - np.maximum(times, self._last)
        rest += np.where(times > self._last, share, self._steps[-1]) * np.maximum(left, 0.0) / 2
        further: Floats = np.divide(rest, share, out=np.zeros_like(rest), where=share > 0)
        return times + further

    def pseudo_observation(self, times: Floats) -> Floats:
        """Share of each censored time in the mean, once its row has joined the others.

        The row joins every risk set up to its time, so that the curve falls more slowly there;
        after it the curve falls by the old shares, from its new height. A time past the last one
        counts as that one: alone at risk, the row would hold the whole curve up, and as many times
        over as there are rows. Its share is its own time at least.
        """
        inside = np.minimum(times, self._last)
        place = self._place(inside)
        height = self._other_steps[place]
        ratio = np.divide(
            height, self._steps[place], out=np.ones_like(height), where=inside < self._last
        )
        area = np.interp(inside, self._knots, self._other_area)
        area += ratio * (self._area[-1] - np.interp(inside, self._knots, self._area))
        lowest = np.where(inside < self._last, ratio * self._steps[-1], height)
        area += lowest * (_end(self._last, lowest) - self._last) / 2
        whole = self._area[-1] + self._steps[-1] * (self._end - self._last) / 2
        added: Floats = (self._n_rows + 1.0) * area - self._n_rows * whole
        return np.where(times > self._last, np.maximum(added, times), added)

    def _place(self, times: Floats) -> NDArray[np.intp]:
        """Index of the step that holds at each time."""
        return np.searchsorted(self._knots[1:], times, side="right")


def _areas(knots: Floats, steps: Floats) -> Floats:
    """Area under a step function up to each of its knots."""
    return np.concatenate(([0.0], np.cumsum(steps[:-1] * np.diff(knots))))


def _end(last: Floats | float, share: Floats | float) -> Floats:
    """Time at which the line from (0, 1) through (last, share) reaches zero."""
    return np.asarray(last / (1.0 - np.asarray(share)))
