# mypy: disable-error-code="import-untyped,import-not-found"
"""Conformalized quantile regression of MAPIE, censoring ignored."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from censquant._typing import Floats
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import DEFAULT_QUANTILES
from censquant.survival import Target
from censquant_bench.peers._base import Peer, held_out

_LEVELS = np.array(DEFAULT_QUANTILES)
_N_PAIRS = len(DEFAULT_QUANTILES) // 2


class NaiveConformalQuantiles(Peer):
    """A warning example: ``ConformalizedQuantileRegressor`` on the observed times.

    Every time counts as that of an event. A censored row's event came later than its time, so
    that the intervals cover min(T, C) with the nominal probability and not T: all quantiles are
    biased low, and the nominal coverage hides it.

    MAPIE gives intervals, not quantiles. The interval of confidence 1 - 2 tau stands for the
    levels tau and 1 - tau, each bound corrected on its own (``symmetric_correction=False``), and
    the median is that of the base model. So the nine pairs of 0.05, 0.10, ..., 0.95 are fitted,
    and other levels read from the curve through them, which beyond 0.95 is an extrapolation. The
    base model is scikit-learn's ``HistGradientBoostingRegressor`` with its defaults, one per level;
    a fifth of the rows is for the correction.
    """

    package: ClassVar[str] = "mapie"
    module: ClassVar[str] = "mapie.regression"

    def _fit(self, X: Floats, target: Target, seed: int) -> None:
        from mapie.regression import ConformalizedQuantileRegressor
        from sklearn.ensemble import HistGradientBoostingRegressor

        train, calibration = held_out(np.ones_like(target.event), seed)
        models = [
            HistGradientBoostingRegressor(loss="quantile", quantile=level, random_state=seed).fit(
                X[train], target.time[train]
            )
            for level in DEFAULT_QUANTILES
        ]
        self._median = models[_N_PAIRS]
        self._pairs: list[Any] = [
            ConformalizedQuantileRegressor(
                [models[pair], models[-1 - pair], self._median],
                confidence_level=1.0 - 2.0 * DEFAULT_QUANTILES[pair],
                prefit=True,
            ).conformalize(X[calibration], target.time[calibration])
            for pair in range(_N_PAIRS)
        ]

    def _predict(self, X: Floats, levels: Floats) -> Floats:
        values = np.empty((len(X), _LEVELS.size))
        values[:, _N_PAIRS] = self._median.predict(X)
        with _quiet_root_logger():
            for pair, regressor in enumerate(self._pairs):
                _, interval = regressor.predict_interval(X)
                values[:, pair], values[:, -1 - pair] = interval[:, 0, 0], interval[:, 1, 0]
        return QuantileCurve.from_predictions(values, _LEVELS).at(levels)


@contextmanager
def _quiet_root_logger() -> Iterator[None]:
    """Keep MAPIE's note on crossed bounds, which are sorted here, away from the caller's log.

    It is sent to the root logger after ``logging.basicConfig(level=logging.INFO)``, which would
    set up a handler and the level in the caller's process, had the logger none.
    """
    root, shield = logging.getLogger(), logging.NullHandler()

    def other(record: logging.LogRecord) -> bool:
        return "ill-sorted" not in record.getMessage()

    root.addHandler(shield)
    root.addFilter(other)
    try:
        yield
    finally:
        root.removeFilter(other)
        root.removeHandler(shield)
