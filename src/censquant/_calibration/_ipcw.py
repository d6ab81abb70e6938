"""Miscoverage by inverse-probability-of-censoring weights alone."""

from dataclasses import dataclass
from typing import ClassVar

from censquant._calibration._chance import chance_before
from censquant._calibration._miscoverage import MiscoverageCurve, miscoverage_curve
from censquant._calibration._rows import CalibrationRows
from censquant._calibration._rules import Side
from censquant._typing import Floats


@dataclass(frozen=True)
class Ipcw:
    """Miscoverage by the observed events, each standing for those that censoring hid.

    Needs no event model, and is right if the censoring model is. Where it is not, nothing makes up
    for it.
    """

    sides: ClassVar[tuple[Side, ...]] = ("lower", "upper")
    given_age: ClassVar[bool] = True
    needs_censoring_times: ClassVar[bool] = False
    refuses_censoring: ClassVar[bool] = False

    def calibrated(
        self, rows: CalibrationRows, side: Side = "lower", elapsed: float | None = None
    ) -> MiscoverageCurve:
        """Return the miscoverage of all indices."""
        return miscoverage_curve(rows, _chances, side, elapsed)


def _chances(rows: CalibrationRows, limits: Floats, entry: Floats | None) -> list[Floats]:
    return [chance_before(rows.target, limits, rows.censoring, None)]
