"""A fixed cutoff where all censoring times are known (Candès, Lei and Ren)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from censquant._calibration._censoring import CensoringCurves
from censquant._calibration._family import BoundFamily
from censquant._calibration._rows import CalibrationRows
from censquant._calibration._rules import FEWEST_EVENTS, BoundRule, Side, trivial_rule
from censquant._typing import Floats
from censquant.quantiles import QuantileCurve

_CUTOFFS: Floats = np.arange(0.1, 0.95, 0.1)


@dataclass(frozen=True)
class Candes:
    r"""Weighted split conformal prediction of the time up to a cutoff.

    Of the rows whose censoring time is past the cutoff :math:`c_0`, the time up to it,
    :math:`\min(T, c_0)`, is known. The quantile of their scores
    :math:`\hat Q_\alpha(x) - \min(T, c_0)`, weighted by :math:`1 / S_C(c_0 | x)`, is subtracted
    from the model's quantile. Needs the censoring time of every row. The cutoff is the decile of
    the censoring times whose bounds are largest on average over the calibration rows.

    References
    ----------
    .. [1] E. Candès, L. Lei, Z. Ren (2023). Conformalized survival analysis. *JRSS B* 85(1).
    """

    sides: ClassVar[tuple[Side, ...]] = ("lower",)
    given_age: ClassVar[bool] = False
    needs_censoring_times: ClassVar[bool] = True
    refuses_censoring: ClassVar[bool] = False

    def calibrated(
        self, rows: CalibrationRows, side: Side = "lower", elapsed: float | None = None
    ) -> "CandesScores":
        """Return the rows, whose scores depend on the confidence."""
        return CandesScores(rows)


@dataclass(frozen=True, eq=False)
class CandesScores:
    """Calibration rows with known censoring times."""

    rows: CalibrationRows

    def rule(self, missed: float) -> BoundRule:
        """Return the rule of the best cutoff."""
        rows = self.rows
        if rows.target.n_events < FEWEST_EVENTS:
            return trivial_rule("lower")
        assert rows.censoring_time is not None
        cutoffs = np.unique(np.quantile(rows.censoring_time, _CUTOFFS, method="lower"))
        rules = [_cutoff_rule(rows, float(cutoff), missed) for cutoff in cutoffs]
        means = [rows.weight @ rule.bounds(rows.curve, rows.censoring) for rule in rules]
        return rules[int(np.argmax(means))]


def _cutoff_rule(rows: CalibrationRows, cutoff: float, missed: float) -> "CutoffRule":
    assert rows.censoring_time is not None
    kept = rows.censoring_time >= cutoff
    own = BoundFamily(rows.curve).at([missed])[kept, 0]
    score = own - np.minimum(rows.target.time[kept], cutoff)
    chance = rows.censoring.take(kept).before(np.full(int(kept.sum()), cutoff))
    order = np.argsort(score, kind="stable")
    return CutoffRule(cutoff, missed, score[order], (rows.weight[kept] / chance)[order])


@dataclass(frozen=True, eq=False)
class CutoffRule(BoundRule):
    """Bounds from weighted scores of rows that were followed past a cutoff.

    Parameters
    ----------
    cutoff : float
    missed : float
        Level of the model's quantile, and share of events that may come earlier than their bound.
    score : ndarray of shape (m,)
        Increasing.
    weight : ndarray of shape (m,)
    estimate, standard_error : float
        Not estimated.
    """

    cutoff: float
    missed: float
    score: Floats
    weight: Floats
    side: Side = "lower"
    estimate: float = np.nan
    standard_error: float = np.nan

    def unlimited(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the bound of each row, also past the cutoff."""
        own = BoundFamily(curve).at([self.missed])[:, 0]
        new = 1.0 / censoring.before(np.full(len(curve), self.cutoff))
        passed = np.cumsum(self.weight)
        wanted = (1.0 - self.missed) * (passed[-1] + new)
        place = np.searchsorted(passed, wanted * (1.0 - 1e-12), side="left")
        shift = np.append(self.score, np.inf)[place]
        # The score of the row to predict is infinite, and so is what is subtracted.
        result: Floats = np.maximum(own - shift, curve.lower)
        return result

    def end(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the cutoff."""
        return np.full(len(curve), self.cutoff)
