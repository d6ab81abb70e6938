"""The distribution of the censoring time of each row, and events made whole for what it hid."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

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

_NO_CHANCE = 1e-12

Factors = tuple[float, ...]
"""By which hazards of censoring are multiplied."""

# Rows of a block, which bounds the memory.
_BLOCK_ROWS = 2_048


@dataclass(frozen=True, eq=False)
class CommonCensoring:
    """One Kaplan-Meier curve of the censoring time for all rows.

    Right if censoring does not depend on the features.
    """

    curve: KaplanMeier  # as `censquant.survival.censoring_kaplan_meier` makes it
    n_rows: int

    def before(self, time: Floats) -> Floats:
        """Return the chance to be uncensored just before each time, never below the floor."""
        return np.maximum(self.curve(time, side="left"), SMALLEST_CENSORING_CHANCE)

    def after(self, time: Floats) -> Floats:
        """Return the chance to be uncensored after each time, never below the floor."""
        return np.maximum(self.curve(time), SMALLEST_CENSORING_CHANCE)

    @cached_property
    def _steps(self) -> tuple[Floats, Floats, Floats]:
        """Times of censorings, what each adds to the area, and the area before each."""
        censored = self.curve.n_events > 0
        rise = self.curve.n_events[censored] / self.curve.n_at_risk[censored]
        rise /= np.maximum(self.curve.survival[censored], SMALLEST_CENSORING_CHANCE)
        return self.curve.time[censored], rise, np.concatenate(([0.0], np.cumsum(rise)))

    def exposures(self, target: Target, limits: Floats, factors: Factors) -> list["Exposure"]:
        """Return what rows are exposed to up to their limits, with the hazards as they are."""
        assert factors == (1.0,)
        times, _, area = self._steps
        # An event leaves before the censorings of its own time.
        passed = [np.searchsorted(times, target.time, side=side) for side in ("left", "right")]
        own = np.where(target.event, *passed)
        place = np.repeat(own[:, None], limits.shape[1], axis=1)
        # A limit at the row's own time or after it is met there.
        is_earlier = limits < target.time[:, None]
        place[is_earlier] = np.searchsorted(times, limits[is_earlier], side="right")
        np.minimum(place, own[:, None], out=place)
        return [Exposure(self.after(target.time), area[place], self._pieces[1])]

    def centres(self) -> Floats:
        """Return the centres of the pieces of the area."""
        return self._pieces[0]

    @cached_property
    def _pieces(self) -> tuple[Floats, Floats]:
        """Centres and widths of the pieces of the area."""
        times, rise, area = self._steps
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
        """Return some of the rows, which have the same curve and pieces."""
        taken = replace(self, n_rows=len(np.arange(self.n_rows)[rows]))
        vars(taken).update(_steps=self._steps, _pieces=self._pieces)
        return taken


@dataclass(frozen=True, eq=False)
class ModelledCensoring:
    """Censoring times whose distribution depends on the features."""

    curve: QuantileCurve  # predicted by models that have not seen the rows

    def before(self, time: Floats) -> Floats:
        """Return the chance to be uncensored at each time, never below the floor."""
        return np.maximum(1.0 - self.curve.cdf(time), SMALLEST_CENSORING_CHANCE)

    after = before  # the curve is continuous

    def exposures(self, target: Target, limits: Floats, factors: Factors) -> list["Exposure"]:
        """Return what rows are exposed to up to their limits, for each factor of the hazards."""
        until = np.minimum(limits, target.time[:, None])
        times = target.time[:, None], until, self._ends
        shares = [1.0 - self.curve.cdf(time) for time in times]

        def exposure(factor: float) -> Exposure:
            now, then, edges = (
                np.maximum(share**factor, SMALLEST_CENSORING_CHANCE) for share in shares
            )
            return Exposure(now[:, 0], 1.0 / then - 1.0, np.diff(1.0 / edges, axis=1))

        return [exposure(factor) for factor in factors]

    def centres(self) -> Floats:
        """Return the centres of the pieces of the area."""
        return (self._ends[:, 1:] + self._ends[:, :-1]) / 2.0

    @cached_property
    def _ends(self) -> Floats:
        """Times at which the pieces of the area begin and end."""
        return np.concatenate((self.curve.at([1e-6]), self.curve.at(_LEVELS)), axis=1)

    def followed_until(self, share: float) -> Floats:
        """Return the last time at which at least a share of rows like each one is uncensored."""
        return self.curve.at([1.0 - share])[:, 0]

    def take(self, rows: Any) -> "ModelledCensoring":
        """Return some of the rows."""
        return replace(self, curve=self.curve.take(rows, reach=False))


@dataclass(frozen=True, eq=False)
class Exposure:
    """What rows were exposed to: the censoring up to their own times and up to limits."""

    after: Floats  # chance to be uncensored after each row's time
    until: Floats  # area at the earlier of the row's time and each limit
    widths: Floats  # of the pieces of the area, in common or for each row


CensoringCurves = CommonCensoring | ModelledCensoring
"""Survival of the censoring time of n rows, and the area that inverse weights grow by.

