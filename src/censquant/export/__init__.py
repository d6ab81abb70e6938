"""Fitted models outside of Python: one description of a model, written as ONNX or JavaScript."""

from censquant.export._graph import Graph, Value
from censquant.export._onnx import OPSET, GraphNodes, onnx_model, write_onnx
from censquant.export._searches import (
    TreeArrays,
    count_in_rows,
    count_in_table,
    interpolate,
)

__all__ = [
    "OPSET",
    "Graph",
    "GraphNodes",
    "TreeArrays",
    "Value",
    "count_in_rows",
    "count_in_table",
    "interpolate",
    "onnx_model",
    "write_onnx",
]
