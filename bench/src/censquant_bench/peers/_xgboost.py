# mypy: disable-error-code="import-untyped,import-not-found"
"""XGBoost's accelerated failure time model."""

from typing import Any, ClassVar

import numpy as np

from censquant._typing import Floats
from censquant.survival import Target
from censquant_bench.peers._base import Peer, held_out

# Smallest scale, as a share of the spread of the logarithms: no features predict more sharply.
_SMALLEST_SCALE = 1e-3


class BoostedAFT(Peer):
    """Log-normal times with a boosted location: objective ``survival:aft``.

    Trees and stopping are those of the library's own survival tutorial: depth 2, learning rate
    0.05, a patience of 50 rounds on a fifth of the rows. A quantile is
    ``prediction * exp(scale * z)`` with z that of the standard normal distribution. The library
    takes the scale as given, and a constant one is wrong for most data: at the tutorial's 1.2 on
    times whose logarithm spreads by 0.15, the first tree stops the fit. So it is estimated, as all
    other parametric methods do: a first fit with the spread of the logarithms, the likeliest scale
    around its predictions of the held-out rows, and a second fit with that.

    Times must be positive: where some are not, all are moved until the smallest is a hundredth of
    the range, and predictions moved back.
    """

    package: ClassVar[str] = "xgboost"
    module: ClassVar[str] = "xgboost"
    needs_positive_times: ClassVar[bool] = True

    _MAX_ROUNDS = 10_000
    _PATIENCE = 50

    def _fit(self, X: Floats, target: Target, seed: int) -> None:
        train, validation = held_out(target.event, seed)
        rows = X[train], target.take(train), X[validation], target.take(validation)
        spread = max(float(np.std(np.log(target.time))), _SMALLEST_SCALE)
        self._boost(*rows, spread, seed)
        self._boost(*rows, _likeliest_scale(rows[3], self._median(rows[2]), spread), seed)

    def _boost(
        self, X: Floats, target: Target, X_val: Floats, judged: Target, scale: float, seed: int
    ) -> None:
        """Fit the location around which the logarithms spread by the given scale."""
        import xgboost

        settings = {
            "objective": "survival:aft",
            "eval_metric": "aft-nloglik",
            "aft_loss_distribution": "normal",
            "aft_loss_distribution_scale": scale,
            # The default, half a unit of time, costs rounds that depend on the unit.
            "base_score": float(np.exp(np.log(target.time).mean())),
            "tree_method": "hist",
            "learning_rate": 0.05,
            "max_depth": 2,
            "nthread": 1,
            "seed": seed,
        }
        self._scale = scale
        self._model = xgboost.train(
            settings,
            _table(X, target),
            num_boost_round=self._MAX_ROUNDS,
            evals=[(_table(X_val, judged), "validation")],
            early_stopping_rounds=self._PATIENCE,
            verbose_eval=False,
        )

    def _median(self, X: Floats) -> Floats:
        """Median time of each row, by the trees up to the best round."""
        import xgboost

        best = (0, self._model.best_iteration + 1)
        median = self._model.predict(xgboost.DMatrix(X, nthread=1), iteration_range=best)
        return np.asarray(median, dtype=np.float64)

    def _predict(self, X: Floats, levels: Floats) -> Floats:
        from scipy.special import ndtri

        factors: Floats = np.exp(self._scale * ndtri(levels))
        return self._median(X)[:, None] * factors


def _table(X: Floats, target: Target) -> Any:
    """Rows with the bounds between which each time lies."""
    import xgboost

    upper = np.where(target.event, target.time, np.inf)
    return xgboost.DMatrix(X, label_lower_bound=target.time, label_upper_bound=upper, nthread=1)


def _likeliest_scale(target: Target, median: Floats, spread: float) -> float:
    """Scale of the normal logarithms around their medians, by maximum likelihood."""
    from scipy.optimize import minimize_scalar
    from scipy.special import log_ndtr

    residual = np.log(target.time) - np.log(median)

    def deviance(log_scale: float) -> float:
        z = residual * np.exp(-log_scale)
        each = np.where(target.event, -0.5 * z**2 - log_scale, log_ndtr(-z))
        return -float(each.sum())

    bounds = np.log(spread * _SMALLEST_SCALE), np.log(10.0 * spread)
    found = minimize_scalar(deviance, bounds=bounds, method="bounded")
    return float(np.exp(found.x))
