"""Split conformal prediction, for data in which every event was observed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from censquant._calibration._family import BoundFamily
from censquant._calibration._rows import CalibrationRows
from censquant._calibration._rules import IndexRule, Side, trivial_rule
from censquant._typing import Floats


@dataclass(frozen=True)
class Split:
    """The order statistic of the indices at which rows meet their bounds.

    Without censoring the promise is exact for rows like the calibration rows, whatever the model:
    of n rows and one more, each is equally likely to be the k-th.
    """

    sides: ClassVar[tuple[Side, ...]] = ("lower", "upper")
    given_age: ClassVar[bool] = True
    needs_censoring_times: ClassVar[bool] = False
    refuses_censoring: ClassVar[bool] = True

    def calibrated(
        self, rows: CalibrationRows, side: Side = "lower", elapsed: float | None = None
    ) -> "SplitScores":
        """Return the sorted scores."""
        entry = None
        if elapsed is not None:
            rows = rows.take(rows.target.time > elapsed)
            entry = np.full(len(rows), elapsed)
        score = BoundFamily(rows.curve, entry).index_of(rows.target.time)
        order = np.argsort(score, kind="stable")
        return SplitScores(score[order], rows.weight[order], side)


@dataclass(frozen=True, eq=False)
class SplitScores:
    """Sorted indices of calibration rows, with their weights."""

    score: Floats
    weight: Floats
    side: Side

    def rule(self, missed: float) -> IndexRule:
        """Return the bounds at the order statistic that a share of rows misses."""
        side, n_rows = self.side, np.count_nonzero(self.weight)
        if not n_rows:
            return trivial_rule(side)
        score, weight = (self.score, self.weight) if side == "lower" else self._reversed()
        weight = weight * (n_rows / weight.sum())
        passed = np.cumsum(weight)
        # The row to predict counts as one more, and may be missed.
        allowed = missed * (n_rows + 1.0) * (1.0 + 1e-12)
        place = int(np.searchsorted(passed, allowed, side="right")) - 1
        if place < 0:
            return trivial_rule(side)
        share = float((passed[place] - weight[place]) / n_rows)
        error = float(np.sqrt(share * (1.0 - share) / n_rows))
        return IndexRule(float(score[place]), side, 0.0, 1.0 - share, error)

    def _reversed(self) -> tuple[Floats, Floats]:
        return self.score[::-1], self.weight[::-1]
