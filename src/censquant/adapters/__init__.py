"""Predictions of any fitted model as quantiles, whichever library it comes from."""

from censquant.adapters._final_model import final_model, is_left_censored
from censquant.adapters._inversion import quantiles_from_survival
from censquant.adapters._predictions import (
    adapted_curve,
    follow_up_end,
    is_supported,
    predict_quantiles_of,
    predicted_curve,
    restricted_mean_of,
    survival_curves_of,
    survival_of,
)

__all__ = [
    "adapted_curve",
    "final_model",
    "follow_up_end",
    "is_left_censored",
    "is_supported",
    "predict_quantiles_of",
    "predicted_curve",
    "quantiles_from_survival",
    "restricted_mean_of",
    "survival_curves_of",
    "survival_of",
]
