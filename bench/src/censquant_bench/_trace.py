"""The error against the truth, recorded while a network trains."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine.training._loop import Run
from censquant_bench._score import judged_levels
from censquant_bench._train_test import TrainTestData
from censquant_bench.metrics import true_quantile_mse


class QuantileTrace:
    """Callback that records the error against the true quantiles after every epoch.

    For fits in the unit of the data: ``standardize=False, time_transform=None``.

    Parameters
    ----------
    data : TrainTestData
        With true quantiles.
    taus : ndarray of shape (k,)
        Levels that are fitted.
    """

    def __init__(self, data: TrainTestData, taus: NDArray[np.float64]) -> None:
        if data.true_quantiles is None or data.X_known is None:
            raise ValueError("A trace needs a data set with known quantiles, a synthetic one.")
        self._judged = judged_levels(taus)
        self._taus = taus
        self._X: NDArray[Any] = data.X_known
        self._true = data.true_quantiles(taus[self._judged])
        self.errors: list[float] = []

    def on_start(self, run: Run) -> None:
        """There is nothing to record yet."""

    def on_epoch(self, run: Run) -> None:
        """Predict and compare."""
        values = run.objective.quantiles(run.network.predict(self._X), self._taus)
        self.errors.append(true_quantile_mse(values[:, self._judged], self._true))

    def on_end(self, run: Run) -> None:
        """Everything is recorded."""
