"""Corrections by name."""

from censquant.calibration._aipcw import Aipcw
from censquant.calibration._candes import Candes
from censquant.calibration._drcosarc import DrCosarc
from censquant.calibration._gui import Gui
from censquant.calibration._ipcw import Ipcw
from censquant.calibration._km_pit import KmPit
from censquant.calibration._rules import BoundMethod
from censquant.calibration._split import Split

METHODS: dict[str, BoundMethod] = {
    "aipcw": Aipcw(),
    "candes": Candes(),
    "drcosarc": DrCosarc(),
    "gui": Gui(),
    "ipcw": Ipcw(),
    "km-pit": KmPit(),
    "split": Split(),
}
"""Corrections by the names that users choose them by."""
