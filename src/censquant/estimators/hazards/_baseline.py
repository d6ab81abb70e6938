"""Baseline hazards: the cumulative one of the curves, and one with steps that has a density."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats

_EVENTS_PER_PIECE = 15
_FEWEST_PIECES, _MOST_PIECES = 2, 20
_PRIOR_EVENTS = 0.5


@dataclass(frozen=True, eq=False)
class Baseline:
    """Cumulative hazard of the mean individual, linear between times of events.

    After the last event time the hazard is constant: there are no data. Where the first event
    falls on the start itself, the distribution has a point mass there.

    Parameters
    ----------
    time : ndarray of shape (k + 1,)
        The start, then the distinct times of events.
    hazard : ndarray of shape (k + 1,)
        Cumulative hazard at each, 0 at the start.
    tail_rate : float
        The hazard after the last event time.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.estimators.hazards._baseline import Baseline
    >>> baseline = Baseline(np.array([0.0, 2.0]), np.array([0.0, 1.0]), 0.25)
    >>> baseline.cumulative(np.array([-1.0, 1.0, 4.0]))
    array([0. , 0.5, 1.5])
    >>> baseline.time_at(np.array([0.5, 1.5]))
    array([1., 4.])
    """

    time: Floats
    hazard: Floats
    tail_rate: float

    def at(self, times: Floats) -> "Baseline":
        """Return the baseline that is linear between other times than those of events."""
        return Baseline(times, self.cumulative(times), self.tail_rate)

    def cumulative(self, time: Floats) -> Floats:
        """Return the cumulative hazard at times."""
        inside = np.interp(time, self.time, self.hazard, left=0.0)
        with np.errstate(over="ignore"):
            tail = self.tail_rate * np.maximum(time - self.time[-1], 0.0)
        return np.asarray(inside + tail)

    def time_at(self, hazard: Floats) -> Floats:
        """Return the times at which the cumulative hazard has values; its inverse."""
        inside = np.interp(hazard, self.hazard, self.time)
        with np.errstate(over="ignore"):
            tail = np.maximum(hazard - self.hazard[-1], 0.0) / self.tail_rate
        return np.asarray(inside + tail)


@dataclass(frozen=True, eq=False)
class PiecewiseHazard:
    """A hazard that is constant between a few times: events divided by the time at risk.

    Parameters
    ----------
    edge : ndarray of shape (m,)
        Where each piece begins; a piece contains its end, and the last one has none.
    rate : ndarray of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.estimators.hazards._baseline import PiecewiseHazard
    >>> hazard = PiecewiseHazard(np.array([0.0, 1.0]), np.array([2.0, 3.0]))
    >>> hazard.rate_at(np.array([1.0, 1.5])), hazard.cumulative(np.array([1.0, 1.5]))
    (array([2., 3.]), array([2. , 3.5]))
    """

    edge: Floats
    rate: Floats

    @classmethod
    def fit(
        cls, start: float, time: Floats, event: NDArray[np.bool_], weight: Floats, risk: Floats
    ) -> "PiecewiseHazard":
        """Estimate the rates between quantiles of event times, drawn a little to their mean.

        ``risk`` are the hazard ratios: an individual at twice the hazard is at risk as two are.
        """
        mass = weight[event]
        n_events = float(mass.sum())
        n_pieces = int(np.clip(n_events // _EVENTS_PER_PIECE, _FEWEST_PIECES, _MOST_PIECES))
        levels = np.arange(1, n_pieces) / n_pieces
        inner = np.unique(np.quantile(time[event], levels, method="inverted_cdf", weights=mass))
        edge = np.concatenate([[start], inner[(inner > start) & (inner < time.max())]])
        ends = np.append(edge[1:], np.inf)
        at_risk = weight * risk
        exposure = np.array(
            [
                at_risk @ np.clip(np.minimum(time, end) - begin, 0.0, None)
                for begin, end in zip(edge, ends, strict=True)
            ]
        )
        events = np.bincount(_piece(edge, time[event]), weights=mass, minlength=len(edge))
        # All times at the start leave no time at risk, and any unit of time will do.
        mean_exposure = (float(exposure.sum()) or 1.0) / n_events
        rate = (events + _PRIOR_EVENTS) / (exposure + _PRIOR_EVENTS * mean_exposure)
        return cls(edge, rate)

    def rate_at(self, time: Floats) -> Floats:
        """Return the hazard at times."""
        return self.rate[_piece(self.edge, time)]

    def cumulative(self, time: Floats) -> Floats:
        """Return the cumulative hazard at times."""
        before = np.concatenate([[0.0], np.cumsum(self.rate[:-1] * np.diff(self.edge))])
        piece = _piece(self.edge, time)
        return before[piece] + self.rate[piece] * np.maximum(time - self.edge[piece], 0.0)


def _piece(edge: Floats, time: Any) -> NDArray[np.intp]:
    """Return the piece that each time falls into."""
    return np.asarray(np.maximum(np.searchsorted(edge, time, side="left") - 1, 0))
