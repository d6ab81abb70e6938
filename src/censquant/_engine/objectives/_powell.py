"""Powell's objective, for censoring times that are known for every row."""

from dataclasses import dataclass

import numpy as np

from censquant._engine.losses import powell
from censquant._engine.networks import FloatArray
from censquant._engine.objectives._grid import GridObjective
from censquant._engine.training import Rows


@dataclass(frozen=True)
class Powell(GridObjective):
    """Check loss of predictions that are censored at each row's censoring time.

    Needs ``Rows.limit``. No weight has to be estimated, and censoring may depend on the features in
    any way; but nothing determines a prediction beyond the censoring times of all similar rows.

    Parameters
    ----------
    taus : tuple of float
        Increasing levels inside (0, 1).
    """

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean loss and write its gradient."""
        return float(powell(output, batch.time, batch.limit, batch.weight, self._levels, out))

    def validation_loss(self, output: FloatArray, rows: Rows) -> float:
        """Return the mean loss: its weights do not depend on the model."""
        return self.gradient(output, rows, np.empty_like(output))
