"""What a fitted model has learned: dependence on features, importance, effects."""

from typing import NoReturn

from censquant._plugins import moved_to_bench
from censquant.inspection._contrast import Contrast, contrast
from censquant.inspection._contributions import Contributions, contributions
from censquant.inspection._effects import (
    PartialDependence,
    PermutationImportance,
    partial_dependence,
    permutation_importance,
)
from censquant.inspection._failures import (
    ExpectedFailures,
    expected_failures,
)

__all__ = [
    "Contrast",
    "Contributions",
    "ExpectedFailures",
    "PartialDependence",
    "PermutationImportance",
    "contrast",
    "contributions",
    "expected_failures",
    "partial_dependence",
    "permutation_importance",
]


def __getattr__(name: str) -> NoReturn:
    raise moved_to_bench(__name__, name, ("MethodRanks", "rank_methods"))
