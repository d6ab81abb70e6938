"""Bounds around any model: cross-fitting, censoring model, subgroups, coverage, files."""

from censquant.estimators.meta._bounds._calibration import Calibration, Groups
from censquant.estimators.meta._bounds._censoring_model import (
    CensoringModel,
    censoring_model,
    clipped_share,
)
from censquant.estimators.meta._bounds._coverage_table import CoverageRow, CoverageTable
from censquant.estimators.meta._bounds._cross_fit import (
    CrossFitted,
    FitRows,
    base_model,
    cross_fitted,
    curve_table,
    prefitted,
)
from censquant.estimators.meta._bounds._files import conformal_part, restored_conformal
from censquant.estimators.meta._bounds._shift import ShiftTest, numbers_of, shift_between
from censquant.estimators.meta._bounds._subgroups import subgroup_labels

__all__ = [
    "Calibration",
    "CensoringModel",
    "CoverageRow",
    "CoverageTable",
    "CrossFitted",
    "FitRows",
    "Groups",
    "ShiftTest",
    "base_model",
    "censoring_model",
    "clipped_share",
    "conformal_part",
    "cross_fitted",
    "curve_table",
    "numbers_of",
    "prefitted",
    "restored_conformal",
    "shift_between",
    "subgroup_labels",
]
