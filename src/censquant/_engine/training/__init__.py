"""The engine: one loop that trains any network on any objective."""

from censquant._engine.training._checkpoint import Checkpoint
from censquant._engine.training._loop import (
    Callback,
    Objective,
    ProgressBar,
    Run,
    Schedule,
    StepDecay,
    TrainingConfig,
    WarmupCosine,
    train,
    validation_loss,
)
from censquant._engine.training._parallel import side_by_side, stop_if_asked
from censquant._engine.training._rows import Rows, RowSource
from censquant._engine.training._shard_writer import BlockStream, Scaling, write_shards
from censquant._engine.training._shards import FeatureMoments, ShardFolder, ShardRows, StreamSummary

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
