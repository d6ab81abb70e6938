"""Fitted models outside of Python: one description of a model, written as ONNX or JavaScript."""

from censquant.export._graph import Graph
from censquant.export._javascript import PageModel, page_model
from censquant.export._onnx import OPSET, GraphNodes, onnx_model, write_onnx
from censquant.export._searches import (
    TreeArrays,
    count_in_rows,
    count_in_table,
    interpolate,
)
from censquant.export._value import Value

__all__ = [
    "OPSET",
    "Graph",
    "GraphNodes",
    "PageModel",
    "TreeArrays",
    "Value",
    "count_in_rows",
    "count_in_table",
    "interpolate",
    "onnx_model",
    "page_model",
    "write_onnx",
]
