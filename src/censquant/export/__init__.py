"""Fitted models outside of Python: one description of a model, written as ONNX or JavaScript."""

from censquant.export._javascript import PageModel
from censquant.export._onnx import register_onnx_converters

__all__ = ["PageModel", "register_onnx_converters"]
