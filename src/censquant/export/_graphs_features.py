"""Features in a graph: encoded columns of tables, and transformers of numbers."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from censquant._rows._encoder import CategoryRule, FrameEncoder, NumberRule
from censquant._rows._features import listed
from censquant.export._graph import Graph, Value

MISSING_TEXT = ""
"""What stands for a missing category, as in tables."""


def encoder_graph(encoder: FrameEncoder, graph: Graph, *, named: bool) -> Value:
    """Return encoded features, and declare the inputs that they are made of.

    The input ``X`` has the columns of numbers, ``categories`` those of categories as text. Columns
    that the fit left out of a frame (``named``) are asked for in neither.
    """
    rules = encoder.rules
    kinds = [None if rule is None else type(rule) for rule in rules]
    texts = [place for place, kind in enumerate(kinds) if kind is CategoryRule]
    numbers = [place for place, kind in enumerate(kinds) if kind is NumberRule]
    if not texts and not (named and numbers):
        numbers = list(range(len(rules)))
    return _encoded(encoder, graph, numbers, texts)


def numbers_graph(encoder: FrameEncoder, numbers: Value) -> Value:
    """Return encoded features where all columns are numbers that are there already."""
    wrong = [
        name
        for name, rule in zip(encoder.names, encoder.rules, strict=True)
        if isinstance(rule, CategoryRule)
    ]
    if wrong:
        raise TypeError(
            f"Categories in the columns {listed(wrong)} cannot be exported behind other steps or "
            "inside a pool: encode them in a first step, or export the estimator alone."
        )
    columns = [numbers.columns([place]) for place in range(len(encoder.rules))]
    return _joined(encoder, numbers, dict(enumerate(columns)))


def _encoded(
    encoder: FrameEncoder, graph: Graph, numbers: Sequence[int], texts: Sequence[int]
) -> Value:
    columns: dict[int, Value] = {}
    first: Value | None = None
    if numbers:
        first = graph.numbers(len(numbers), [encoder.names[place] for place in numbers])
        columns = {place: first.columns([k]) for k, place in enumerate(numbers)}
    if texts:
        given = graph.texts(len(texts), [encoder.names[k] for k in texts], "categories")
        first = given if first is None else first
        for k, place in enumerate(texts):
            rule = encoder.rules[place]
            assert isinstance(rule, CategoryRule)
            columns[place] = _category(rule, given, k)
    assert first is not None
    return _joined(encoder, first, columns)


def _joined(encoder: FrameEncoder, like: Value, columns: dict[int, Value]) -> Value:
    parts = []
    for place, rule in enumerate(encoder.rules):
        if isinstance(rule, NumberRule):
            parts += _number(rule, columns[place])
        elif isinstance(rule, CategoryRule):
            parts.append(columns[place])
    # Where all columns were left out, one of zeros is in their place.
    return like.graph.concat(parts) if parts else like.graph.repeated(np.zeros(1), like)


def _number(rule: NumberRule, column: Value) -> list[Value]:
    if not rule.has_value:  # else infinity is in the result
        column.graph.require_finite(column, may_be_missing=True)
    missing = column.is_nan()
    parts = [missing.where(rule.median, column)] if rule.has_value else []
    return [*parts, missing.as_float()] if rule.has_missing else parts


def _category(rule: CategoryRule, texts: Value, column: int) -> Value:
    """Return the columns of zeros and ones of a category; see ``CategoryRule.write``."""
    width = len(rule.names(""))
    levels = [level for level in rule.levels if level != MISSING_TEXT]
    targets = rule.targets(levels)
    levels.append(MISSING_TEXT)
    targets = np.append(targets, [rule.missing_target(width), rule.unknown_target])
    place = texts.graph.lookup(
        targets.astype(np.int64), texts.graph.position(texts, column, levels)
    )
    return place.equals(np.arange(width)).as_float()


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
