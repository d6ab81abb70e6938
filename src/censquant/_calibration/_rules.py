"""What every correction has in common: calibration rows, rules that make bounds, miscoverage."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from censquant._calibration._censoring import CensoringCurves, chance_before
from censquant._calibration._family import INDICES, TRIVIAL_HIGH, TRIVIAL_LOW, BoundFamily
from censquant._typing import Floats
from censquant.quantiles import QuantileCurve
from censquant.survival import Target

Flags = NDArray[np.bool_]
Side = Literal["lower", "upper"]
"""Which side of the event time a bound is on."""

FEWEST_EVENTS = 30
"""Calibration rows with an event that a bound needs; with fewer it is the trivial one."""

FOLLOWED_SHARE = 0.1
"""Share of individuals like a given one that must be followed up to a bound.

Bounds go no further: past that time hardly anybody like this individual was under observation, and
the coverage there would rest on the model alone.
"""

CAUTION = 0.5
"""Standard errors that are added to an estimated miscoverage before it is compared.

The index is chosen by an estimate with an error of its own. Half a standard error makes up for the
optimism of that choice; it was chosen on simulated data other than those of the benchmark.
"""

_BLOCK_ROWS = 2_048


@dataclass(frozen=True, eq=False)
class CalibrationRows:
    """Rows that a correction is estimated from, all with right-censored times."""

    target: Target
    curve: QuantileCurve  # predicted by models that have not seen the rows
    censoring: CensoringCurves
    weight: Floats
    model: QuantileCurve | None = None  # recalibrated, to fill the gaps that censoring left
    censoring_time: Floats | None = None  # when rows were or would have been censored, if known

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: Any) -> "CalibrationRows":
        """Return some of the rows."""
        return replace(
            self,
            target=self.target.take(rows),
            curve=self.curve.take(rows, reach=False),
            censoring=self.censoring.take(rows),
            weight=self.weight[rows],
            model=None if self.model is None else self.model.take(rows, reach=False),
            censoring_time=None if self.censoring_time is None else self.censoring_time[rows],
        )


class BoundRule(ABC):
    """A calibrated way from a curve to a bound, for one confidence.

    ``estimate`` is the coverage that the calibration rows show, with its ``standard_error``; both
    are NaN where it is not estimated.
    """

    side: Side
    estimate: float
    standard_error: float

    @abstractmethod
    def unlimited(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the bound of each row, however long individuals like it were followed."""

    @abstractmethod
    def end(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the time past which each row has no bound."""

    def bounds(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the bound of each row: a lower one ends with follow-up, an upper is infinite."""
        unlimited = self.unlimited(curve, censoring, elapsed)
        return within(unlimited, self.end(curve, censoring, elapsed), self.side)


class Calibrated(Protocol):
    """The scores of calibration rows, ready for any confidence."""

    def rule(self, missed: float) -> BoundRule:
        """Return the rule whose bounds are missed by no more than this share of events."""
        ...


class BoundMethod(ABC):
    """A correction: from calibration rows to calibrated scores."""

    sides: ClassVar[tuple[Side, ...]] = ("lower", "upper")  # that it can bound
    given_age: ClassVar[bool] = True  # whether it can bound those who have survived for some time
    needs_censoring_times: ClassVar[bool] = False  # of all rows, also of those with an event
    refuses_censoring: ClassVar[bool] = False  # whether every event must be observed

    @abstractmethod
    def calibrated(
        self, rows: CalibrationRows, side: Side = "lower", elapsed: float | None = None
    ) -> Calibrated:
        """Return the scores of the rows, or of those that survive ``elapsed``."""

    def calibrated_sides(
        self, rows: CalibrationRows, sides: Sequence[Side], elapsed: float | None = None
    ) -> Sequence[Calibrated]:
        """Return the scores of some sides."""
        return [self.calibrated(rows, side, elapsed) for side in sides]


@dataclass(frozen=True)
class IndexRule(BoundRule):
    """Bounds at one index of the family of each individual, within follow-up."""

    index: float  # see `BoundFamily`
    side: Side
    share: float = FOLLOWED_SHARE  # that must be followed up to a bound; 0 for no limit
    estimate: float = np.nan
    standard_error: float = np.nan

    def unlimited(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the bound of each row at the index."""
        return BoundFamily(curve, elapsed).at_each(np.full(len(curve), self.index))

    def end(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the time to which the share of individuals like each row was followed."""
        return end_of_follow_up(censoring, self.share, curve, elapsed)


def end_of_follow_up(
    censoring: CensoringCurves,
    share: float,
    curve: QuantileCurve,
    elapsed: Floats | None = None,
) -> Floats:
    """Return the time to which a share of individuals like each row was followed."""
    if share <= 0:
        return np.full(len(curve), np.inf)
    start = curve.lower if elapsed is None else elapsed
    result: Floats = np.maximum(censoring.followed_until(share), start)
    return result


def within(bound: Floats, end: Floats, side: Side) -> Floats:
    """Return bounds of shape (n,) or (n, k) that do not go past the end of each row."""
    end = end.reshape(-1, *([1] * (bound.ndim - 1)))
    return np.minimum(bound, end) if side == "lower" else np.where(bound <= end, bound, np.inf)


def consistent_bounds(
    unlimited: Floats, end: Floats, quantile: Floats, side: Side
) -> tuple[Floats, Flags]:
    """Return bounds that contradict no quantile, and whether follow-up limits them."""
    agree = np.minimum if side == "lower" else np.maximum
    bound = agree(unlimited, quantile)
    return within(bound, end, side), bound > end


def trivial_rule(side: Side) -> IndexRule:
    """Return the rule whose bounds hold whatever happens."""
    return IndexRule(TRIVIAL_LOW if side == "lower" else TRIVIAL_HIGH, side, estimate=1.0)


Chances = Callable[[CalibrationRows, Floats, Floats | None], list[Floats]]
"""Contributions of rows to the chance of an event by limits ``(n, k)``: the estimate, and others
that are to be feared. The last argument holds the times that the rows have outlived."""


@dataclass(frozen=True, eq=False)
class MiscoverageCurve:
    """Estimated share of events outside the bounds at each of `INDICES`.

    ``unlimited`` is the same among rows whose bound follow-up does not cut. A cut bound is missed
    less often than its target; what it leaves must not be spent on the others, who are those at
    the highest risk.
    """

    side: Side
    estimate: Floats
    feared: Floats  # the worst case that a method considers, at least ``estimate``
    standard_error: Floats
    n_rows: Floats  # with a finite bound
    n_events: int
    share: float = FOLLOWED_SHARE  # see `IndexRule`
    caution: float = CAUTION
    unlimited: "MiscoverageCurve | None" = None

    def rule(self, missed: float) -> IndexRule:
        """Return the bounds farthest out that are missed by no more than a share of events."""
        if self.n_events < FEWEST_EVENTS:
            return trivial_rule(self.side)
        promised = np.where(self.n_rows < FEWEST_EVENTS, np.inf, self._promised())
        if self.unlimited is not None:
            is_known = self.unlimited.n_rows >= FEWEST_EVENTS
            promised = np.where(
                is_known, np.maximum(promised, self.unlimited._promised()), promised
            )
        order = slice(None) if self.side == "lower" else slice(None, None, -1)
        indices, values = INDICES[order], promised[order]
        if self.side == "upper":
            # From the far end on: bounds that few rows have are infinite for nearly all.
            known = np.flatnonzero(np.isfinite(values))
            if not known.size:
                return trivial_rule(self.side)
            indices, values = indices[known[0] :], values[known[0] :]
        values = np.maximum.accumulate(values)
        n_kept = int(np.count_nonzero(values <= missed))
        if n_kept == 0:
            return trivial_rule(self.side)
        index = float(indices[n_kept - 1])
        if n_kept < len(values) and np.isfinite(values[n_kept]):
            part = (missed - values[n_kept - 1]) / (values[n_kept] - values[n_kept - 1])
            index += float(part * (indices[n_kept] - index))
        missing = float(np.interp(index, INDICES, self.estimate))
        error = float(np.interp(index, INDICES, self.standard_error))
        return IndexRule(index, self.side, self.share, 1.0 - missing, error)

    def _promised(self) -> Floats:
        """Return the miscoverage that can be promised at each index."""
        n_rows = np.maximum(self.n_rows, 1.0)
        cautious = self.feared + self.caution * self.standard_error
        # One more individual, who is the one to predict, may be missed.
        result: Floats = (cautious * n_rows + 1.0) / (n_rows + 1.0)
        return result


def miscoverage_curves(
    rows: CalibrationRows,
    chances: Chances,
    sides: Sequence[Side],
    elapsed: float | None = None,
) -> list[MiscoverageCurve]:
    """Return the estimated miscoverage of all indices, for each of some sides.

    A row that outlived ``elapsed`` stands for all those that censoring took before, whose events
    would have come later too. The miscoverage of upper bounds is that among finite ones.
    """
    if elapsed is not None:
        rows = rows.take(rows.target.time > elapsed)
    sums = [(_Sums(), _Sums()) for _ in sides]
    for start in range(0, len(rows), _BLOCK_ROWS):
        part = rows.take(slice(start, start + _BLOCK_ROWS))
        age = None if elapsed is None else np.full(len(part), elapsed)
        end = end_of_follow_up(part.censoring, FOLLOWED_SHARE, part.curve, age)
        whole = BoundFamily(part.curve, age).at(INDICES)
        limits = [_limits(within(whole, end, side), part.target, side) for side in sides]
        alive = np.ones(len(part)) if age is None else 1.0 / part.censoring.after(age)
        early = chances(part, np.hstack([each for each, _ in limits]), age)
        for place, (side, (total, unlimited)) in enumerate(zip(sides, sums, strict=True)):
            missed = [np.split(each, len(sides), axis=1)[place] for each in early]
            if side == "upper":
                missed = [alive[:, None] - each for each in missed]
            total.add(part.weight, missed, alive, limits[place][1])
            if side == "lower":
                unlimited.add(part.weight, missed, alive, whole <= end[:, None])
    events = int(rows.target.event[rows.weight > 0].sum())
    return [
        MiscoverageCurve(
            side,
            *total.ratios(),
            events,
            # Upper bounds past follow-up are infinite, and not counted.
            unlimited=MiscoverageCurve(side, *unlimited.ratios(), events)
            if side == "lower"
            else None,
        )
        for side, (total, unlimited) in zip(sides, sums, strict=True)
    ]


class _Sums:
    """Sums over blocks of rows, from which ratios and their standard errors follow."""

    def __init__(self) -> None:
        self.missed: list[Floats] = [np.zeros(len(INDICES))]
        self.counted = np.zeros(len(INDICES))
        self.rows = np.zeros(len(INDICES))
        self.squares = np.zeros((3, len(INDICES)))  # missed^2, missed * counted, counted^2

    def add(self, weight: Floats, missed: list[Floats], alive: Floats, counts: Flags) -> None:
        """Add what the bounds of some rows contribute that count, by row and index."""
        counted = alive[:, None] * counts
        missed = [each * counts for each in missed]
        square = weight**2
        self.missed += [np.zeros(len(INDICES)) for _ in missed[len(self.missed) :]]
        for total, each in zip(self.missed, missed, strict=True):
            total += weight @ each
        self.counted += weight @ counted
        self.rows += (weight > 0).astype(np.float64) @ counts
        for total, each in zip(
            self.squares, (missed[0] ** 2, missed[0] * counted, counted**2), strict=True
        ):
            total += square @ each

    def ratios(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the estimate, the feared one, the standard error and the number of rows."""
        counted = np.maximum(self.counted, 1e-300)
        estimate = self.missed[0] / counted
        feared = np.max([missed / counted for missed in self.missed], axis=0)
        both, cross, own = self.squares
        variance = both - 2.0 * estimate * cross + estimate**2 * own
        error = np.sqrt(np.maximum(variance, 0.0)) / counted
        return estimate, feared, error, self.rows


def estimated_coverages(
    rows: CalibrationRows, tables: Sequence[tuple[Floats, Side, Flags | None]]
) -> list[tuple[Floats, Floats]]:
    """Return the estimated share of events on the right side of bounds, with its standard error.

    Each table has bounds, one column for each share, their side, and which of them are counted if
    not all. Doubly robust, see `chance_before`. The share of upper bounds is that among finite
    ones.
    """
    limits = [_limits(bounds, rows.target, side) for bounds, side, _ in tables]
    model = rows.curve if rows.model is None else rows.model
    together = np.hstack([each for each, _ in limits])
    early = chance_before(rows.target, together, rows.censoring, model)
    widths = [each.shape[1] for each, _ in limits]
    found = []
    for (_, side, among), (_, finite), part in zip(
        tables, limits, np.split(early, np.cumsum(widths)[:-1], axis=1), strict=True
    ):
        counted = rows.weight[:, None] * (finite if among is None else finite & among)
        total = counted.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = (counted * part).sum(axis=0) / total
            error = np.sqrt((counted**2 * (part - mean) ** 2).sum(axis=0)) / total
        found.append((np.clip(1.0 - mean if side == "lower" else mean, 0.0, 1.0), error))
    return found


def _limits(bounds: Floats, target: Target, side: Side) -> tuple[Floats, Flags]:
    """Return limits whose early events are missed or covered, and which bounds are finite."""
    finite = np.isfinite(bounds)
    limits = np.where(finite, bounds, target.time[:, None])
    # An event at its lower bound is covered.
    return (np.nextafter(limits, -np.inf) if side == "lower" else limits), finite
