"""What every correction has in common: a side, calibrated scores, and a rule that makes bounds."""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from censquant.calibration._censoring import CensoringCurves
from censquant.calibration._family import TRIVIAL_HIGH, TRIVIAL_LOW, BoundFamily
from censquant.calibration._rows import CalibrationRows
from censquant.quantiles import QuantileCurve

Floats = NDArray[np.float64]
Side = Literal["lower", "upper"]
"""Which side of the event time a bound is on."""

FEWEST_EVENTS = 30
"""Calibration rows with an event that a bound needs; with fewer it is the trivial one."""

FOLLOWED_SHARE = 0.1
"""Share of individuals like a given one that must be followed up to a bound.

Bounds go no further: past that time hardly anybody like this individual was under observation, and
whether a promise holds there is the model's word alone.
"""


class BoundRule(Protocol):
    """A calibrated way from a curve to a bound, for one confidence.

    ``estimate`` is the coverage that the calibration rows show, with its ``standard_error``; both
    are NaN where the rule says nothing about it.
    """

    @property
    def estimate(self) -> float: ...
    @property
    def standard_error(self) -> float: ...

    def bounds(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the bound of each row."""
        ...


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
class IndexRule:
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

    Examples
    --------
    >>> from censquant.calibration import CommonCensoring, IndexRule
    >>> from censquant.quantiles import QuantileCurve
    >>> from censquant.survival import censoring_kaplan_meier
    >>> censoring = CommonCensoring(censoring_kaplan_meier([1.0, 2.0], [True, True]), 1)
    >>> curve = QuantileCurve([[1.0, 2.0]], taus=[0.1, 0.5], lower=0.0)
    >>> IndexRule(0.1, "lower").bounds(curve, censoring)
    array([1.])
    """

    index: float
    side: Side
    share: float = FOLLOWED_SHARE
    estimate: float = np.nan
    standard_error: float = np.nan

    def bounds(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the bound of each row."""
        family = BoundFamily(curve, elapsed)
        bound = family.at_each(np.full(len(curve), self.index))
        return within_follow_up(bound, self.side, self.share, censoring, curve.lower, elapsed)


def within_follow_up(
    bound: Floats,
    side: Side,
    share: float,
    censoring: CensoringCurves,
    lower: float,
    elapsed: Floats | None,
) -> Floats:
    """Return bounds of shape (n,) or (n, k) that end where follow-up does."""
    if share <= 0:
        return bound
    end = censoring.followed_until(share)
    end = np.maximum(end, lower) if elapsed is None else np.maximum(end, elapsed)
    end = end.reshape(-1, *([1] * (bound.ndim - 1)))
    if side == "lower":
        return np.minimum(bound, end)
    return np.where(bound <= end, bound, np.inf)


def trivial_rule(side: Side) -> IndexRule:
    """Return the rule whose bounds hold whatever happens.

    Parameters
    ----------
    side : {"lower", "upper"}

    Returns
    -------
    rule : IndexRule

    Examples
    --------
    >>> from censquant.calibration import trivial_rule
    >>> trivial_rule("upper").index
    inf
    """
    return IndexRule(TRIVIAL_LOW if side == "lower" else TRIVIAL_HIGH, side, estimate=1.0)
