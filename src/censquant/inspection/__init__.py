"""What a model has learned and what follows from it: effects, fleets, and who is in the data."""

from typing import NoReturn

from censquant._plugins import moved_to_bench
from censquant.inspection._cohort import CohortTable, cohort_table
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
from censquant.inspection._fleet import fleet_table
from censquant.inspection._replacement import ReplacementPolicy, replacement_policy

__all__ = [
    "CohortTable",
    "Contrast",
    "Contributions",
    "ExpectedFailures",
    "PartialDependence",
    "PermutationImportance",
    "ReplacementPolicy",
    "cohort_table",
    "contrast",
    "contributions",
    "expected_failures",
    "fleet_table",
    "partial_dependence",
    "permutation_importance",
    "replacement_policy",
]


def __getattr__(name: str) -> NoReturn:
    raise moved_to_bench(__name__, name, ("MethodRanks", "rank_methods"))
