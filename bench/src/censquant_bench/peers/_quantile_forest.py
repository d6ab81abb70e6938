# mypy: disable-error-code="import-untyped,import-not-found"
"""The quantile regression forest of quantile-forest, censoring ignored."""

from typing import ClassVar

import numpy as np

from censquant._typing import Floats
from censquant.survival import Target
from censquant_bench.peers._base import Peer


class NaiveQuantileForest(Peer):
    """A warning example: ``RandomForestQuantileRegressor`` on the observed times.

    Every time counts as that of an event. A censored row's event came later than its time, so
    that what is learned are the quantiles of min(T, C), which lie below those of T at every
    level: the more is censored, the lower. 100 trees with leaves of 15 rows, as in the survival
    forest beside it, so that the two differ by what they make of censoring.
    """

    package: ClassVar[str] = "quantile-forest"
    module: ClassVar[str] = "quantile_forest"

    def _fit(self, X: Floats, target: Target, seed: int) -> None:
        from quantile_forest import RandomForestQuantileRegressor

        model = RandomForestQuantileRegressor(min_samples_leaf=15, random_state=seed)
        self._model = model.fit(X, target.time)

    def _predict(self, X: Floats, levels: Floats) -> Floats:
        values = self._model.predict(X, quantiles=levels.tolist())
        return np.asarray(values, dtype=np.float64).reshape(len(X), levels.size)
