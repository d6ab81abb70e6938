"""Pools: candidates cross-fitted, weighted by held-out scores, and mixed into one distribution."""

from censquant.estimators.meta._pool._candidates import prepared_copy, release, weight_argument
from censquant.estimators.meta._pool._model import Pool, read_plain_features
from censquant.estimators.meta._pool._prior import FixedPrior, LikelihoodPrior, Prior
from censquant.estimators.meta._pool._table import POOL, CandidateRow, CandidateTable, PoolSummary

__all__ = [
    "POOL",
    "CandidateRow",
    "CandidateTable",
    "FixedPrior",
    "LikelihoodPrior",
    "Pool",
    "PoolSummary",
    "Prior",
    "prepared_copy",
    "read_plain_features",
    "release",
    "weight_argument",
]
