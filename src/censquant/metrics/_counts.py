"""The protocol of metrics that score counts of rows, and censoring curves of many draws at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.metrics._reading import PRODUCT_ROUNDING, read_training
from censquant.survival import Target, censoring_kaplan_meier

_Metric = TypeVar("_Metric", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Counted:
    """A metric that has checked its arguments, for all rows, and scores counts of them.

    ``scores`` takes how often each row was drawn, numbers of shape ``(n_rows, n_draws)``, and
    returns one score for each draw, NaN where the metric has none. Where groups are drawn, each row
    counts as often as its group, so that nothing here depends on how rows are drawn.
    """

    n_rows: int
    scores: Callable[[Floats], Floats]
    no_value: str = ""  # error where all rows, each counted once, have no score

    def score(self) -> float:
        """Return the score of all rows, each counted once."""
        value = float(self.scores(np.ones((self.n_rows, 1)))[0])
        if np.isnan(value) and self.no_value:
            raise ValueError(self.no_value)
        return value


_READERS: dict[Callable[..., Any], Callable[..., Counted]] = {}


def counted_by(read: Callable[..., Counted]) -> Callable[[_Metric], _Metric]:
    """Return a decorator of a metric that ``read``, of the same arguments, makes a `Counted` of."""

    def register(metric: _Metric) -> _Metric:
        _READERS[metric] = read
        return metric

    return register


def counting(metric: Callable[..., Any]) -> Callable[..., Counted] | None:
    """Return what makes a `Counted` of the metric's arguments; None where it knows no counts."""
    return _READERS.get(metric)


def mean_of_rows(losses: Floats, weight: Floats, share: Floats | None = None) -> Counted:
    """Return a weighted mean of losses that do not depend on the draw, of ``share`` of each row."""
    counted = weight if share is None else weight * share
    together = np.stack((counted * losses, counted))

    def scores(counts: Floats) -> Floats:
        return ratio(*(together @ counts))

    return Counted(len(losses), scores)


def ratio(sums: Floats, totals: Floats) -> Floats:
    """Divide sums of draws by their totals; NaN where nothing of positive weight was drawn."""
    found = np.full(len(sums), np.nan)
    np.divide(sums, totals, out=found, where=totals > 0)
    return found


@dataclass(frozen=True, eq=False)
class CensoringCurves:
    """Kaplan-Meier curves of the censoring time, one column for each draw or one for all.

    ``survival`` holds after each time, and ``is_there`` where a curve rests on a row of that time,
    both of shape ``(n_times, n_curves)``; ``has_censored`` of shape ``(n_curves,)`` whether it
    rests on a censored row.
    """

    time: Floats
    survival: Floats
    is_there: NDArray[np.bool_]
    has_censored: NDArray[np.bool_]

    @property
    def steps(self) -> Floats:
        """The chance before the first time and after each."""
        return np.concatenate((np.ones((1, self.survival.shape[1])), self.survival))

    @property
    def areas(self) -> Floats:
        """Area under the curves from the first time up to it, as a step before, and to each."""
        pieces = self.survival[:-1] * np.diff(self.time)[:, None]
        first = np.zeros((2, self.survival.shape[1]))
        return np.concatenate((first, np.cumsum(pieces, axis=0)))

    def at(self, times: Floats, side: Literal["right", "left"] = "right") -> Floats:
        """Return the chance to escape censoring up to some times, shape ``(k, n_curves)``."""
        return self.steps[np.searchsorted(self.time, times, side=side)]

    def known_at(self, times: Floats) -> Floats:
        """Return the same, and 0 past the last row, where the training rows cannot tell it."""
        last = np.where(self.has_censored, self._last_where(self.is_there), np.inf)
        return np.where(times[:, None] <= last, self.at(times), 0.0)

    def followed_until(self, share: float) -> Floats:
        """Return the last times until which at least a share of the rows escape censoring.

        A share that is met exactly counts; without a censored row the time is infinite.
        """
        reached = self.is_there & (self.steps[:-1] >= share - PRODUCT_ROUNDING)
        return np.where(self.has_censored, self._last_where(reached), np.inf)

    def take(self, curves: Any) -> "CensoringCurves":
        """Return some of the curves."""
        return CensoringCurves(
            self.time,
            self.survival[:, curves],
            self.is_there[:, curves],
            self.has_censored[curves],
        )

    def _last_where(self, chosen: NDArray[np.bool_]) -> Floats:
        """Return for each curve the last of the times that are chosen."""
        last: Floats = self.time[len(chosen) - 1 - np.argmax(chosen[::-1], axis=0)]
        return last


class Censoring:
    """The censoring of training rows, or of each draw of the rows to score if there are none.

    Called with the weights of the rows, shape ``(n_rows, n_draws)``.
    """

    def __init__(self, y_train: object, target: Target) -> None:
        self.is_redrawn = y_train is None
        if self.is_redrawn:
            self._time, place = np.unique(target.time, return_inverse=True)
            self._order = np.argsort(place, kind="stable")
            self._starts = np.searchsorted(place[self._order], np.arange(self._time.size))
            self._is_censored = ~target.event[self._order]
            return
        train = read_training(y_train)
        curve = censoring_kaplan_meier(train.time, train.event)
        survival, n_censored = curve.survival[:, None], curve.n_events[:, None]
        self._curves = CensoringCurves(
            curve.time, survival, np.ones(survival.shape, np.bool_), np.any(n_censored > 0, axis=0)
        )

    def __call__(self, weight: Floats) -> CensoringCurves:
        """Return the curves of some draws."""
        if not self.is_redrawn:
            return self._curves
        inside = weight[self._order]
        n_rows = np.add.reduceat(inside, self._starts, axis=0)
        inside[~self._is_censored] = 0.0
        n_censored = np.add.reduceat(inside, self._starts, axis=0)
        # Added up from the last time on, so that the risk sets of the tail, the smallest, are
        # exact; events leave before the censorings of the same time.
        at_risk = np.cumsum(n_rows[::-1], axis=0)[::-1]
        left = np.concatenate((at_risk[1:], np.zeros((1, weight.shape[1]))))
        at_risk = left + n_censored
        stay = np.divide(left, at_risk, out=np.ones_like(left), where=at_risk > 0)
        survival = np.cumprod(stay, axis=0)
        return CensoringCurves(self._time, survival, n_rows > 0, np.any(n_censored > 0, axis=0))
