"""The engine: one loop that trains any network on any objective."""

from censquant._engine.training._callbacks import Callback, ProgressBar
from censquant._engine.training._checkpoint import Checkpoint
from censquant._engine.training._engine import Run, TrainingConfig, train, validation_loss
from censquant._engine.training._interrupts import stop_if_asked
from censquant._engine.training._moments import FeatureMoments
from censquant._engine.training._objective import Objective
from censquant._engine.training._parallel import side_by_side
from censquant._engine.training._rows import Rows
from censquant._engine.training._schedule import Schedule, StepDecay, WarmupCosine
from censquant._engine.training._shard_folder import ShardFolder
from censquant._engine.training._shard_writer import BlockStream, Scaling, write_shards
from censquant._engine.training._shards import ShardRows
from censquant._engine.training._source import RowSource
from censquant._engine.training._summary import StreamSummary

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
