"""Bounds that cover: scores and corrections of predicted distributions under censoring."""

from importlib import import_module
from typing import Any

from censquant.calibration._aipcw import Aipcw
from censquant.calibration._bounds_graph import (
    CommonCensoringGraph,
    GraphCensoring,
    ModelledCensoringGraph,
    bounds_graph,
)
from censquant.calibration._candes import Candes
from censquant.calibration._censoring import CensoringCurves, CommonCensoring, ModelledCensoring
from censquant.calibration._chance import chance_before
from censquant.calibration._coverage import estimated_coverage
from censquant.calibration._dependence import censoring_dependence
from censquant.calibration._drcosarc import DrCosarc
from censquant.calibration._family import INDICES, BoundFamily
from censquant.calibration._gui import Gui
from censquant.calibration._ipcw import Ipcw
from censquant.calibration._km_pit import KmPit
from censquant.calibration._methods import METHODS
from censquant.calibration._miscoverage import MiscoverageCurve
from censquant.calibration._recalibration import Recalibration
from censquant.calibration._recalibration_graph import recalibrated_graph
from censquant.calibration._rows import CalibrationRows
from censquant.calibration._rules import (
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
from censquant.calibration._split import Split

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
    "CommonCensoringGraph",
    "ConformalSurvivalRegressor",
    "DrCosarc",
    "GraphCensoring",
    "Gui",
    "IndexRule",
    "Ipcw",
    "KmPit",
    "MiscoverageCurve",
    "ModelledCensoring",
    "ModelledCensoringGraph",
    "Recalibration",
    "Side",
    "Split",
    "bounds_graph",
    "censoring_dependence",
    "chance_before",
    "consistent_bounds",
    "end_of_follow_up",
    "estimated_coverage",
    "recalibrated_graph",
    "trivial_rule",
]


def __getattr__(name: str) -> Any:
    # The estimator lives in a higher layer, and is loaded only where somebody asks for it here.
    if name == "ConformalSurvivalRegressor":
        return getattr(import_module("censquant.estimators"), name)
    raise AttributeError(f"module 'censquant.calibration' has no attribute {name!r}")
