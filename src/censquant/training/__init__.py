"""The engine: one loop that trains any network on any objective."""

from censquant.training._callbacks import Callback, ProgressBar
from censquant.training._checkpoint import Checkpoint
from censquant.training._engine import Run, TrainingConfig, train, validation_loss
from censquant.training._objective import Objective
from censquant.training._parallel import side_by_side
from censquant.training._rows import Rows
from censquant.training._schedule import Schedule, StepDecay, WarmupCosine

__all__ = [
    "Callback",
    "Checkpoint",
    "Objective",
    "ProgressBar",
    "Rows",
    "Run",
    "Schedule",
    "StepDecay",
    "TrainingConfig",
    "WarmupCosine",
    "side_by_side",
    "train",
    "validation_loss",
]
