"""Adaptive cutoffs where all censoring times are known (Gui, Hore, Ren and Barber)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from censquant._calibration._family import INDICES, BoundFamily
from censquant._calibration._miscoverage import MiscoverageCurve
from censquant._calibration._rows import CalibrationRows
from censquant._calibration._rules import FOLLOWED_SHARE, Side, end_of_follow_up, within


@dataclass(frozen=True)
class Gui:
    r"""Share of missed bounds among rows that were followed up to their bound, reweighted.

    .. math:: \hat\alpha(a) = \sum_i \frac{1[T_i < L_a(x_i) \le C_i]}{S_C(L_a(x_i) | x_i)} \Big/
              \sum_i \frac{1[L_a(x_i) \le C_i]}{S_C(L_a(x_i) | x_i)}

    Needs the censoring time of every row, also of those with an event. Bounds end where one in
    log(n) rows is still followed.

    References
    ----------
    .. [1] Y. Gui, R. Hore, Z. Ren, R. F. Barber (2024). Conformalized survival analysis with
       adaptive cut-offs. *Biometrika* 111(2).
    """

    sides: ClassVar[tuple[Side, ...]] = ("lower",)
    given_age: ClassVar[bool] = False
    needs_censoring_times: ClassVar[bool] = True
    refuses_censoring: ClassVar[bool] = False

    def calibrated(
        self, rows: CalibrationRows, side: Side = "lower", elapsed: float | None = None
    ) -> MiscoverageCurve:
        """Return the miscoverage of all indices."""
        assert rows.censoring_time is not None
        share = max(FOLLOWED_SHARE, 1.0 / math.log(max(len(rows), 3)))
        bounds = BoundFamily(rows.curve).at(INDICES)
        bounds = within(bounds, end_of_follow_up(rows.censoring, share, rows.curve), side)
        followed = bounds <= rows.censoring_time[:, None]
        chance = np.stack([rows.censoring.before(column) for column in bounds.T], axis=1)
        counted = rows.weight[:, None] * followed / chance
        missed = counted * (rows.target.event[:, None] & (rows.target.time[:, None] < bounds))
        total = np.maximum(counted.sum(axis=0), 1e-300)
        estimate = missed.sum(axis=0) / total
        spread = ((missed - estimate * counted) ** 2).sum(axis=0)
        n_rows = followed.sum(axis=0).astype(np.float64)
        error = np.sqrt(spread) / total
        n_events = rows.target.n_events
        return MiscoverageCurve(side, estimate, estimate, error, n_rows, n_events, share, 0.0)
