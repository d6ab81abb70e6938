"""A fitted model beside the rows that it is judged on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant.adapters import predict_quantiles_of, survival_of
from censquant.adapters._predictions import (
    final_model,
    follow_up_end,
    is_left_censored,
    is_supported,
    restricted_mean_of,
)
from censquant.metrics._known_censoring import censored_at
from censquant.metrics._mirror import Mirror
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import DEFAULT_QUANTILES
from censquant.quantiles._interpolation import sorted_rows
from censquant.survival import Target, read_target
from censquant.survival._kaplan_meier import default_horizon


@dataclass(frozen=True, eq=False)
class Judged:
    """Rows to score, with their weights, and what a model predicts for them.

    Left-censored times are mirrored, and so are the predictions.
    """

    model: Any
    X: Any
    target: Target
    sample_weight: ArrayLike | None
    mirror: Mirror | None

    @classmethod
    def read(cls, estimator: Any, X: Any, y: object, sample_weight: ArrayLike | None) -> "Judged":
        """Return the rows of ``y`` with the model inside searches and pipelines."""
        model, features = final_model(estimator, X)
        target = read_target(y)
        if not is_left_censored(model):
            return cls(model, features, target, sample_weight, None)
        mirror = Mirror(float(target.time.max()))
        return cls(model, features, mirror.target(target), sample_weight, mirror)

    @property
    def y(self) -> tuple[Floats, Any]:
        """Times and events in a form that every metric reads."""
        return self.target.time, self.target.event

    def within_follow_up(self) -> Target:
        """Return the target with rows censored where the training rows end, or as it is."""
        if self.mirror is not None:
            known = getattr(self.model, "follow_up_", None)
            end = None if known is None else self.mirror.origin - float(known[0])
        else:
            end = follow_up_end(self.model)
        return self.target if end is None else censored_at(self.target, end)

    def quantiles(self) -> tuple[Floats, Floats]:
        """Return predicted quantiles and their levels: the fitted ones if the model has them."""
        taus = np.asarray(getattr(self.model, "quantiles_", DEFAULT_QUANTILES), dtype=np.float64)
        values = predict_quantiles_of(self.model, self.X, taus)
        return (values, taus) if self.mirror is None else self.mirror.quantiles(values, taus)

    def survival(self, times: Floats) -> Floats:
        """Return survival probabilities at common times."""
        if self.mirror is None:
            return survival_of(self.model, self.X, times)
        return self._curve().survival(times)

    def medians(self) -> Floats:
        """Return the median of each row, or its plain prediction; higher is later."""
        if not is_supported(self.model):
            return self._plain()
        median = predict_quantiles_of(self.model, self.X, (0.5,))[:, 0]
        return median if self.mirror is None else self.mirror.origin - median

    def restricted_means(self) -> Floats:
        """Return the expected time of each row up to a horizon; higher is later.

        An estimator of this library has a horizon of its own, from its training rows; for all
        others it is that of the rows to score. Where the model predicts a single time per row,
        that time takes its place.
        """
        if not is_supported(self.model):
            return self._plain()
        if np.size(getattr(self.model, "quantiles_", DEFAULT_QUANTILES)) == 1:
            return self.quantiles()[0][:, 0]
        horizon = default_horizon(self.target.time, self.sample_weight)
        if self.mirror is not None:
            return self._curve().restricted_mean(horizon)
        if hasattr(self.model, "predict_restricted_mean"):
            return np.asarray(self.model.predict_restricted_mean(self.X), dtype=np.float64)
        return restricted_mean_of(self.model, self.X, horizon)

    def _curve(self) -> QuantileCurve:
        """Return the distributions through the predicted quantiles."""
        values, taus = self.quantiles()
        return QuantileCurve(sorted_rows(values), taus)

    def _plain(self) -> Floats:
        """Return the predictions of a model that has neither quantiles nor curves."""
        is_risk = getattr(self.model, "_predict_risk_score", _is_of_scikit_survival(self.model))
        side = -1.0 if is_risk else 1.0
        return side * np.asarray(self.model.predict(self.X), dtype=np.float64)


def _is_of_scikit_survival(model: Any) -> bool:
    """Whether a model predicts risks unless it says otherwise, as scikit-survival's do."""
    return any(kind.__name__ == "SurvivalAnalysisMixin" for kind in type(model).__mro__)
