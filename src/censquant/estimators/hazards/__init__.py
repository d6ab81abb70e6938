"""Models of hazards: the features act on the chance of an event at every moment."""

from censquant.estimators.hazards._cox import CoxQuantileRegressor

__all__ = ["CoxQuantileRegressor"]
