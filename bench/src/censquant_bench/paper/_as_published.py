"""Two baselines as they were run for the published table, which are not the published methods.

They exist to reproduce two columns of the paper and nowhere else: the estimators to use are
`DeepQuantReg` and `LogNormalNN`, which stand beside them in the table.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._compile import exact
from censquant._engine.objectives._grid import WeightedPinball
from censquant._engine.objectives._likelihoods import NormalLikelihood
from censquant._engine.training._rows import Rows
from censquant.estimators import DeepQuantReg, LogNormalNN
from censquant.survival import Target, kaplan_meier
from censquant.survival._transform import TimeTransform

_ADDED_TO_EVENT_CURVE = 0.01
_ADDED_TO_SURVIVAL = 1e-4
_ADDED_TO_SCALE = 1e-6


@dataclass(frozen=True)
class EventCurvePinball(WeightedPinball):
    """Events weighted by 1 / (S(t) + 0.01) with the curve S of the event itself.

    Inverse-probability weights need the curve of the censoring time.
    """

    def bind(self, train: Rows) -> "EventCurvePinball":
        """Take the Kaplan-Meier curve of the event."""
        return replace(self, curve=kaplan_meier(train.time, train.event, train.weight))

    def prepare(self, rows: Rows) -> Rows:
        """Weight the events."""
        if self.curve is None:
            raise RuntimeError("prepare needs a bound objective: call bind(rows) first.")
        weight = np.where(rows.event, 1.0 / (self.curve(rows.time) + _ADDED_TO_EVENT_CURVE), 0.0)
        return replace(rows, weight=weight.astype(np.float32))


class EventCurveDeepQuantReg(DeepQuantReg):
    """DeepQuantReg as run for the published table."""

    def _make_objective(
        self, taus: tuple[float, ...], target: Target | None, transform: TimeTransform
    ) -> EventCurvePinball:
        return EventCurvePinball(taus)


@exact
def _mixed_up(output, time, event, out):
    """Return the mean loss and write its gradient."""
    n_rows = len(time)
    observed = 0.0
    for i in range(n_rows):
        observed += event[i]
    observed /= n_rows
    loss = 0.0
    for i in range(n_rows):
        raw = float(output[i, 1])
        scale = math.log1p(math.exp(-abs(raw))) + max(raw, 0.0) + _ADDED_TO_SCALE
        u = (time[i] - output[i, 0]) / scale
        survival = 0.5 * math.erfc(u / math.sqrt(2.0)) + _ADDED_TO_SURVIVAL
        hazard = math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi) / survival
        by_u = observed * u + (1.0 - observed) * hazard
        out[i, 0] = -by_u / scale / n_rows
        out[i, 1] = (observed - by_u * u) / scale / (1.0 + math.exp(-raw)) / n_rows
        loss += observed * (0.5 * u * u + math.log(scale)) - (1.0 - observed) * math.log(survival)
    return loss / n_rows


@dataclass(frozen=True)
class MixedUpNormalLikelihood(NormalLikelihood):
    """Log-normal likelihood in which every row counts both as observed and as censored.

    Indicators of shape (n, 1) met rows of shape (n,) in the authors' program, so that each row
    took part in both terms, by the batch's shares; and 1e-4 was added to the survival function
    before its logarithm.
    """

    def gradient(self, output: NDArray[Any], batch: Rows, out: NDArray[Any]) -> float:
        """Return the loss and write its gradient."""
        return float(_mixed_up(output, batch.time, batch.event, out))


class MixedUpLogNormalNN(LogNormalNN):
    """LogNormalNN as run for the published table; rows without a positive time are left out."""

    def _fit_transform(
        self, target: Target, weight: NDArray[np.float64], *, mirror: bool
    ) -> TimeTransform:
        # Counted as observed, rows censored early pull hard: they are not floored here.
        return TimeTransform(log=True, floor=1e-12)

    def _make_objective(
        self, taus: tuple[float, ...], target: Target | None, transform: TimeTransform
    ) -> MixedUpNormalLikelihood:
        return MixedUpNormalLikelihood()
