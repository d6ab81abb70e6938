"""Calibrated bounds around any model."""

from censquant.estimators.meta._bounds import CoverageRow, CoverageTable, ShiftTest
from censquant.estimators.meta._conformal import ConformalSurvivalRegressor

__all__ = ["ConformalSurvivalRegressor", "CoverageRow", "CoverageTable", "ShiftTest"]
