"""Bounds around any model: cross-fitting, censoring model, subgroups, coverage, files."""

from censquant.estimators.meta._bounds._calibrates import CalibratesBounds
from censquant.estimators.meta._bounds._coverage_table import CoverageRow, CoverageTable
from censquant.estimators.meta._bounds._cross_fit import (
    CrossFitted,
    base_model,
    cross_fitted,
    curve_table,
    prefitted,
)
from censquant.estimators.meta._bounds._files import conformal_part, restored_conformal
from censquant.estimators.meta._bounds._graph import conformal_graph
from censquant.estimators.meta._bounds._shift import ShiftTest, numbers_of
from censquant.estimators.meta._bounds._subgroups import subgroup_labels

__all__ = [
    "CalibratesBounds",
    "CoverageRow",
    "CoverageTable",
    "CrossFitted",
    "ShiftTest",
    "base_model",
    "conformal_graph",
    "conformal_part",
    "cross_fitted",
    "curve_table",
    "numbers_of",
    "prefitted",
    "restored_conformal",
    "subgroup_labels",
]
