"""Corrections by name."""

from censquant._calibration._aipcw import Aipcw
from censquant._calibration._candes import Candes
from censquant._calibration._drcosarc import DrCosarc
from censquant._calibration._gui import Gui
from censquant._calibration._ipcw import Ipcw
from censquant._calibration._km_pit import KmPit
from censquant._calibration._rules import BoundMethod
from censquant._calibration._split import Split

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
