"""Tables in files: read with the options they need, and predicted in pieces of bounded memory."""

try:
    import pyarrow as _pyarrow  # noqa: F401, ICN001
except ImportError as error:
    raise ImportError(
        'censquant.io needs pyarrow. Install it with: pip install "censquant[cli]"'
    ) from error

from censquant.io._dataset import SurvivalBlocks
from censquant.io._options import TableError, TextOptions
from censquant.io._predict import PredictedDataset, PredictedFile, predict_dataset, predict_file
from censquant.io._predictor import ray_predictor, spark_predictor, spark_schema
from censquant.io._table import read_table
from censquant.io._target import TargetColumns

__all__ = [
    "PredictedDataset",
    "PredictedFile",
    "SurvivalBlocks",
    "TableError",
    "TargetColumns",
    "TextOptions",
    "predict_dataset",
    "predict_file",
    "ray_predictor",
    "read_table",
    "spark_predictor",
    "spark_schema",
]
