"""Plain quantile regression: every time counts as an observed event."""

from dataclasses import dataclass

import numpy as np

from censquant._engine.losses import pinball
from censquant._engine.networks import FloatArray
from censquant._engine.objectives._grid import GridObjective
from censquant._engine.training import Rows


@dataclass(frozen=True)
class Pinball(GridObjective):
    """The check loss of the observed times, events and censoring times alike.

    It estimates quantiles of the time under observation, event or censoring, whichever comes
    first: those of the event only if nothing is censored.

    Parameters
    ----------
    taus : tuple of float
        Increasing levels inside (0, 1).
    """

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean check loss and write its gradient."""
        return float(pinball(output, batch.time, batch.weight, self._levels, out))

    def validation_loss(self, output: FloatArray, rows: Rows) -> float:
        """Return the mean check loss."""
        return self.gradient(output, rows, np.empty_like(output))
