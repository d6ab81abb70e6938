"""The objective of quantiles that bend a standard distribution: a likelihood and a check loss."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from censquant._engine.losses import shape_loss
from censquant._engine.networks import FloatArray
from censquant._engine.objectives._shape_distribution import BASES, ShapeDistribution, shape_knots
from censquant._engine.training import Rows
from censquant.quantiles._grid import even_grid


@dataclass(frozen=True)
class ShapeLikelihood:
    """A censored likelihood plus Portnoy's loss, of quantiles that bend a standard distribution.

    The likelihood makes use of every row and holds the tails; the check loss keeps quantiles right
    where the family is not. See :func:`censquant._engine.losses.shape_loss`.

    Parameters
    ----------
    base : {"normal", "gumbel", "mirrored gumbel"}
    n_outputs : int, default 19
        Number of quantiles, at evenly spaced levels.
    likelihood_weight, pinball_weight : float
    limit : float
        In model units: predictions above it have no check loss, or with ``bounded`` the pseudo-time
        that receives the probability mass beyond censoring times.
    bounded : bool, default False
    cap : float
        Largest value that is predicted.
    """

    base: str = "normal"
    n_outputs: int = 19
    likelihood_weight: float = 1.0
    pinball_weight: float = 0.3
    limit: float = 1e30
    bounded: bool = False
    cap: float = np.inf

    @cached_property
    def _knots(self) -> NDArray[np.float64]:
        return shape_knots(self.base, self.n_outputs)

    @cached_property
    def _levels(self) -> NDArray[np.float32]:
        return even_grid(self.n_outputs).astype(np.float32)

    def bind(self, train: Rows) -> Self:
        """Return itself: nothing depends on the training rows."""
        return self

    def prepare(self, rows: Rows) -> Rows:
        """Return all rows."""
        return rows

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the mean loss and write its gradient."""
        return self._loss(output, batch, out, self.likelihood_weight, self.pinball_weight)

    def validation_loss(self, output: FloatArray, rows: Rows) -> float:
        """Return the mean negative log-likelihood, a proper score under censoring."""
        return self._loss(output, rows, np.empty_like(output), 1.0, 0.0)

    def _loss(
        self, output: FloatArray, rows: Rows, out: FloatArray, likelihood: float, check: float
    ) -> float:
        loss = shape_loss(
            output,
            rows.time,
            rows.event,
            rows.weight,
            self._levels,
            self._knots,
            BASES[self.base][0],
            likelihood,
            check,
            self.limit,
            self.bounded,
            out,
        )
        return float(loss)

    def distribution(self, output: FloatArray) -> ShapeDistribution:
        """Return the predicted distributions in model units."""
        return ShapeDistribution(np.asarray(output, dtype=np.float64), self.base, self.cap)

    def quantiles(self, output: FloatArray, taus: FloatArray) -> NDArray[np.float64]:
        """Return the quantiles at any levels."""
        return self.distribution(output).quantile(taus)
