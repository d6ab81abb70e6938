"""Doubly robust miscoverage: right if the censoring model or the event model is."""

from dataclasses import dataclass
from typing import ClassVar

from censquant._calibration._censoring import ModelledCensoring
from censquant._calibration._chance import chance_before
from censquant._calibration._miscoverage import MiscoverageCurve, miscoverage_curve
from censquant._calibration._rows import CalibrationRows
from censquant._calibration._rules import Side
from censquant._typing import Floats

# A modelled censoring hazard may be too low by so much; the worse of the two answers counts. They
# are equal where the event model is right, and differ where neither model has seen much.
_FEARED_FACTOR = 1.4


@dataclass(frozen=True)
class Aipcw:
    """Miscoverage by augmented inverse-probability-of-censoring weights, the default method.

    Every calibration row contributes to the miscoverage of every bound: with its event if that was
    observed, with what the recalibrated event model expects if not, see `chance_before`. The
    estimate is right if either the censoring model or the event model is, and its error is the
    product of theirs where neither is. Where censoring depends on the features, the worse of two
    answers counts: that of the censoring model, and that of one with hazards 40 % higher.
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
    model = rows.curve if rows.model is None else rows.model
    kinds = [rows.censoring]
    if isinstance(rows.censoring, ModelledCensoring):
        kinds.append(rows.censoring.hastened(_FEARED_FACTOR))
    return [chance_before(rows.target, limits, kind, model, entry=entry) for kind in kinds]
