# mypy: disable-error-code="import-untyped,import-not-found"
"""The Cox model and the accelerated failure time models of lifelines."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from censquant._typing import Floats
from censquant.adapters._predictions import survival_curves_of
from censquant.survival import Target
from censquant_bench.peers._base import CurvePeer, Peer, Standardizer

# Relative to the mean log-likelihood: it lets collinear columns pass and shrinks by a thousandth.
_PENALIZER = 1e-3


class LifelinesCox(CurvePeer):
    """Cox regression with Breslow's baseline: ``CoxPHFitter(penalizer=1e-3)``.

    Features are standardised and constant ones dropped; the ridge penalty is for collinear ones.
    """

    package: ClassVar[str] = "lifelines"
    module: ClassVar[str] = "lifelines"

    def _fit(self, X: Floats, target: Target, seed: int) -> None:
        from lifelines import CoxPHFitter

        self._features = Standardizer.fit(X)
        model = CoxPHFitter(penalizer=_PENALIZER)
        self._model = _fitted(model, self._features(X), target)

    def _survival(self, X: Floats) -> tuple[Floats, Floats]:
        return survival_curves_of(self._model, _frame(self._features(X)))


class _AFTPeer(Peer):
    """A parametric model of lifelines, whose quantiles have a closed form."""

    package: ClassVar[str] = "lifelines"
    module: ClassVar[str] = "lifelines"
    needs_positive_times: ClassVar[bool] = True

    def _fit(self, X: Floats, target: Target, seed: int) -> None:
        self._features = Standardizer.fit(X)
        self._model = _fitted(self._unfitted(), self._features(X), target)

    def _predict(self, X: Floats, levels: Floats) -> Floats:
        rows = _frame(self._features(X))
        # lifelines counts levels from the other end: the share that is still without the event.
        times = [self._model.predict_percentile(rows, p=1.0 - level) for level in levels]
        return np.column_stack([np.asarray(column, dtype=np.float64) for column in times])

    @abstractmethod
    def _unfitted(self) -> Any:
        """Model with its settings."""


class LogNormalAFT(_AFTPeer):
    """Log-normal times, mean linear in the features: ``LogNormalAFTFitter(penalizer=1e-3)``.

    The spread is one for all rows, the library's default. Times must be positive: where some are
    not, all are moved until the smallest is a hundredth of the range, and predictions moved back.
    """

    def _unfitted(self) -> Any:
        from lifelines import LogNormalAFTFitter

        return LogNormalAFTFitter(penalizer=_PENALIZER)


class WeibullAFT(_AFTPeer):
    """Weibull times, scale log-linear in the features: ``WeibullAFTFitter(penalizer=1e-3)``.

    The shape is one for all rows, the library's default. Times that are not positive are treated
    as in `LogNormalAFT`.
    """

    def _unfitted(self) -> Any:
        from lifelines import WeibullAFTFitter

        return WeibullAFTFitter(penalizer=_PENALIZER)


def _frame(X: Floats) -> Any:
    """Features as the table that lifelines reads them from."""
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{column}" for column in range(X.shape[1])])


def _fitted(model: Any, X: Floats, target: Target) -> Any:
    """Model after a fit to features, times and events."""
    table = _frame(X).assign(time=target.time, event=target.event)
    return model.fit(table, duration_col="time", event_col="event")
