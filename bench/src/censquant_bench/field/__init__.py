"""What only the field's comparison needs: its sets and folds, scores, published ranks and tables.

L. Burk, J. Zobolas, B. Bischl, A. Bender, M. N. Wright, M. Lang and R. Sonabend (2026). A
large-scale neutral comparison study of survival models on low-dimensional data. arXiv:2406.04098v2.
"""

from censquant_bench.field._isbs import evaluation_times, integrated_survival_brier
from censquant_bench.field._published import LEARNERS, PublishedScores
from censquant_bench.field._standing import Standing, critical_difference, standing
from censquant_bench.field._suite import (
    FIELD_BENCHMARK_DATASETS,
    FIELD_METHODS,
    FIELD_SUITE,
    FieldConventions,
)
from censquant_bench.field._tables import field_tables

__all__ = [
    "FIELD_BENCHMARK_DATASETS",
    "FIELD_METHODS",
    "FIELD_SUITE",
    "LEARNERS",
    "FieldConventions",
    "PublishedScores",
    "Standing",
    "critical_difference",
    "evaluation_times",
    "field_tables",
    "integrated_survival_brier",
    "standing",
]
