"""What a method is to the training loop."""

from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from censquant._engine.networks import FloatArray
from censquant._engine.training._rows import Rows


class Objective(Protocol):
    """What a method minimises, and how the network's outputs become quantiles.

    Methods differ in nothing else. ``README.md`` in this folder shows how to add one.
    """

    @property
    def n_outputs(self) -> int:
        """Number of outputs that the network must give."""
        ...

    def bind(self, train: Rows) -> Self:
        """Return a new objective that holds what depends on the training rows.

        Where rows are not in memory, it receives a uniform sample of them. It is separate from
        :meth:`prepare` because validation rows are also prepared, with the constants of the
        training rows.
        """
        ...

    def prepare(self, rows: Rows) -> Rows:
        """Drop or weight rows; of rows that are not in memory none may be dropped."""
        ...

    def gradient(self, output: FloatArray, batch: Rows, out: FloatArray) -> float:
        """Return the batch's mean loss and write its derivative by ``output`` into ``out``."""
        ...

    def validation_loss(self, output: FloatArray, rows: Rows) -> float:
        """Return the mean loss by which epochs are compared when stopping early."""
        ...

    def quantiles(self, output: FloatArray, taus: FloatArray) -> NDArray[np.float64]:
        """Return the quantiles at ``taus``, in model units.

        A method with one output per level is asked for its own levels only; one that predicts a
        distribution computes any level.
        """
        ...
