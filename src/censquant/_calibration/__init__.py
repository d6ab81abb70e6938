"""Bounds that cover: scores and corrections of predicted distributions under censoring."""

from importlib import import_module
from typing import Any

from censquant._calibration._aipcw import Aipcw
from censquant._calibration._candes import Candes
from censquant._calibration._censoring import CensoringCurves, CommonCensoring, ModelledCensoring
from censquant._calibration._chance import chance_before
from censquant._calibration._coverage import estimated_coverage
from censquant._calibration._dependence import censoring_dependence
from censquant._calibration._drcosarc import DrCosarc
from censquant._calibration._family import INDICES, BoundFamily
from censquant._calibration._gui import Gui
from censquant._calibration._ipcw import Ipcw
from censquant._calibration._km_pit import KmPit
from censquant._calibration._methods import METHODS
from censquant._calibration._miscoverage import MiscoverageCurve
from censquant._calibration._recalibration import Recalibration
from censquant._calibration._rows import CalibrationRows
from censquant._calibration._rules import (
    FEWEST_EVENTS,
    FOLLOWED_SHARE,
    BoundMethod,
    BoundRule,
    Calibrated,
    IndexRule,
    Side,
    consistent_bounds,
    end_of_follow_up,
    trivial_rule,
)
from censquant._calibration._split import Split

__all__ = [
    "FEWEST_EVENTS",
    "FOLLOWED_SHARE",
    "INDICES",
    "METHODS",
    "Aipcw",
    "BoundFamily",
    "BoundMethod",
    "BoundRule",
    "Calibrated",
    "CalibrationRows",
    "Candes",
    "CensoringCurves",
    "CommonCensoring",
    "ConformalSurvivalRegressor",
    "DrCosarc",
    "Gui",
    "IndexRule",
    "Ipcw",
    "KmPit",
    "MiscoverageCurve",
    "ModelledCensoring",
    "Recalibration",
    "Side",
    "Split",
    "censoring_dependence",
    "chance_before",
    "consistent_bounds",
    "end_of_follow_up",
    "estimated_coverage",
    "trivial_rule",
]


def __getattr__(name: str) -> Any:
    # The estimator lives in a higher layer, and is loaded only where somebody asks for it here.
    if name == "ConformalSurvivalRegressor":
        return getattr(import_module("censquant.estimators"), name)
    raise AttributeError(f"module 'censquant._calibration' has no attribute {name!r}")
