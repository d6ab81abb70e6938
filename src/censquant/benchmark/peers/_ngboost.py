# mypy: disable-error-code="import-untyped,import-not-found"
"""NGBoost's survival regression."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from censquant.benchmark.peers._base import Peer
from censquant.survival import Target

Floats = NDArray[np.float64]


class LogNormalNGBoost(Peer):
    """Log-normal times with boosted location and spread: ``NGBSurvival(Dist=LogNormal)``.

    The library's defaults: 500 rounds of trees of depth 3, learning rate 0.01, natural gradients
    of the censored likelihood. Times must be positive: where some are not, all are moved until the
    smallest is a hundredth of the range, and predictions moved back.
    """

    package: ClassVar[str] = "ngboost"
    module: ClassVar[str] = "ngboost"
    needs_positive_times: ClassVar[bool] = True

    def _fit(self, X: Floats, target: Target, seed: int) -> None:
        from ngboost import NGBSurvival
        from ngboost.distns import LogNormal

        self._model = NGBSurvival(Dist=LogNormal, verbose=False, random_state=seed)
        # The line search tries steps at which the spread is 0, and takes none of them.
        with np.errstate(all="ignore"):
            self._model.fit(X, target.time, target.event)

    def _predict(self, X: Floats, levels: Floats) -> Floats:
        distribution = self._model.pred_dist(X)
        return np.column_stack([distribution.ppf(level) for level in levels])
