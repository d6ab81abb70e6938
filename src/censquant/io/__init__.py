"""Tables in files: read as they are, asked about where they are not clear, predicted in pieces."""

from censquant.io._error import TableError
from censquant.io._leaks import columns_to_leave_out
from censquant.io._mapping import ray_predictor, spark_predictor, spark_schema
from censquant.io._options import TextOptions
from censquant.io._predict import PredictedFile, predict_file
from censquant.io._predict_dataset import PredictedDataset, predict_dataset
from censquant.io._survival_blocks import SurvivalBlocks
from censquant.io._table import Table, read_table
from censquant.io._target import UNITS, TargetColumns

__all__ = [
    "UNITS",
    "PredictedDataset",
    "PredictedFile",
    "SurvivalBlocks",
    "Table",
    "TableError",
    "TargetColumns",
    "TextOptions",
    "columns_to_leave_out",
    "predict_dataset",
    "predict_file",
    "ray_predictor",
    "read_table",
    "spark_predictor",
    "spark_schema",
]
