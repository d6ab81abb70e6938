"""Imputed censoring times under general right censoring (Sesia and Svetnik)."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from censquant._calibration._censoring import CensoringCurves, CommonCensoring, ModelledCensoring
from censquant._calibration._family import BoundFamily
from censquant._calibration._gui import Gui
from censquant._calibration._miscoverage import MiscoverageCurve
from censquant._calibration._rows import CalibrationRows
from censquant._calibration._rules import BoundRule, IndexRule, Side
from censquant._typing import Floats
from censquant.quantiles import QuantileCurve


@dataclass(frozen=True)
class DrCosarc:
    """Censoring times of rows with an event are drawn from the censoring model, then as `Gui`.

    A bound is never above the model's own quantile, which makes it doubly robust: it holds if the
    censoring model is right, or if the event model is.

    Parameters
    ----------
    seed : int, default 0
        Of the draws.

    References
    ----------
    .. [1] M. Sesia, V. Svetnik (2025). Doubly robust conformalized survival analysis with
       right-censored data. *ICML*.
    """

    seed: int = 0
    sides: ClassVar[tuple[Side, ...]] = ("lower",)
    given_age: ClassVar[bool] = False
    needs_censoring_times: ClassVar[bool] = False
    refuses_censoring: ClassVar[bool] = False

    def calibrated(
        self, rows: CalibrationRows, side: Side = "lower", elapsed: float | None = None
    ) -> "_NeverAboveTheModel":
        """Return the miscoverage of all indices."""
        drawn = np.random.default_rng(self.seed).uniform(size=len(rows))
        times = np.where(rows.target.event, _censoring_after(rows, drawn), rows.target.time)
        imputed = replace(rows, censoring_time=times)
        return _NeverAboveTheModel(Gui().calibrated(imputed, side))


def _censoring_after(rows: CalibrationRows, drawn: Floats) -> Floats:
    """Return draws of the censoring time, given that it is later than the rows' times."""
    censoring, time = rows.censoring, rows.target.time
    left = censoring.after(time) * drawn  # a survival probability that is uniform below today's
    if isinstance(censoring, CommonCensoring):
        survival = np.append(censoring.curve.survival, 0.0)
        ends = np.append(censoring.curve.time, np.inf)
        drawn_times: Floats = ends[np.searchsorted(-survival, -left, side="left")]
        return np.maximum(drawn_times, time)
    assert isinstance(censoring, ModelledCensoring)
    levels = np.clip(1.0 - left, 1e-9, 1.0 - 1e-9)
    return np.maximum(censoring.curve.at_each(levels[:, None])[:, 0], time)


@dataclass(frozen=True, eq=False)
class _NeverAboveTheModel:
    """Scores whose bounds are at most the quantiles of the model as it is."""

    scores: MiscoverageCurve

    def rule(self, missed: float) -> "SmallerOfTwo":
        """Return the rule for one confidence."""
        found = self.scores.rule(missed)
        return SmallerOfTwo(found, missed, found.estimate, found.standard_error)


@dataclass(frozen=True, eq=False)
class SmallerOfTwo(BoundRule):
    """The smaller of a calibrated bound and the model's own quantile.

    Parameters
    ----------
    calibrated : IndexRule
    level : float
        Of the model's quantile.
    estimate, standard_error : float
        Coverage of the calibrated bound alone.
    """

    calibrated: IndexRule
    level: float
    estimate: float
    standard_error: float
    side: Side = "lower"

    def unlimited(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the smaller of the two of each row."""
        own = BoundFamily(curve, elapsed).at([self.level])[:, 0]
        return np.minimum(self.calibrated.unlimited(curve, censoring, elapsed), own)

    def end(
        self, curve: QuantileCurve, censoring: CensoringCurves, elapsed: Floats | None = None
    ) -> Floats:
        """Return the end of the calibrated bound."""
        return self.calibrated.end(curve, censoring, elapsed)
