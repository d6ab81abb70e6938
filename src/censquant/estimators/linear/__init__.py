"""Linear censored quantile regression: the estimators of R's quantreg::crq."""

from censquant.estimators.linear._estimator import LinearQuantileRegressor
from censquant.estimators.linear._summary import CoefficientSummary

__all__ = ["CoefficientSummary", "LinearQuantileRegressor"]