The area at t is the integral of the censoring hazard over the censoring survival up to t. It is
cut into pieces of given widths and centres, in common or for each row.
"""


class EventModel(Protocol):
    """Distributions of the event times of rows, such as a `QuantileCurve`."""

    def cdf(self, times: Floats, /) -> Floats:
        """Return the chance of each row to have had the event by its own times."""

    def take(self, rows: Any, /, *, reach: bool = True) -> "EventModel":
        """Return some of the rows."""


def chance_before(
    target: Target,
    limits: Floats,
    censoring: CensoringCurves,
    model: EventModel | None,
    *,
    entry: Floats | None = None,
) -> Floats:
    r"""Return what every row adds to the chance of an event by its own limits.

    .. math:: \psi = \frac{\delta 1[Y \le L]}{S_C(Y-)} + \frac{(1 - \delta) 1[Y \le L] m(Y)}{S_C(Y)}
              - \int_0^{\min(Y, L)} \frac{m(u)}{S_C(u)} d\Lambda_C(u), \qquad
              m(u) = \frac{\hat F(L) - \hat F(u)}{1 - \hat F(u)}

    The inverse-probability term alone where there is no model. With one, a row censored before its
    limit gets what the model expects of it, less what it was expected to get while it was under
    observation; the two balance for any model if the censoring curves are right.
    """
    return chances_before(target, limits, censoring, model, (1.0,), entry=entry)[0]


def chances_before(
    target: Target,
    limits: Floats,
    censoring: CensoringCurves,
    model: EventModel | None,
    factors: Factors,
    *,
    entry: Floats | None = None,
) -> list[Floats]:
    """Return `chance_before` with the hazards of modelled censoring times each of some factors.

    What does not depend on them is computed once, and so are rows for all of their limits.
    """
    results: list[Floats] = [np.empty(limits.shape) for _ in factors]
    for start in range(0, len(target), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        parts = _block_chances(
            target.take(rows),
            limits[rows],
            censoring.take(rows),
            None if model is None else model.take(rows, reach=False),
            factors,
            None if entry is None else entry[rows],
        )
        for result, part in zip(results, parts, strict=True):
            result[rows] = part
    return results


def _block_chances(
    target: Target,
    limits: Floats,
    censoring: CensoringCurves,
    model: EventModel | None,
    factors: Factors,
    entry: Floats | None,
) -> list[Floats]:
    """Return `chances_before` of a block of rows."""
    early = target.time[:, None] <= limits
    observed = target.event[:, None] & early
    before = censoring.before(target.time)[:, None]
    if model is None:
        return [observed / before]
    beyond = 1.0 - model.cdf(limits)
    hidden = ~target.event[:, None] & early
    now = 1.0 - model.cdf(target.time)[:, None]
    # Where the model leaves no chance to have come this far, the event is overdue.
    expected = hidden * np.clip(1.0 - beyond / np.maximum(now, _NO_CHANCE), 0.0, 1.0)
    centres = censoring.centres()
    at_centres = np.broadcast_to(centres, (len(target), centres.shape[1]))
    slopes = 1.0 / np.maximum(1.0 - model.cdf(at_centres), _NO_CHANCE)
    ends = limits if entry is None else np.hstack((limits, entry[:, None]))
    results = []
    for exposure in censoring.exposures(target, ends, factors):
        after, until = exposure.after[:, None], exposure.until[:, : limits.shape[1]]
        uncensored = before if isinstance(censoring, CommonCensoring) else after
        added = expected / after - _compensator(until, beyond, exposure.widths, slopes)
        if entry is not None:
            entered = exposure.until[:, -1:]
            added += _compensator(entered, beyond, exposure.widths, slopes)
        results.append(observed / uncensored + added)
    return results


def _compensator(until: Floats, beyond: Floats, widths: Floats, slopes: Floats) -> Floats:
    """Integrate the expected chance over the area that each row was exposed to.

    The chance is 1 - S(L) / S(u), with 1 / S(u) a step function of the area.
    """
    from censquant._calibration._compensator import write_compensators

    # Arrays of one kind, since the kernel is compiled for each kind.
    shape, room = np.broadcast_shapes(until.shape, beyond.shape), np.empty((2, slopes.shape[1] + 1))
    until, beyond = (np.broadcast_to(a, shape) for a in (until, beyond))
    arrays = [np.require(a, requirements=["C", "W"]) for a in (until, beyond, widths, slopes)]
    result = np.empty(shape)
    write_compensators(*arrays, _NO_CHANCE, *room, result)
    return result
