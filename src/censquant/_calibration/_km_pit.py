"""Miscoverage by a Kaplan-Meier curve on the scale of the bounds themselves."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from censquant._calibration._family import INDICES, BoundFamily
from censquant._calibration._miscoverage import MiscoverageCurve
from censquant._calibration._rows import CalibrationRows
from censquant._calibration._rules import Side
from censquant.survival import kaplan_meier


@dataclass(frozen=True)
class KmPit:
    """Kaplan-Meier curve of the indices at which rows meet their bounds.

    Needs no censoring model. It assumes that indices of events and of censorings are independent,
    as `Recalibration` does: the method that corrects levels of whole curves.
    """

    sides: ClassVar[tuple[Side, ...]] = ("lower", "upper")
    given_age: ClassVar[bool] = True
    needs_censoring_times: ClassVar[bool] = False
    refuses_censoring: ClassVar[bool] = False

    def calibrated(
        self, rows: CalibrationRows, side: Side = "lower", elapsed: float | None = None
    ) -> MiscoverageCurve:
        """Return the miscoverage of all indices, with Greenwood's standard error."""
        entry = None
        if elapsed is not None:
            rows = rows.take(rows.target.time > elapsed)
            entry = np.full(len(rows), elapsed)
        n_events = int(rows.target.event[rows.weight > 0].sum())
        if not n_events:
            nothing = np.zeros(len(INDICES))
            return MiscoverageCurve(side, nothing, nothing, nothing, nothing, 0, 0.0)
        score = BoundFamily(rows.curve, entry).index_of(rows.target.time)
        curve = kaplan_meier(score, rows.target.event, rows.weight)
        beyond = curve(INDICES, side="left" if side == "lower" else "right")
        left = np.maximum(curve.n_at_risk - curve.n_events, 1e-300)
        terms = np.where(curve.n_events > 0, curve.n_events / (curve.n_at_risk * left), 0.0)
        terms[left <= 1e-300] = 0.0
        mean_weight = rows.weight.sum() / np.count_nonzero(rows.weight)
        spread = np.concatenate(([0.0], np.cumsum(terms)))
        passed = np.searchsorted(curve.time, INDICES, side="right")
        error = beyond * np.sqrt(spread[passed] * mean_weight)
        estimate = 1.0 - beyond if side == "lower" else beyond
        # Past the last row nothing is known; no upper bound is found there.
        known = np.searchsorted(curve.time, INDICES, side="left") < len(curve.time)
        n_rows = np.count_nonzero(rows.weight) * np.ones(len(INDICES))
        if side == "upper":
            n_rows = np.where(known, n_rows, 0.0)
        return MiscoverageCurve(side, estimate, estimate, error, n_rows, n_events, 0.0)
