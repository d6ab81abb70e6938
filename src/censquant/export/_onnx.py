"""Graphs as ONNX files, and estimators as steps of pipelines that skl2onnx converts."""

import json
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._files import write_whole
from censquant._version import __version__
from censquant.export._graph import (
    FLAG,
    FLOAT,
    INTEGER,
    TEXT,
    Block,
    Graph,
    Node,
    Shape,
    Value,
    narrowed,
    used_constants,
)

BLOCK = "block"
"""Name of the number of rows that are computed at a time."""


def onnx_package() -> Any:
    """Return the package onnx, or say how to install it."""
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise ImportError(
            "Export to ONNX needs the package onnx: install it by `pip install censquant[onnx]`."
        ) from None
    return onnx


class NodeList:
    """Nodes of one ONNX graph, with names that are unique in all graphs of a model."""

    def __init__(self, prefix: str, parent: "NodeList | None" = None) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.shapes: list[Any] = []
        self._prefix = prefix
        self._n_names = 0
        self._parent = self if parent is None else parent
        self._integers: dict[tuple[bool, tuple[int, ...]], str] = {}

    def fresh(self, name: str) -> str:
        """Return a name that is not in use."""
        self._n_names += 1
        return f"{self._prefix}{name}{self._n_names}"

    def initializer(self, array: NDArray[Any]) -> str:
        """Store an array, and return its name."""
        name = self.fresh("constant")
        self.initializers.append(onnx_package().numpy_helper.from_array(array, name))
        return name

    def integers(self, values: list[int]) -> str:
        """Return the name of a vector of integers."""
        return self._parent._stored(False, tuple(values))

    def integer(self, value: int) -> str:
        """Return the name of an integer."""
        return self._parent._stored(True, (value,))

    def _stored(self, is_scalar: bool, values: tuple[int, ...]) -> str:
        key = (is_scalar, values)
        if key not in self._integers:
            array = np.array(values[0] if is_scalar else values, dtype=np.int64)
            self._integers[key] = self.initializer(array)
        return self._integers[key]

    def scalar(self, name: str) -> str:
        """Return a vector of length 1 as a scalar."""
        return self.add("Reshape", name, self.integers([]))

    def declare(self, name: str, kind: int, shape: Shape) -> None:
        """Say the shape of a value that a runtime does not infer.

        A runtime reuses the memory of arrays that it knows to be of one size, and for each array
        looks through those that it could not reuse: without a name for the number of rows, a
        model of thousands of operations takes many seconds to load.
        """
        lengths = [BLOCK if length is None else length for length in shape]
        self.shapes.append(onnx_package().helper.make_tensor_value_info(name, kind, lengths))

    def add(
        self,
        operation: str,
        *inputs: str,
        outputs: list[str] | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add a node and return the name of its first output."""
        names = [self.fresh("v")] if outputs is None else outputs
        node = onnx_package().helper.make_node(
            operation, list(inputs), names, domain=domain, **attributes
        )
        self.nodes.append(node)
        return names[0]


# Numbers of a row from which looking them up is worth two operations more.
_MANY_ELEMENTS = 16

Make = Callable[[NodeList, list[str], Node], list[str]]


def _plain(operation: str, **attributes: Any) -> Make:
    def make(nodes: NodeList, inputs: list[str], node: Node) -> list[str]:
        return [nodes.add(operation, *inputs, **attributes)]

    return make


def _reduced(operation: str) -> Make:
    def make(nodes: NodeList, inputs: list[str], node: Node) -> list[str]:
        axes = nodes.integers([node.options["axis"]])
        return [nodes.add(operation, *inputs, axes, keepdims=1)]

    return make


def _cast(kind: str) -> Make:
    def make(nodes: NodeList, inputs: list[str], node: Node) -> list[str]:
        return [nodes.add("Cast", *inputs, to=getattr(onnx_package().TensorProto, kind))]

    return make


def _single(nodes: NodeList, inputs: list[str], node: Node) -> list[str]:
    types = onnx_package().TensorProto
    return [nodes.add("Cast", nodes.add("Cast", *inputs, to=types.FLOAT), to=types.DOUBLE)]


def _concat(nodes: NodeList, inputs: list[str], node: Node) -> list[str]:
    return [nodes.add("Concat", *inputs, axis=node.options["axis"])]


def _cumsum(nodes: NodeList, inputs: list[str], node: Node) -> list[str]:
    # Counted from the start: a negative axis is refused by some runtimes.
    axis = nodes.integer(len(node.inputs[0].shape) - 1)
    return [nodes.add("CumSum", *inputs, axis, reverse=int(node.options["reverse"]))]


def _sort(nodes: NodeList, inputs: list[str], node: Node) -> list[str]:
    names = [nodes.fresh("sorted"), nodes.fresh("place")]
    length = nodes.integers([node.options["length"]])
    nodes.add("TopK", *inputs, length, outputs=names, axis=-1, largest=0, sorted=1)
    return names


def _reshape(nodes: NodeList, inputs: list[str], node: Node) -> list[str]:
    return [nodes.add("Reshape", *inputs, nodes.integers([0, *node.options["lengths"]]))]


def _repeat(nodes: NodeList, inputs: list[str], node: Node) -> list[str]:
    row, like = inputs
    n_rows = nodes.add("Shape", like, start=0, end=1)
    lengths = [int(length or 0) for length in node.inputs[0].shape]
    shape = nodes.add("Concat", n_rows, nodes.integers(lengths), axis=0) if lengths else n_rows
    return [nodes.add("Expand", row, shape)]


def _matmul_each(nodes: NodeList, inputs: list[str], node: Node) -> list[str]:
    value, matrices = inputs
    first = nodes.add("Transpose", value, perm=[1, 0, 2])
    product = nodes.add("MatMul", first, matrices)
    return [nodes.add("Transpose", product, perm=[1, 0, 2])]


def _lookup(nodes: NodeList, inputs: list[str], node: Node) -> list[str]:
    """Look many numbers of a row up as elements, which is ten times as fast as slices of one."""
    table, index = node.inputs
    lengths = [int(length or 0) for length in index.shape[1:]]
    if len(table.shape) > 1 or math.prod(lengths) < _MANY_ELEMENTS:
        return [nodes.add("Gather", *inputs, axis=0)]
    flat = nodes.add("Reshape", inputs[1], nodes.integers([-1]))
    found = nodes.add("GatherElements", inputs[0], flat, axis=0)
    return [nodes.add("Reshape", found, nodes.integers([-1, *lengths]))]


def _position(nodes: NodeList, inputs: list[str], node: Node) -> list[str]:
    column = nodes.add("Gather", *inputs, nodes.integers([node.options["column"]]), axis=1)
    levels = node.options["levels"]
    return [
        nodes.add(
            "LabelEncoder",
            column,
            domain="ai.onnx.ml",
            keys_strings=levels,
            values_int64s=list(range(len(levels))),
            default_int64=len(levels),
        )
    ]


SIMPLE: dict[str, Make] = {
    **{
        name.lower(): _plain(name)
        for name in (
            *("Add", "Sub", "Mul", "Div", "Min", "Max", "Neg", "Exp", "Log", "Floor", "Abs"),
            *("Not", "And", "Or", "Less", "Greater", "Equal", "Where", "MatMul"),
        )
    },
    "is_nan": _plain("IsNaN"),
    "less_equal": _plain("LessOrEqual"),
    "greater_equal": _plain("GreaterOrEqual"),
    "as_single": _single,
    "as_integer": _cast("INT64"),
    "as_float": _cast("DOUBLE"),
    "lookup": _lookup,
    "take_along": _plain("GatherElements", axis=-1),
    "sum": _reduced("ReduceSum"),
    "highest": _reduced("ReduceMax"),
    "lowest": _reduced("ReduceMin"),
    "concat": _concat,
    "cumsum": _cumsum,
    "sort": _sort,
    "reshape": _reshape,
    "repeat": _repeat,
    "position": _position,
    "matmul_each": _matmul_each,
}
"""How each operation is written; loops and sums over leaves need more than a node."""


OPSET = 18
"""Version of ONNX's operators that files need."""

_ML_OPSET, _IR_VERSION = 2, 8
# Rows that are computed at a time, which bounds the memory: arrays of an ensemble's networks, of
# 8 KB per row, stay in a processor's cache.
_BLOCK_ROWS = 128
# Codes in the leaves of a usual row that are added at once: memory is so many times that of rows.
_MOST_CODES = 4_096


def write_onnx(path: str | os.PathLike[str], graph: Graph, dtype: str = "float32") -> None:
    """Write a graph as an ONNX file."""
    write_whole(Path(path), onnx_model(graph, dtype).SerializeToString())


def onnx_model(graph: Graph, dtype: str = "float32") -> Any:
    """Return a graph as an ONNX model."""
    onnx = onnx_package()
    writer = GraphNodes(graph, dtype)
    writer.write(list(graph.inputs), list(graph.outputs))
    helper = onnx.helper
    inputs = [
        helper.make_tensor_value_info(name, writer.outer_type(value), ["rows", value.shape[1]])
        for name, value in graph.inputs.items()
    ]
    results = [
        helper.make_tensor_value_info(name, writer.outer_type(value), ["rows", *value.shape[1:]])
        for name, value in graph.outputs.items()
    ]
    made = helper.make_graph(
        writer.main.nodes, "censquant", inputs, results, initializer=writer.main.initializers
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
    model = helper.make_model(
        made,
        opset_imports=opsets,
        ir_version=_IR_VERSION,
        producer_name="censquant",
        producer_version=__version__,
    )
    facts = {
        "columns": json.dumps(graph.columns),
        **{name: json.dumps(fact) for name, fact in graph.facts.items()},
    }
    helper.set_model_props(model, facts)
    return model


class GraphNodes:
    """Nodes of ONNX for a graph, inside a loop over blocks of rows, which bounds the memory.

    ``dtype`` is that of inputs and outputs, whose names are the only ones without ``prefix``.
    """

    def __init__(self, graph: Graph, dtype: str, prefix: str = "") -> None:
        self._graph = graph
        self._prefix = prefix
        self.main = NodeList(prefix)
        types = onnx_package().TensorProto
        self._outer = {"float32": types.FLOAT, "float64": types.DOUBLE}[dtype]
        self._types = {
            FLOAT: types.DOUBLE,
            INTEGER: types.INT64,
            FLAG: types.BOOL,
            TEXT: types.STRING,
        }
        self._names: dict[int, str] = {}
        self._yes = self.main.initializer(np.array(True))

    def outer_type(self, value: Value) -> int:
        """Return the type of an input or output."""
        kind: int = self._outer if value.kind == FLOAT else self._types[value.kind]
        return kind

    def with_attributes(self) -> list[tuple[Any, dict[str, Any]]]:
        """Return each node with its attributes as Python's values."""
        value_of = onnx_package().helper.get_attribute_value
        return [(node, {a.name: value_of(a) for a in node.attribute}) for node in self.main.nodes]

    def write(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Write everything between inputs and outputs, given by their names outside.

        One input of numbers may be given column by column.
        """
        main, given = self.main, list(inputs)
        if len(self._graph.inputs) == 1 and len(given) > 1:
            given = [main.add("Concat", *given, axis=1)]
        first = given[0]
        n_rows = main.add("Shape", first, start=0, end=1)
        block = main.add("Min", n_rows, main.integers([_BLOCK_ROWS]))
        block = main.add("Max", block, main.integers([1]))
        above = main.add("Sub", main.add("Add", n_rows, block), main.integers([1]))
        n_blocks = main.scalar(main.add("Div", above, block))
        last = main.add("Sub", n_rows, main.integers([1]))
        self._declare_constants()
        body, number, going = self._body(f"{self._prefix}blocks")
        steps = body.add("Range", body.integer(0), body.scalar(block), body.integer(1))
        begin = body.add("Mul", number, block)
        # The last block is filled up with copies of the last row, which are cut off again.
        rows = body.add("Min", body.add("Add", begin, steps), last)
        for name, value in zip(given, self._graph.inputs.values(), strict=True):
            if value.kind == FLOAT:
                some = body.add("Gather", name, rows, axis=0)
                some = body.add("Cast", some, to=self._types[FLOAT])
            else:  # onnxruntime's Gather returns the first of several texts of a row only
                column = body.add("Reshape", rows, body.integers([-1, 1]))
                some = body.add("GatherND", name, column)
            body.declare(some, self._types[value.kind], value.shape)
            self._names[value.number] = some
        self._write_block(self._graph.top, body)
        results = []
        for value in self._graph.outputs.values():
            result = self._names[value.number]
            if value.kind == FLOAT:
                result = body.add("Cast", result, to=self._outer)
            results.append(result)
        looped = self._loop(main, n_blocks, [], body, [number, going], [going, *results])
        made = self._graph.outputs.values()
        for name, value, result in zip(outputs, made, looped, strict=True):
            lengths = main.integers([-1, *(int(n or 0) for n in value.shape[1:])])
            flat = main.add("Reshape", result, lengths)
            main.add("Slice", flat, main.integers([0]), n_rows, outputs=[name])

    def _declare_constants(self) -> None:
        for number in used_constants(self._graph, of_trees=False):
            array = self._graph.constants[number]
            kind = {"f": FLOAT, "i": INTEGER, "u": INTEGER, "b": FLAG}[array.dtype.kind]
            stored, wide = narrowed(array), np.dtype(_NUMPY[kind])
            name = self.main.initializer(stored)
            if stored.dtype != wide:
                name = self.main.add("Cast", name, to=self._types[kind])
            self._names[number] = name

    def _body(self, name: str) -> tuple[NodeList, str, str]:
        body = NodeList(self.main.fresh(name) + "_", parent=self.main)
        return body, body.fresh("number"), body.fresh("going")

    def _loop(
        self,
        outer: NodeList,
        count: str,
        initial: Sequence[str],
        body: NodeList,
        inputs: Sequence[str],
        outputs: Sequence[str],
        types: Sequence[int] = (),
        begins: str | None = None,
    ) -> list[str]:
        """Add a loop; the first output of the body is the flag that says whether to go on."""
        onnx = onnx_package()
        make = onnx.helper.make_tensor_value_info
        proto = onnx.TensorProto
        kinds = [proto.INT64, proto.BOOL, *types]
        # What goes out must have been made inside, once for each place.
        made = [body.add("Identity", name) for name in outputs]
        graph = onnx.helper.make_graph(
            body.nodes,
            body.fresh("body"),
            [
                make(name, kind, [] if place < 2 else None)
                for place, (name, kind) in enumerate(zip(inputs, kinds, strict=True))
            ],
            [onnx.helper.make_empty_tensor_value_info(name) for name in made],
            value_info=body.shapes,
        )
        names = [outer.fresh("after") for _ in outputs[1:]]
        outer.add("Loop", count, begins or self._yes, *initial, outputs=names, body=graph)
        return names

    def _write_block(self, block: Block, nodes: NodeList) -> None:
        for node in block.nodes:
            inputs = [self._names.get(value.number, "") for value in node.inputs]
            if node.operation == "loop":
                made = self._write_loop(node, inputs, nodes)
            elif node.operation == "columns":
                made = [self._write_columns(node, inputs, nodes)]
            elif node.operation == "leaves":
                made = [self._write_leaves(node, inputs[0], nodes)]
            elif node.operation == "leaf_sums":
                made = [self._write_leaf_sums(node, inputs, nodes)]
            else:
                made = SIMPLE[node.operation](nodes, inputs, node)
            for value, name in zip(node.outputs, made, strict=True):
                self._names[value.number] = name
                if node.operation in _SHAPE_NOT_INFERRED:
                    nodes.declare(name, self._types[value.kind], value.shape)

    def _write_loop(self, node: Node, inputs: list[str], nodes: NodeList) -> list[str]:
        assert node.body is not None
        begins, kinds = self._yes, [self._types[value.kind] for value in node.outputs]
        if node.options["may_skip"]:
            begins = self._any(inputs.pop(), nodes)
        body, number, going = self._body("loop")
        carried = [body.fresh("carried") for _ in inputs]
        for value, name in zip(node.body.inputs, [number, *carried], strict=True):
            self._names[value.number] = name
        self._write_block(node.body, body)
        results = [self._names[value.number] for value in node.body.outputs]
        ahead = going
        if node.options["ends"]:
            ahead = self._any(results.pop(), body)
        return self._loop(
            nodes,
            nodes.integer(node.options["count"]),
            inputs,
            body,
            [number, going, *carried],
            [ahead, *results],
            kinds,
            begins,
        )

    def _any(self, flags: str, nodes: NodeList) -> str:
        """Return whether a flag is set in any place."""
        numbers = nodes.add("Cast", flags, to=self._types[INTEGER])
        return nodes.add("Cast", nodes.add("ReduceMax", numbers, keepdims=0), to=self._types[FLAG])

    def _write_columns(self, node: Node, inputs: list[str], nodes: NodeList) -> str:
        """Take neighbouring places as a slice, which is copied several times as fast."""
        places = self._graph.constants[node.inputs[1].number]
        first, step = int(places[0]), int(places[1] - places[0]) if len(places) > 1 else 1
        if step == 0 or not np.array_equal(places, first + step * np.arange(len(places))):
            return nodes.add("Gather", *inputs, axis=-1)
        axis = nodes.integers([len(node.inputs[0].shape) - 1])
        end = first + step * len(places)
        stop = end if end >= 0 else -(2**31)
        bounds = (nodes.integers([number]) for number in (first, stop))
        return nodes.add("Slice", inputs[0], *bounds, axis, nodes.integers([step]))

    def _write_leaves(self, node: Node, columns: str, nodes: NodeList) -> str:
        """Walk by the operator that runtimes have for trees: the sum over one tree is its leaf."""
        root, feature, threshold, children = (
            self._graph.constants[value.number] for value in node.inputs[1:]
        )
        place = np.arange(len(feature))
        tree = np.searchsorted(root, place, side="right") - 1
        within = place - root[tree]
        left, right = (children - root[tree][:, None]).T
        leaf = np.flatnonzero(children[:, 0] == place)
        is_leaf = children[:, 0] == place
        types = onnx_package().TensorProto
        found = nodes.add(
            "TreeEnsembleRegressor",
            nodes.add("Cast", columns, to=types.FLOAT),
            domain="ai.onnx.ml",
            n_targets=len(root),
            nodes_treeids=tree.tolist(),
            nodes_nodeids=within.tolist(),
            nodes_featureids=np.where(is_leaf, 0, feature).tolist(),
            nodes_modes=np.where(is_leaf, "LEAF", "BRANCH_LEQ").tolist(),
            nodes_values=np.where(is_leaf, 0.0, threshold).tolist(),
            nodes_truenodeids=np.where(is_leaf, 0, left).tolist(),
            nodes_falsenodeids=np.where(is_leaf, 0, right).tolist(),
            target_treeids=tree[leaf].tolist(),
            target_nodeids=within[leaf].tolist(),
            target_ids=tree[leaf].tolist(),
            target_weights=within[leaf].astype(np.float64).tolist(),
        )
        number = nodes.add("Cast", found, to=types.INT64)
        return nodes.add("Add", number, nodes.integers(root.tolist()))

    def _write_leaf_sums(self, node: Node, inputs: list[str], nodes: NodeList) -> str:
        """Add the codes in the leaves, of several trees at a time where these have few."""
        leaf = inputs[0]
        n_trees, n_codes = int(node.inputs[0].shape[1] or 0), int(node.options["n_codes"])
        n_rows = nodes.add("Shape", leaf, start=0, end=1)
        size = nodes.add("Mul", n_rows, nodes.integers([n_codes]))
        zeros = nodes.add("ConstantOfShape", size, value=_filled(0.0))
        size_of_leaf = np.diff(self._graph.constants[node.inputs[1].number]).mean()
        if n_trees * size_of_leaf <= _MOST_CODES:
            flat = nodes.add("Reshape", leaf, nodes.integers([-1]))
            sums = self._added_codes(node, [flat, *inputs[1:]], zeros, n_trees, nodes)
        else:
            body, tree, going = self._body("trees")
            before = body.fresh("sums")
            own = body.add("Gather", leaf, tree, axis=1)
            summed = self._added_codes(node, [own, *inputs[1:]], before, 1, body)
            (sums,) = self._loop(
                nodes,
                nodes.integer(n_trees),
                [zeros],
                body,
                [tree, going, before],
                [going, summed],
                [self._types[FLOAT]],
            )
        return nodes.add("Reshape", sums, nodes.integers([-1, n_codes]))

    def _added_codes(
        self, node: Node, inputs: list[str], sums: str, n_trees: int, nodes: NodeList
    ) -> str:
        """Add the codes in leaves, so many for each row one after the other, to flat sums.

        Leaves have different numbers of codes: each is repeated as often as it has codes.
        """
        own, start, codes, weights, scales = inputs
        n_codes = int(node.options["n_codes"])
        begin = nodes.add("Gather", start, own)
        end = nodes.add("Gather", start, nodes.add("Add", own, nodes.integer(1)))
        length = nodes.add("Sub", end, begin)
        axis = nodes.integer(0)
        before = nodes.add("CumSum", length, axis, exclusive=1)
        total = nodes.add("ReduceSum", length, keepdims=1)
        blank = nodes.add("ConstantOfShape", total, value=_filled(0))
        ones = nodes.add("Add", nodes.add("Mul", length, nodes.integer(0)), nodes.integer(1))
        marks = nodes.add("ScatterElements", blank, before, ones)
        pair = nodes.add("Sub", nodes.add("CumSum", marks, axis), nodes.integer(1))
        steps = nodes.add("Range", nodes.integer(0), nodes.scalar(total), nodes.integer(1))
        offset = nodes.add("Sub", begin, before)
        place = nodes.add("Add", nodes.add("GatherElements", offset, pair, axis=0), steps)
        share = nodes.add("Gather", scales, own)
        share = nodes.add("GatherElements", share, pair, axis=0)
        if node.inputs[3].shape[0]:
            own_weights = nodes.add("GatherElements", weights, place, axis=0)
            share = nodes.add("Mul", share, own_weights)
        column = nodes.add("GatherElements", codes, place, axis=0)
        row = nodes.add("Div", pair, nodes.integer(n_trees))
        target = nodes.add("Add", nodes.add("Mul", row, nodes.integer(n_codes)), column)
        return nodes.add("ScatterElements", sums, target, share, reduction="add")


# Operations whose lengths are computed, or given by constants outside of a loop.
_SHAPE_NOT_INFERRED = frozenset(
    (
        *("columns", "highest", "leaf_sums", "leaves", "lookup", "loop", "lowest", "repeat"),
        *("reshape", "sort", "sum"),
    )
)
_NUMPY = {FLOAT: np.float64, INTEGER: np.int64, FLAG: np.bool_}


def _filled(value: float | int) -> Any:
    """Return the value that an array is filled with."""
    return onnx_package().numpy_helper.from_array(np.array([value]))


_ALIAS = "CensquantQuantileRegressor"


def register_onnx_converters() -> None:
    """Teach skl2onnx every estimator of this package, as it is or as a step of a Pipeline.

    Afterwards ``skl2onnx.to_onnx(pipeline, X[:1])`` converts a whole scikit-learn ``Pipeline`` or
    :class:`~censquant.QuantilePipeline` that ends in one of them. Its outputs are those of
    :meth:`~censquant.BaseQuantileRegressor.to_onnx`. Other levels than the fitted are chosen by
    ``options={id(estimator): {"quantiles": [0.1, 0.5]}}``. Calling it twice does no harm.

    Examples
    --------
    >>> import skl2onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from censquant import LinearQuantileRegressor, register_onnx_converters
    >>> from censquant.datasets import make_norm_linear
    >>> register_onnx_converters()
    >>> X, y = make_norm_linear(100, random_state=0)
    >>> model = make_pipeline(StandardScaler(), LinearQuantileRegressor([0.25, 0.5])).fit(X, y)
    >>> converted = skl2onnx.to_onnx(model, X[:1], target_opset=18)
    >>> [output.name for output in converted.graph.output]
    ['quantiles', 'median', 'identified']
    """
    from sklearn.pipeline import Pipeline

    try:
        from skl2onnx import update_registered_converter
    except ImportError:
        raise ImportError(
            "Conversion of pipelines needs the package skl2onnx: install it by "
            "`pip install censquant[onnx]`."
        ) from None
    import censquant  # the estimators import this module

    for cls in _with_subclasses(censquant.BaseQuantileRegressor):
        if not issubclass(cls, Pipeline):  # which skl2onnx takes apart itself
            update_registered_converter(
                cls,
                f"{_ALIAS}{cls.__name__}",
                _check_shapes,
                _convert,
                parser=_parse,
                options={"quantiles": None},
            )


def _with_subclasses(cls: type) -> list[type]:
    """Return all classes below a class."""
    below: list[type] = cls.__subclasses__()
    return [*below, *(found for each in below for found in _with_subclasses(each))]


def _graph(model: Any, options: dict[str, Any]) -> Any:
    graph = model._graph(options.get("quantiles"))
    if len(graph.inputs) > 1:
        raise TypeError(
            f"{type(model).__name__} was fitted to categories, which skl2onnx cannot pass on as "
            "one matrix: use its method to_onnx."
        )
    return graph


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    operator = scope.declare_local_operator(f"{_ALIAS}{type(model).__name__}", model)
    operator.inputs = inputs
    is_double = isinstance(inputs[0].type, DoubleTensorType)
    kind = DoubleTensorType if is_double else FloatTensorType
    options = scope.get_options(model, {"quantiles": None}, fail=False)
    for name, value in _graph(model, options).outputs.items():
        shape = [None, *value.shape[1:]]
        operator.outputs.append(scope.declare_local_variable(name, kind(shape)))
    return operator.outputs


def _check_shapes(operator: Any) -> None:
    """Leave the shapes as they were declared."""


def _convert(scope: Any, operator: Any, container: Any) -> None:
    from skl2onnx.common.data_types import DoubleTensorType

    if container.target_opset_onnx < OPSET:
        raise ValueError(
            f"target_opset must be at least {OPSET} for {type(operator.raw_operator).__name__}, "
            f"got {container.target_opset_onnx}."
        )
    model = operator.raw_operator
    options = container.get_options(model, {"quantiles": None})
    graph = _graph(model, options)
    names = [variable.full_name for variable in operator.inputs]
    is_double = isinstance(operator.inputs[0].type, DoubleTensorType)
    prefix = f"{scope.get_unique_operator_name('censquant')}_"
    nodes = GraphNodes(graph, "float64" if is_double else "float32", prefix)
    nodes.write(names, [variable.full_name for variable in operator.outputs])
    # skl2onnx does not look for operators inside of a loop, and would import their newest set.
    container.node_domain_version_pair_sets.add(("ai.onnx.ml", _ML_OPSET))
    for tensor in nodes.main.initializers:
        container.add_initializer(tensor.name, tensor.data_type, list(tensor.dims), tensor)
    # Operators inside of loops need their domain too, which skl2onnx does not look for.
    container.node_domain_version_pair_sets.add(("ai.onnx.ml", _ML_OPSET))
    for node, attributes in nodes.with_attributes():
        container.add_node(
            node.op_type,
            list(node.input),
            list(node.output),
            op_domain=node.domain,
            op_version=_ML_OPSET if node.domain else OPSET,
            name=scope.get_unique_operator_name(node.op_type),
            **attributes,
        )
