# mypy: disable-error-code="import-untyped,import-not-found"
"""scikit-survival's Cox model, random survival forest and boosted Cox model.

scikit-survival is GPL: these adapters call it where a user has installed it, nothing more.
"""

from abc import abstractmethod
from typing import Any, ClassVar

from censquant._typing import Floats
from censquant.adapters._predictions import survival_curves_of
from censquant.survival import Surv, Target
from censquant_bench.peers._base import CurvePeer, Standardizer, event_grid, rounded_up


class _SksurvPeer(CurvePeer):
    """A model of scikit-survival, which gives P(T > t) at the distinct times it was fitted on."""

    package: ClassVar[str] = "scikit-survival"
    # Ranks decide, so that moving the times of a set with negative ones changes nothing.
    needs_positive_times: ClassVar[bool] = True

    def _fit(self, X: Floats, target: Target, seed: int) -> None:
        self._features = Standardizer.fit(X)
        y = Surv.from_arrays(target.event, target.time)
        self._model = self._unfitted(seed).fit(self._features(X), y)

    def _survival(self, X: Floats) -> tuple[Floats, Floats]:
        return survival_curves_of(self._model, self._features(X))

    @abstractmethod
    def _unfitted(self, seed: int) -> Any:
        """Model with its settings."""


class RidgeCox(_SksurvPeer):
    """Cox regression with Breslow's baseline: ``CoxPHSurvivalAnalysis(alpha=0.1)``.

    The ridge penalty is next to nothing against the information of a hundred events and lets
    collinear columns pass; features are standardised and constant ones dropped.
    """

    module: ClassVar[str] = "sksurv.linear_model"

    def _unfitted(self, seed: int) -> Any:
        from sksurv.linear_model import CoxPHSurvivalAnalysis

        return CoxPHSurvivalAnalysis(alpha=0.1)


class SurvivalForest(_SksurvPeer):
    """Random survival forest: ``RandomSurvivalForest`` of 100 trees, leaves of 15 rows.

    The leaf size is that of the library's own guide. Every node of every tree keeps a curve over
    all distinct times, gigabytes for thousands of rows; so times are rounded up to 200 quantiles
    of the event times before the fit, and the curve is linear between them. The time of a tree
    grows much faster than its rows, so that each is grown on 2,000 drawn ones at most.
    """

    module: ClassVar[str] = "sksurv.ensemble"

    _GRID_SIZE = 200
    _MAX_ROWS = 2000

    def _fit(self, X: Floats, target: Target, seed: int) -> None:
        grid = event_grid(target.time, target.event, self._GRID_SIZE)
        self._rows_per_tree = min(len(X), self._MAX_ROWS)
        super()._fit(X, Target(rounded_up(target.time, grid), target.event), seed)

    def _unfitted(self, seed: int) -> Any:
        from sksurv.ensemble import RandomSurvivalForest

        return RandomSurvivalForest(
            n_estimators=100,
            min_samples_split=10,
            min_samples_leaf=15,
            max_features="sqrt",
            max_samples=self._rows_per_tree,
            n_jobs=1,
            random_state=seed,
        )


class BoostedCox(_SksurvPeer):
    """Trees boosted on Cox's partial likelihood: ``GradientBoostingSurvivalAnalysis``.

    The library's trees of depth 3 on all rows. A round costs the square of the rows, so that 40
    rounds at a learning rate of 0.25 stand for the default of 100 at 0.1.
    """

    module: ClassVar[str] = "sksurv.ensemble"

    def _unfitted(self, seed: int) -> Any:
        from sksurv.ensemble import GradientBoostingSurvivalAnalysis

        return GradientBoostingSurvivalAnalysis(
            loss="coxph", n_estimators=40, learning_rate=0.25, random_state=seed
        )
