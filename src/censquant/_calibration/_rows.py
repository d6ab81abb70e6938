"""Calibration rows: what a model said of rows that it had not seen, and what happened to them."""

from dataclasses import dataclass, replace
from typing import Any

from censquant._calibration._censoring import CensoringCurves
from censquant._typing import Floats
from censquant.quantiles import QuantileCurve
from censquant.survival import Target


@dataclass(frozen=True, eq=False)
class CalibrationRows:
    """Rows that a correction is estimated from, all with right-censored times.

    Parameters
    ----------
    target : Target of n rows
    curve : QuantileCurve of n rows
        Distributions predicted by models that have not seen the rows.
    censoring : CensoringCurves of n rows
    weight : ndarray of shape (n,)
    model : QuantileCurve of n rows, optional
        Recalibrated distributions, which fill the gaps that censoring left.
    censoring_time : ndarray of shape (n,), optional
        Times at which rows were or would have been censored, where they are known.
    """

    target: Target
    curve: QuantileCurve
    censoring: CensoringCurves
    weight: Floats
    model: QuantileCurve | None = None
    censoring_time: Floats | None = None

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
