"""Hüttel's objective: asymmetric Laplace likelihoods around the quantiles, censored."""

from dataclasses import dataclass

import numpy as np

from censquant._engine.losses import tobit_laplace
from censquant._engine.networks import FloatArray
from censquant._engine.objectives._grid import GridObjective
from censquant._engine.training import Rows


@dataclass(frozen=True)
class TobitLaplace(GridObjective):
    """Censored likelihood of asymmetric Laplace distributions, one per level.

    See ``losses.tobit_laplace``. Only censored rows' censoring times matter to it.

    Parameters
    ----------
    taus : tuple of float
        Increasing levels inside (0, 1).
    scale : float, default 0.1
        Of all the distributions, in model units. The larger it is, the longer predictions beyond
        censoring times are pushed further: with 1, upper quantiles of heavily censored data
        run away.
    """

    scale: float = 0.1

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean loss and write its gradient."""
        rows = (batch.time, batch.event, batch.weight)
        return float(tobit_laplace(output, *rows, self._levels, self.scale, out))

    def validation_loss(self, output: FloatArray, rows: Rows) -> float:
        """Return the mean loss."""
        return self.gradient(output, rows, np.empty_like(output))
