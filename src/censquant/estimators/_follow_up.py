"""How long rows like this one were followed: the ground for saying what is identified."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant.networks import DenseNetwork
from censquant.objectives import Pinball
from censquant.quantiles import QuantileCurve
from censquant.training import Rows, TrainingConfig, train

# The upper levels matter: a quantile is identified while a few rows are still under observation.
LEVELS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99)
_HIDDEN_UNITS = 32
# Fixed, and cheap beside the members: a few hundred steps settle so small a network.
_CONFIG = TrainingConfig(max_epochs=500, max_steps=500, learning_rate=0.02)


class FollowUp:
    """Quantiles of the observed time, event or censoring, whichever came first.

    The observed time is never censored, so plain quantile regression on a small network is enough.
    """

    def __init__(self, n_inputs: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self.train_seconds = 0.0
        self.network = DenseNetwork(
            [n_inputs, _HIDDEN_UNITS, len(LEVELS)], activation="gelu", rng=rng
        )

    def train(self, rows: Rows) -> None:
        """Learn from all rows; it is short, so Ctrl-C does not leave it out."""
        start = time.perf_counter()
        flat = replace(rows, x=rows.x.reshape(len(rows), -1))
        train(self.network, Pinball(LEVELS), flat, _CONFIG, self._rng)
        self.train_seconds = time.perf_counter() - start

    def curve(self, x: NDArray[Any]) -> QuantileCurve:
        """Return the quantile curves on the scale of training."""
        values = self.network.predict(x.reshape(len(x), -1))
        return QuantileCurve.from_own(values, np.asarray(LEVELS))
