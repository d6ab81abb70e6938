"""Plain quantile regression on the observed events."""

from dataclasses import dataclass, replace

import numpy as np

from censquant._engine.objectives._pinball import Pinball
from censquant._engine.training import Rows
from censquant._follow_up_share import SMALLEST_CENSORING_CHANCE
from censquant.survival import KaplanMeier, censoring_kaplan_meier


@dataclass(frozen=True)
class ObservedPinball(Pinball):
    """Check loss of the events; censored rows have no weight.

    Late events are censored more often than early ones, so every quantile is too low: this is the
    baseline that shows what ignoring censoring costs. Rows without weight stay in their
    batches, so that an epoch has as many steps as those of other methods.

    Parameters
    ----------
    taus : tuple of float
        Increasing levels inside (0, 1).
    """

    def prepare(self, rows: Rows) -> Rows:
        """Return the rows with weight 0 for censored ones."""
        return replace(rows, weight=np.where(rows.event, rows.weight, np.float32(0)))


@dataclass(frozen=True)
class WeightedPinball(ObservedPinball):
    """Check loss of the events, each weighted by one over its probability of not being censored.

    The probability is the Kaplan-Meier curve of the censoring time just before the event. The
    weights are right if censoring does not depend on the features and no event can come after the
    last censoring time.

    Parameters
    ----------
    taus : tuple of float
        Increasing levels inside (0, 1).
    floor : float, default 0.02
        Smallest probability to divide by; it bounds the weights.
    curve : KaplanMeier, optional
        The censoring curve; :meth:`bind` sets it.
    """

    floor: float = SMALLEST_CENSORING_CHANCE
    curve: KaplanMeier | None = None

    def bind(self, train: Rows) -> "WeightedPinball":
        """Return the objective with the training rows' censoring curve."""
        return replace(self, curve=censoring_kaplan_meier(train.time, train.event, train.weight))

    def prepare(self, rows: Rows) -> Rows:
        """Return the rows with the weights of events, and weight 0 for censored ones."""
        if self.curve is None:
            raise RuntimeError("prepare needs a bound objective: call bind(rows) first.")
        chance = np.maximum(self.curve(rows.time, side="left"), self.floor)
        weighted = replace(rows, weight=(rows.weight / chance).astype(np.float32))
        return super().prepare(weighted)
