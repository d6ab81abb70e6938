"""Linear censored quantile regression: the estimators of R's quantreg::crq."""

from censquant.estimators._summary import CoefficientSummary
from censquant.estimators.linear._estimator import LinearQuantileRegressor

__all__ = ["CoefficientSummary", "LinearQuantileRegressor"]
