"""Bounds around any model: cross-fitting, censoring model, subgroups, coverage, files."""

from censquant.estimators.meta._bounds._coverage_table import CoverageRow, CoverageTable
from censquant.estimators.meta._bounds._cross_fit import (
    CrossFitted,
    base_model,
    cross_fitted,
    curve_table,
    prefitted,
)
from censquant.estimators.meta._bounds._exporting import ExportsBounds
from censquant.estimators.meta._bounds._files import (
    restore_bounds,
    store_bounds,
    without_rows,
)
from censquant.estimators.meta._bounds._shift import ShiftTest, numbers_of
from censquant.estimators.meta._bounds._subgroups import subgroup_labels

__all__ = [
    "CoverageRow",
    "CoverageTable",
    "CrossFitted",
    "ExportsBounds",
    "ShiftTest",
    "base_model",
    "cross_fitted",
    "curve_table",
    "numbers_of",
    "prefitted",
    "restore_bounds",
    "store_bounds",
    "subgroup_labels",
    "without_rows",
]
