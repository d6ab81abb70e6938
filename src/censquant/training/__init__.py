"""The engine: one loop that trains any network on any objective."""

from censquant.training._callbacks import Callback, ProgressBar
from censquant.training._checkpoint import Checkpoint
from censquant.training._engine import Run, TrainingConfig, train, validation_loss
from censquant.training._interrupts import stop_if_asked
from censquant.training._moments import FeatureMoments
from censquant.training._objective import Objective
from censquant.training._parallel import side_by_side
from censquant.training._rows import Rows
from censquant.training._schedule import Schedule, StepDecay, WarmupCosine
from censquant.training._shard_folder import ShardFolder
from censquant.training._shard_writer import BlockStream, Scaling, write_shards
from censquant.training._shards import ShardRows
from censquant.training._source import RowSource
from censquant.training._summary import StreamSummary

__all__ = [
    "BlockStream",
    "Callback",
    "Checkpoint",
    "FeatureMoments",
    "Objective",
    "ProgressBar",
    "RowSource",
    "Rows",
    "Run",
    "Scaling",
    "Schedule",
    "ShardFolder",
    "ShardRows",
    "StepDecay",
    "StreamSummary",
    "TrainingConfig",
    "WarmupCosine",
    "side_by_side",
    "stop_if_asked",
    "train",
    "validation_loss",
    "write_shards",
]
