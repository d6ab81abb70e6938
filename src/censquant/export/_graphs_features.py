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
from censquant.export._graph import Graph, Value, known_length

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
    return _joined(encoder, numbers, range(len(encoder.rules)), {})


def _encoded(
    encoder: FrameEncoder, graph: Graph, numbers: Sequence[int], texts: Sequence[int]
) -> Value:
    given: Value | None = None
    categories: dict[int, Value] = {}
    if numbers:
        given = graph.numbers(len(numbers), [encoder.names[place] for place in numbers])
    if texts:
        text = graph.texts(len(texts), [encoder.names[k] for k in texts], "categories")
        given = text if given is None else given
        for k, place in enumerate(texts):
            rule = encoder.rules[place]
            assert isinstance(rule, CategoryRule)
            categories[place] = _category(rule, text, k)
    assert given is not None
    return _joined(encoder, given, numbers, categories)


def _joined(
    encoder: FrameEncoder, given: Value, numbers: Sequence[int], categories: dict[int, Value]
) -> Value:
    """Return all columns in the encoder's order; ``given`` has those of numbers, if there are any.

    Columns of numbers are encoded together: of one row each operation costs as much as of many.
    """
    rules = [(k, place, encoder.rules[place]) for k, place in enumerate(numbers)]
    known = [(k, place, rule) for k, place, rule in rules if isinstance(rule, NumberRule)]
    filled = [(k, place, rule.median) for k, place, rule in known if rule.has_value]
    flagged = [(k, place) for k, place, rule in known if rule.has_missing]
    unseen = [k for k, _, rule in known if not rule.has_value]
    parts, places = [], []
    if filled:
        own = given.columns([k for k, _, _ in filled])
        parts.append(own.is_nan().where(np.array([median for _, _, median in filled]), own))
        places += [place for _, place, _ in filled]
    if flagged:
        parts.append(given.columns([k for k, _ in flagged]).is_nan().as_float())
        places += [place for _, place in flagged]
    if unseen:  # where a column is in the result, so is its infinity
        given.graph.require_finite(given.columns(unseen), may_be_missing=True)
    for place, column in categories.items():
        parts.append(column)
        places += [place] * known_length(column.shape[-1])
    if not parts:  # where all columns were left out, one of zeros is in their place
        return given.graph.repeated(np.zeros(1), given)
    joined = given.graph.concat(parts)
    order = np.argsort(places, kind="stable")
    return joined if np.array_equal(order, np.arange(len(order))) else joined.columns(order)


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
