"""What only the field's comparison needs: its sets and folds, scores, published ranks and tables.

L. Burk, J. Zobolas, B. Bischl, A. Bender, M. N. Wright, M. Lang and R. Sonabend (2026). A
large-scale neutral comparison study of survival models on low-dimensional data. arXiv:2406.04098v2.
"""

from censquant_bench.field._published import LEARNERS, PublishedScores
from censquant_bench.field._suite import (
    FIELD_BENCHMARK_DATASETS,
    FIELD_COMPARISON,
    FIELD_GROUPS,
    FIELD_METHODS,
    FIELD_SUITE,
    FieldConventions,
)

__all__ = [
    "FIELD_BENCHMARK_DATASETS",
    "FIELD_COMPARISON",
    "FIELD_GROUPS",
    "FIELD_METHODS",
    "FIELD_SUITE",
    "LEARNERS",
    "FieldConventions",
    "PublishedScores",
]
