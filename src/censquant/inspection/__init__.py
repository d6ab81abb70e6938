"""What a fitted model has learned: dependence on features, importance, contributions, ranks."""

from censquant.inspection._contributions import Contributions, contributions
from censquant.inspection._effects import (
    PartialDependence,
    PermutationImportance,
    partial_dependence,
    permutation_importance,
)
from censquant.inspection._failures import (
    ExpectedFailures,
    ExpectedFailuresRow,
    expected_failures,
)
from censquant.inspection._ranks import MethodRanks, rank_methods
from censquant.inspection._table import FeatureTable

__all__ = [
    "Contributions",
    "ExpectedFailures",
    "ExpectedFailuresRow",
    "FeatureTable",
    "MethodRanks",
    "PartialDependence",
    "PermutationImportance",
    "contributions",
    "expected_failures",
    "partial_dependence",
    "permutation_importance",
    "rank_methods",
]
