"""The distribution of the censoring time of each row, as corrections for censoring need it."""

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np

from censquant._typing import Floats
from censquant.quantiles import QuantileCurve
from censquant.survival import KaplanMeier, Target
from censquant.survival._kaplan_meier import SMALLEST_CENSORING_CHANCE

# Groups that censoring times are put into, so that an integral over them costs the same for any
# number of rows; exact where there are no more distinct times than this.
_GROUPS = 256

# Levels of the censoring time between which the integral of a model's hazard is cut: even ones,
# and a finer tail, where the inverse probabilities grow.
_LEVELS: Floats = np.concatenate(
    (np.arange(0.02, 0.9, 0.02), 1.0 - np.geomspace(0.1, SMALLEST_CENSORING_CHANCE, 20))
)


class CensoringCurves(Protocol):
    """Survival of the censoring time of n rows, and the area that inverse weights grow by.

    The area at t is the integral of the censoring hazard over the censoring survival up to t. It is
    cut into pieces of given widths and centres, in common or for each row.
    """

    def before(self, time: Floats) -> Floats:
        """Chance of each row to be uncensored just before its time, never below the floor."""
        ...

    def after(self, time: Floats) -> Floats:
        """Chance of each row to be uncensored after its time, never below the floor."""
        ...

    def area(self, time: Floats, target: Target) -> Floats:
        """Area of each row at the earlier of its own time and the times ``(n, k)``."""
        ...

    def pieces(self) -> tuple[Floats, Floats]:
        """Centres and widths of the pieces of the area, shape (1, G) or (n, G)."""
        ...

    def followed_until(self, share: float) -> Floats:
        """Last time up to which at least a share of rows like each one is uncensored."""
        ...

    def take(self, rows: Any) -> Self:
        """Return some of the rows."""
        ...


@dataclass(frozen=True, eq=False)
class CommonCensoring:
    """One Kaplan-Meier curve of the censoring time for all rows.

    Right if censoring does not depend on the features.

    Parameters
    ----------
    curve : KaplanMeier
        As `censquant.survival.censoring_kaplan_meier` makes it.
    n_rows : int
    """

    curve: KaplanMeier
    n_rows: int

    def before(self, time: Floats) -> Floats:
        """Return the chance to be uncensored just before each time."""
        return np.maximum(self.curve(time, side="left"), SMALLEST_CENSORING_CHANCE)

    def after(self, time: Floats) -> Floats:
        """Return the chance to be uncensored after each time."""
        return np.maximum(self.curve(time), SMALLEST_CENSORING_CHANCE)

    def _steps(self) -> tuple[Floats, Floats, Floats]:
        """Return times of censorings, what each adds to the area, and the area before each."""
        censored = self.curve.n_events > 0
        rise = self.curve.n_events[censored] / self.curve.n_at_risk[censored]
        rise /= np.maximum(self.curve.survival[censored], SMALLEST_CENSORING_CHANCE)
        return self.curve.time[censored], rise, np.concatenate(([0.0], np.cumsum(rise)))

    def area(self, time: Floats, target: Target) -> Floats:
        """Return the area at the earlier of the rows' own times and the given ones."""
        times, _, area = self._steps()
        # An event leaves before the censorings of its own time.
        passed = [np.searchsorted(times, target.time, side=side) for side in ("left", "right")]
        own = np.where(target.event, *passed)
        result: Floats = area[np.minimum(own[:, None], np.searchsorted(times, time, side="right"))]
        return result

    def pieces(self) -> tuple[Floats, Floats]:
        """Return centres and widths of the pieces of the area."""
        times, rise, area = self._steps()
        if times.size == 0:
            return np.zeros((1, 1)), np.zeros((1, 1))
        ends = np.unique(np.linspace(0, times.size, _GROUPS + 1).astype(np.intp))
        widths = np.diff(area[ends])
        centres = np.add.reduceat(rise * times, ends[:-1]) / widths
        return centres[None, :], widths[None, :]

    def followed_until(self, share: float) -> Floats:
        """Return the last time at which at least a share is uncensored; infinite if all are."""
        short = np.flatnonzero(self.curve.survival < share)
        end = self.curve.time[short[0]] if short.size else np.inf
        return np.full(self.n_rows, end)

    def take(self, rows: Any) -> "CommonCensoring":
        """Return some of the rows."""
        return replace(self, n_rows=len(np.arange(self.n_rows)[rows]))


@dataclass(frozen=True, eq=False)
class ModelledCensoring:
    """Censoring times whose distribution depends on the features.

    Parameters
    ----------
    curve : QuantileCurve
        Predicted distributions of the censoring times, of models that have not seen the rows.
    factor : float, default 1.0
        What the censoring hazards are multiplied by.
    """

    curve: QuantileCurve
    factor: float = 1.0

    def _chance(self, time: Floats) -> Floats:
        share = np.asarray((1.0 - self.curve.cdf(time)) ** self.factor)
        return np.maximum(share, SMALLEST_CENSORING_CHANCE)

    def before(self, time: Floats) -> Floats:
        """Return the chance to be uncensored just before each time."""
        return self._chance(time)

    def after(self, time: Floats) -> Floats:
        """Return the chance to be uncensored after each time."""
        return self._chance(time)

    def area(self, time: Floats, target: Target) -> Floats:
        """Return the area at the earlier of the rows' own times and the given ones."""
        return 1.0 / self._chance(np.minimum(time, target.time[:, None])) - 1.0

    def pieces(self) -> tuple[Floats, Floats]:
        """Return centres and widths of the pieces of the area."""
        start = self.curve.at([1e-6])
        ends = np.concatenate((start, self.curve.at(_LEVELS)), axis=1)
        area = 1.0 / self._chance(ends)
        return (ends[:, 1:] + ends[:, :-1]) / 2.0, np.diff(area, axis=1)

    def followed_until(self, share: float) -> Floats:
        """Return the last time at which at least a share of rows like each one is uncensored."""
        return self.curve.at([1.0 - share])[:, 0]

    def take(self, rows: Any) -> "ModelledCensoring":
        """Return some of the rows."""
        return replace(self, curve=self.curve.take(rows, reach=False))

    def hastened(self, factor: float) -> "ModelledCensoring":
        """Return the same with all censoring hazards multiplied by a factor."""
        return replace(self, factor=self.factor * factor)
