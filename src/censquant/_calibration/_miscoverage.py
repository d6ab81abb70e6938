"""Miscoverage of a family of bounds along its index, and the index that keeps a promise."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from censquant._calibration._family import INDICES, BoundFamily
from censquant._calibration._rows import CalibrationRows
from censquant._calibration._rules import (
    FEWEST_EVENTS,
    FOLLOWED_SHARE,
    IndexRule,
    Side,
    end_of_follow_up,
    trivial_rule,
    within,
)
from censquant._typing import Floats

Flags = NDArray[np.bool_]
Chances = Callable[[CalibrationRows, Floats, Floats | None], list[Floats]]
"""Contributions of rows to the chance of an event by limits ``(n, k)``: the estimate, and others
that are to be feared. The last argument holds the times that the rows have outlived."""

CAUTION = 0.5
"""Standard errors that are added to an estimated miscoverage before it is compared.

The index is chosen by an estimate with an error of its own. Half a standard error makes up for the
optimism of that choice; it was chosen on simulated data other than those of the benchmark.
"""

_BLOCK_ROWS = 2_048


@dataclass(frozen=True, eq=False)
class MiscoverageCurve:
    """Estimated share of events outside the bounds at each index.

    Parameters
    ----------
    side : {"lower", "upper"}
    estimate : ndarray of shape (k,)
        At `INDICES`.
    feared : ndarray of shape (k,)
        The same in the worst case that a method considers; at least ``estimate``.
    standard_error : ndarray of shape (k,)
    n_rows : ndarray of shape (k,)
        Rows with a finite bound.
    n_events : int
        Events behind the estimate.
    share : float
        See `IndexRule`.
    caution : float
        Standard errors that are added.
    unlimited : MiscoverageCurve, optional
        The same among rows whose bound follow-up does not cut. A cut bound is missed less often
        than promised; what it leaves of the promise must not be spent on the others, who are those
        at the highest risk.
    """

    side: Side
    estimate: Floats
    feared: Floats
    standard_error: Floats
    n_rows: Floats
    n_events: int
    share: float = FOLLOWED_SHARE
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


def miscoverage_curve(
    rows: CalibrationRows,
    chances: Chances,
    side: Side,
    elapsed: float | None = None,
    *,
    share: float = FOLLOWED_SHARE,
    caution: float = CAUTION,
) -> MiscoverageCurve:
    """Return the estimated miscoverage of all indices.

    A row that outlived ``elapsed`` stands for all those that censoring took before, whose events
    would have come later too. The miscoverage of upper bounds is that among finite ones.
    """
    if elapsed is not None:
        rows = rows.take(rows.target.time > elapsed)
    total, unlimited = _Sums(), _Sums()
    for start in range(0, len(rows), _BLOCK_ROWS):
        part = rows.take(slice(start, start + _BLOCK_ROWS))
        age = None if elapsed is None else np.full(len(part), elapsed)
        end = end_of_follow_up(part.censoring, share, part.curve, age)
        whole = BoundFamily(part.curve, age).at(INDICES)
        bounds = within(whole, end, side)
        finite = np.isfinite(bounds)
        limits = np.where(finite, bounds, part.target.time[:, None])
        if side == "lower":  # an event at its lower bound is covered
            limits = np.nextafter(limits, -np.inf)
        alive = np.ones(len(part)) if age is None else 1.0 / part.censoring.after(age)
        missed = chances(part, limits, age)
        if side == "upper":
            missed = [alive[:, None] - each for each in missed]
        total.add(part.weight, missed, alive, finite)
        if side == "lower":
            unlimited.add(part.weight, missed, alive, whole <= end[:, None])
    events = int(rows.target.event[rows.weight > 0].sum())
    inner = None
    if side == "lower" and share > 0:  # upper bounds past follow-up are infinite, and not counted
        inner = MiscoverageCurve(side, *unlimited.ratios(), events, share, caution)
    return MiscoverageCurve(side, *total.ratios(), events, share, caution, inner)


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
