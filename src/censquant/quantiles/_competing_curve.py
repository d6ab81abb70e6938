"""Distributions of the time of the first of several kinds of events, and of its kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.quantiles._curve import QuantileCurve
from censquant.quantiles._distribution_curve import DistributionCurve

SMALLEST_SURVIVAL = 1e-12
"""Survival of a kind alone that counts at least, so that its hazard stays finite."""
_MOST_STEPS = 80
_SAME_TIME = 1e-13  # relative
_SAME_HAZARD = 1e-13


def cumulative_hazard_of(curve: QuantileCurve, times: Floats) -> Floats:
    """Return the cumulative hazard (n, T), finite, of curves at times (n, T) of each row."""
    return np.asarray(-np.log(np.maximum(1.0 - curve.cdf(times), SMALLEST_SURVIVAL)))


@dataclass(frozen=True)
class LateHazard:
    """By what a kind's hazard is multiplied up to its last event, and from then to the end.

    A model goes on after the last event that it saw, whereas rows were followed without another.
    """

    last: float
    end: float
    before: float = 1.0
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class FirstOfCauses:
    """Distributions of the first of independent times, whose hazards are those of the kinds."""

    causes: tuple[QuantileCurve, ...]
    late: tuple[LateHazard, ...]

    def hazards(self, times: Floats) -> Floats:
        """Return the cumulative hazard of each kind, (K, n, T), at times (n, T)."""
        found = []
        for curve, late, (start, end) in zip(self.causes, self.late, self._ends, strict=True):
            hazard = cumulative_hazard_of(curve, times)
            if late.share < 1.0:
                moved = (late.before - 1.0) * np.minimum(hazard, start)
                hazard += moved - (1.0 - late.share) * (np.clip(hazard, start, end) - start)
            found.append(hazard)
        return np.stack(found)

    @cached_property
    def _ends(self) -> list[tuple[Floats, Floats]]:
        """Hazards (n, 1) of each kind alone at its last event and at the end of follow-up."""
        n_rows = len(self.causes[0])
        ends = []
        for curve, late in zip(self.causes, self.late, strict=True):
            times = [late.last, late.end] if late.share < 1.0 else [0.0, 0.0]
            both = cumulative_hazard_of(curve, np.tile(times, (n_rows, 1)))
            ends.append((both[:, :1], both[:, 1:]))
        return ends

    def cdf(self, times: Floats) -> Floats:
        """Return levels ``(n, T)`` of times ``(n, T)``."""
        return np.asarray(-np.expm1(-self.hazards(times).sum(axis=0)))

    def quantile(self, levels: Floats) -> Floats:
        """Return quantiles ``(n, k)`` at levels of shape ``(k,)`` or ``(n, k)``."""
        n_rows, n_causes = len(self.causes[0]), len(self.causes)
        level = np.array(np.broadcast_to(levels, (n_rows, np.shape(levels)[-1])))
        level = np.minimum(level, np.nextafter(1.0, 0.0))
        wanted = -np.log1p(-level)
        # Somebody comes first: no kind alone is earlier, and were all equally late, each had a
        # share of the hazard.
        latest = []
        for curve, late, (start, end) in zip(self.causes, self.late, self._ends, strict=True):
            own = level
            if late.share < 1.0:
                own = -np.expm1(-wanted - (1.0 - late.share) * (end - start))
            latest.append(curve.at_each(np.minimum(own, np.nextafter(1.0, 0.0))))
        high = np.min(latest, axis=0)
        most = max(late.before for late in self.late)
        share = np.maximum(-np.expm1(-wanted / (n_causes * most)), np.finfo(float).tiny)
        low = np.min([curve.at_each(share) for curve in self.causes], axis=0)
        low = np.minimum(low, high)
        below = self.hazards(low).sum(axis=0) - wanted
        above = np.maximum(self.hazards(high).sum(axis=0) - wanted, 0.0)
        # Of a point mass the time itself is the quantile.
        high = np.where(below >= 0.0, low, high)
        for step in range(_MOST_STEPS):
            width = high - low
            if (width <= _SAME_TIME * np.abs(high)).all():
                break
            # The secant of the hazards, or the middle: hazards may jump.
            with np.errstate(divide="ignore", invalid="ignore"):
                way = np.clip(-below / (above - below), 0.02, 0.98)
            middle = low + width * (way if step % 3 else 0.5)
            middle = np.where(np.isfinite(middle), middle, low + 0.5 * width)
            gap = self.hazards(middle).sum(axis=0) - wanted
            is_low = gap < 0.0
            is_root = np.abs(gap) <= _SAME_HAZARD
            low, below = np.where(is_low | is_root, middle, low), np.where(is_low, gap, below)
            high, above = np.where(is_low & ~is_root, high, middle), np.where(is_low, above, gap)
        found: Floats = high
        return found

    def take(self, rows: Any) -> Self:
        """Return the distributions of some of the individuals."""
        return type(self)(tuple(curve.take(rows, reach=False) for curve in self.causes), self.late)


class CompetingCurve(DistributionCurve):
    """Curves of the time of any event, which know the share of each kind besides.

    Between neighbours of a grid of times the hazards of the kinds have a constant ratio, that of
    their increments. Incidences of the kinds and survival then sum to 1, whatever times are asked
    for, and what is predicted at a time does not depend on the other times.

    Parameters
    ----------
    distribution : FirstOfCauses
    taus : ndarray of shape (n_levels,)
        Levels at which :attr:`values` are listed.
    grid : ndarray of shape (n_times,)
        Increasing times from 0 on.
    ends : ndarray of shape (n_samples,), or a rule that returns it
        Time of each row up to which individuals like it were followed.
    """

    grid: Floats
    distribution: FirstOfCauses

    def __init__(
        self,
        distribution: FirstOfCauses,
        taus: Floats,
        grid: Floats,
        ends: Floats | Callable[[], Floats],
    ) -> None:
        given = ends if callable(ends) else (lambda: ends)
        vars(self).update(
            taus=taus, lower=0.0, distribution=distribution, grid=grid, _ends_of=given
        )

    @cached_property
    def ends(self) -> Floats:
        """Time of each row up to which individuals like it were followed."""
        ends: Floats = vars(self)["_ends_of"]()
        return ends

    @cached_property
    def values(self) -> Floats:
        """Quantiles at the levels of the curve, computed when they are needed."""
        return np.maximum(self.distribution.quantile(self.taus), self.lower)

    def __len__(self) -> int:
        return len(self.distribution.causes[0])

    def _rows(self, rows: Any) -> CompetingCurve:
        return CompetingCurve(self.distribution.take(rows), self.taus, self.grid, self.ends[rows])

    def __getstate__(self) -> dict[str, Any]:
        # As of the reach, values survive pickling and the rule need not.
        return {**super().__getstate__(), "ends": self.ends, "_ends_of": None}

    @cached_property
    def _cells(self) -> tuple[Floats, Floats, Floats]:
        """Survival (n, G + 1) and incidence (n, K, G + 1) at ends of cells, and shares (n, K, G).

        The first cell ends at the first time of the grid, and has what happens up to then.
        """
        n_rows = len(self)
        hazards = self.distribution.hazards(np.tile(self.grid, (n_rows, 1)))
        steps = np.maximum(np.diff(hazards, axis=2, prepend=0.0), 0.0)
        whole = steps.sum(axis=0)
        share = np.full_like(steps, 1.0 / len(steps))
        np.divide(steps, whole, out=share, where=whole > 0.0)
        survival = np.exp(
            -np.concatenate((np.zeros((n_rows, 1)), np.cumsum(whole, axis=1)), axis=1)
        )
        lost = survival[:, :-1] - survival[:, 1:]
        incidence = np.zeros((len(steps), n_rows, len(self.grid) + 1))
        np.cumsum(lost * share, axis=2, out=incidence[:, :, 1:])
        return survival, incidence.transpose(1, 0, 2), share.transpose(1, 0, 2)

    def _cell_of(self, times: Floats) -> NDArray[np.intp]:
        """Return the cell of each time; what comes after the grid has the shares of its end."""
        return np.minimum(np.searchsorted(self.grid, times), len(self.grid) - 1)

    def incidence(self, times: Floats) -> Floats:
        """Return the chance of an event of each kind by some times (T,) or (n, T): (n, K, T)."""
        at = np.broadcast_to(times, (len(self), np.shape(times)[-1]))
        survival, known, share = self._cells
        cell = self._cell_of(at)
        lost = np.take_along_axis(survival, cell, axis=1) - (1.0 - self._levels(at))
        place = np.broadcast_to(cell[:, None, :], (len(self), known.shape[1], cell.shape[1]))
        started = np.take_along_axis(known, place, axis=2)
        shares = np.take_along_axis(share, place, axis=2)
        return np.asarray(started + np.maximum(lost, 0.0)[:, None, :] * shares)

    def quantiles_of_kind(self, kind: int, levels: Floats) -> Floats:
        """Return when the incidence of a kind reaches levels (k,), inf where it never does."""
        survival, incidence, share = self._cells
        own, shares = incidence[:, kind], share[:, kind]
        n_rows, last = len(self), len(self.grid) - 1
        cell = np.stack([np.searchsorted(row[1:], levels) for row in own])
        # After the grid, the rest is shared as in its last cell.
        final = own[:, -1:] + survival[:, -1:] * shares[:, -1:]
        never = levels >= final
        after = cell > last
        start = np.where(after, last + 1, cell)
        rows = np.arange(n_rows)[:, None]
        missing = levels - own[rows, start]
        of_cell = shares[rows, np.minimum(start, last)]
        lost = np.divide(missing, of_cell, out=np.zeros_like(missing), where=of_cell > 0.0)
        level = 1.0 - np.maximum(survival[rows, start] - lost, 0.0)
        level = np.clip(level, np.finfo(float).tiny, np.nextafter(1.0, 0.0))
        times = self._quantiles(np.where(never, 0.5, level))
        # Rounding must not put a time outside of the cell in which the level is reached.
        ends = np.concatenate(([0.0], self.grid, [np.inf]))
        return np.where(never, np.inf, np.clip(times, ends[start], ends[start + 1]))

    def lost_time(self, horizon: float) -> Floats:
        """Return the expected time lost to each kind up to a horizon, and what is left: (n, K+1).

        The columns sum to the horizon.
        """
        ends = np.concatenate((self.grid[self.grid < horizon], [horizon]))
        widths, middles = np.diff(ends), (ends[1:] + ends[:-1]) / 2.0
        at_ends, at_middles = 1.0 - self._levels(ends), 1.0 - self._levels(middles)
        lived = (at_ends[:, :-1] + 4.0 * at_middles + at_ends[:, 1:]) / 6.0 * widths
        _, incidence, share = self._cells
        # A cell begins with the place of its left end; that of time 0 is the second one.
        places = np.minimum(np.arange(1, len(ends)), len(self.grid) - 1)
        starts = np.arange(1, len(ends))
        inside = (at_ends[:, :-1] * widths - lived)[:, None, :] * share[:, :, places]
        lost = (incidence[:, :, starts] * widths + inside).sum(axis=2)
        return np.concatenate((lost, lived.sum(axis=1)[:, None]), axis=1)

    def _restricted_mean(self, horizon: float) -> Floats:
        if horizon == np.inf or horizon <= 0.0:
            return super()._restricted_mean(horizon)
        return self.lost_time(horizon)[:, -1]
