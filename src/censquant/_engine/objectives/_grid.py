"""What the objectives that predict a grid of quantiles have in common."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from censquant._engine.networks import FloatArray
from censquant._engine.training import Rows


@dataclass(frozen=True)
class GridObjective:
    """One network output per level; the outputs are the quantiles.

    Parameters
    ----------
    taus : tuple of float
        Increasing levels inside (0, 1).

    Examples
    --------
    >>> from censquant._engine.objectives import GridObjective
    >>> GridObjective(taus=(0.1, 0.5, 0.9)).n_outputs
    3
    """

    taus: tuple[float, ...]

    @property
    def n_outputs(self) -> int:
        """One output per level."""
        return len(self.taus)

    @cached_property
    def _levels(self) -> NDArray[np.float32]:
        """The levels in the type that the kernels are compiled for."""
        return np.asarray(self.taus, dtype=np.float32)

    def bind(self, train: Rows) -> Self:
        """Return itself: nothing depends on the training rows."""
        return self

    def prepare(self, rows: Rows) -> Rows:
        """Return all rows."""
        return rows

    def quantiles(self, output: FloatArray, taus: FloatArray) -> NDArray[np.float64]:
        """Return the outputs as they are; ``taus`` are the grid's own levels."""
        return np.asarray(output, dtype=np.float64)
