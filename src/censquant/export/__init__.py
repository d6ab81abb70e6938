"""Fitted models outside of Python: one description of a model, written as ONNX or JavaScript."""

from censquant.export._graph import Graph
from censquant.export._javascript import page_model
from censquant.export._onnx import onnx_model, register_onnx_converters

__all__ = ["Graph", "onnx_model", "page_model", "register_onnx_converters"]
