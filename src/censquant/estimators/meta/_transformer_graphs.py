"""Transformers of scikit-learn that turn numbers into numbers, in a graph."""

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from censquant.export import Value


@singledispatch
def transformer_graph(transformer: Any, x: Value) -> Value:
    """Return what a fitted transformer makes of numbers, in a graph."""
    if transformer is None or transformer == "passthrough":
        return x
    raise TypeError(
        f"The step {type(transformer).__name__} cannot be exported by to_onnx: call "
        "censquant.register_onnx_converters() and convert the pipeline with skl2onnx.to_onnx."
    )


@transformer_graph.register
def _standard(transformer: StandardScaler, x: Value) -> Value:
    x = x if transformer.mean_ is None else x - transformer.mean_
    return x if transformer.scale_ is None else x / transformer.scale_


@transformer_graph.register
def _min_max(transformer: MinMaxScaler, x: Value) -> Value:
    scaled: Value = x * transformer.scale_ + transformer.min_
    return scaled.clip(*transformer.feature_range) if transformer.clip else scaled


@transformer_graph.register
def _robust(transformer: RobustScaler, x: Value) -> Value:
    x = x if transformer.center_ is None else x - transformer.center_
    return x if transformer.scale_ is None else x / transformer.scale_


@transformer_graph.register
def _imputer(transformer: SimpleImputer, x: Value) -> Value:
    filled = transformer.statistics_
    is_number = filled.dtype.kind == "f" and bool(np.isfinite(filled).all())
    marks_nan = isinstance(transformer.missing_values, float) and np.isnan(
        transformer.missing_values
    )
    if not is_number or not marks_nan or transformer.add_indicator:
        return transformer_graph.dispatch(object)(transformer, x)
    return x.is_nan().where(filled, x)


@transformer_graph.register
def _pipeline(transformer: Pipeline, x: Value) -> Value:
    for _, step in transformer.steps:
        x = transformer_graph(step, x)
    return x
