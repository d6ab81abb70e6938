"""Predictions of any fitted model as quantiles, whichever library it comes from."""

from censquant.adapters._curves import quantiles_from_survival
from censquant.adapters._predictions import predict_quantiles_of, survival_of

__all__ = ["predict_quantiles_of", "quantiles_from_survival", "survival_of"]
