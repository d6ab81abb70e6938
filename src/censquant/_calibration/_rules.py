"""What every correction has in common: a side, calibrated scores, and a rule that makes bounds."""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from censquant._calibration._censoring import CensoringCurves
from censquant._calibration._family import TRIVIAL_HIGH, TRIVIAL_LOW, BoundFamily
from censquant._calibration._rows import CalibrationRows
from censquant._typing import Floats
from censquant.quantiles import QuantileCurve

Flags = NDArray[np.bool_]
Side = Literal["lower", "upper"]
"""Which side of the event time a bound is on."""

FEWEST_EVENTS = 30
"""Calibration rows with an event that a bound needs; with fewer it is the trivial one."""

FOLLOWED_SHARE = 0.1
"""Share of individuals like a given one that must be followed up to a bound.

Bounds go no further: past that time hardly anybody like this individual was under observation, and
whether a promise holds there is the model's word alone.
"""


class BoundRule:
    """A calibrated way from a curve to a bound, for one confidence.

    ``estimate`` is the coverage that the calibration rows show, with its ``standard_error``; both
    are NaN where the rule says nothing about it.
    """

    side: Side
    estimate: float
    standard_error: float

    def unlimited(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the bound of each row, however long individuals like it were followed."""
        raise NotImplementedError

    def end(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the time past which each row has no bound."""
        raise NotImplementedError

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


class BoundMethod(Protocol):
    """A correction: from calibration rows to calibrated scores.

    ``sides`` are those that it can bound, ``given_age`` says whether it can bound individuals who
    have survived for some time, ``needs_censoring_times`` whether all censoring times must be
    known, and ``refuses_censoring`` whether every event must be observed.
    """

    @property
    def sides(self) -> tuple[Side, ...]: ...
    @property
    def given_age(self) -> bool: ...
    @property
    def needs_censoring_times(self) -> bool: ...
    @property
    def refuses_censoring(self) -> bool: ...

    def calibrated(
        self, rows: CalibrationRows, side: Side = "lower", elapsed: float | None = None
    ) -> Calibrated:
        """Return the scores of the rows; of those who outlive ``elapsed`` where it is given."""
        ...


@dataclass(frozen=True)
class IndexRule(BoundRule):
    """Bounds at one index of the family of each individual, where the data can speak for them.

    A lower bound ends at the follow-up of individuals like this one; an upper bound past it is
    infinite.

    Parameters
    ----------
    index : float
        See `BoundFamily`.
    side : {"lower", "upper"}
    share : float
        Share of individuals that must be followed up to a bound; 0 for no limit.
    estimate : float
        Coverage that the calibration rows show.
    standard_error : float
    """

    index: float
    side: Side
    share: float = FOLLOWED_SHARE
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
