"""Graphs as ONNX models that run wherever ONNX does, without this package."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from censquant._files import write_whole
from censquant._version import __version__
from censquant.export._constants import narrowed
from censquant.export._graph import Graph, used_constants
from censquant.export._onnx_nodes import SIMPLE, NodeList, onnx_package
from censquant.export._value import FLAG, FLOAT, INTEGER, TEXT, Block, Node, Value

OPSET = 18
"""Version of ONNX's operators that files need."""

_ML_OPSET, _IR_VERSION = 2, 8
# Rows that are computed at a time, which bounds the memory; as many as predictions in Python.
_BLOCK_ROWS = 1_024


def write_onnx(path: str | os.PathLike[str], graph: Graph, dtype: str = "float32") -> None:
    """Write a graph as an ONNX file."""
    write_whole(Path(path), onnx_model(graph, dtype).SerializeToString())


def onnx_model(graph: Graph, dtype: str = "float32") -> Any:
    """Return a graph as an ONNX model.

    Parameters
    ----------
    graph : Graph
    dtype : {"float32", "float64"}, default "float32"

    Returns
    -------
    model : onnx.ModelProto

    Examples
    --------
    >>> from censquant.export import Graph, onnx_model
    >>> graph = Graph()
    >>> graph.outputs["total"] = graph.numbers(2).sum()
    >>> onnx_model(graph).graph.output[0].name
    'total'
    """
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
        writer.nodes, "censquant", inputs, results, initializer=writer.initializers
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
    """Nodes of ONNX for a graph, inside a loop over blocks of rows.

    The loop bounds the memory however many rows there are.

    Parameters
    ----------
    graph : Graph
    dtype : {"float32", "float64"}
        Of inputs and outputs.
    prefix : str
        Of all names but those of inputs and outputs.
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

    @property
    def nodes(self) -> list[Any]:
        """Nodes in order."""
        return self.main.nodes

    @property
    def initializers(self) -> list[Any]:
        """Constants by name."""
        return self.main.initializers

    def with_attributes(self) -> list[tuple[Any, dict[str, Any]]]:
        """Return each node with its attributes as Python's values."""
        value_of = onnx_package().helper.get_attribute_value
        return [(node, {a.name: value_of(a) for a in node.attribute}) for node in self.nodes]

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
        for number in used_constants(self._graph):
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
        outer.add("Loop", count, self._yes, *initial, outputs=names, body=graph)
        return names

    def _write_block(self, block: Block, nodes: NodeList) -> None:
        for node in block.nodes:
            inputs = [self._names[value.number] for value in node.inputs]
            if node.operation == "loop":
                made = self._write_loop(node, inputs, nodes)
            elif node.operation == "cumprod":
                made = [self._write_cumprod(node, inputs[0], nodes)]
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
        body, number, going = self._body("loop")
        carried = [body.fresh("carried") for _ in inputs]
        for value, name in zip(node.body.inputs, [number, *carried], strict=True):
            self._names[value.number] = name
        self._write_block(node.body, body)
        results = [self._names[value.number] for value in node.body.outputs]
        ahead = going
        if node.options["ends"]:
            flags = body.add("Cast", results.pop(), to=self._types[INTEGER])
            ahead = body.add("Cast", body.add("ReduceMax", flags, keepdims=0), to=self._types[FLAG])
        return self._loop(
            nodes,
            nodes.integer(node.options["count"]),
            inputs,
            body,
            [number, going, *carried],
            [ahead, *results],
            [self._types[value.kind] for value in node.inputs],
        )

    def _write_cumprod(self, node: Node, factors: str, nodes: NodeList) -> str:
        """Multiply one column after the other: rounding is then that of a plain loop."""
        body, place, going = self._body("columns")
        product = body.fresh("product")
        factor = body.add("Gather", factors, place, axis=1)
        following = body.add("Mul", product, factor)
        n_rows = nodes.add("Shape", factors, start=0, end=1)
        ones = nodes.add("ConstantOfShape", n_rows, value=_filled(1.0))
        _, products = self._loop(
            nodes,
            nodes.integer(node.options["length"]),
            [ones],
            body,
            [place, going, product],
            [going, following, following],
            [self._types[FLOAT]],
        )
        return nodes.add("Transpose", products, perm=[1, 0])

    def _write_leaf_sums(self, node: Node, inputs: list[str], nodes: NodeList) -> str:
        """Add the codes in the leaves of one tree after the other.

        The leaves of a block's rows have different numbers of codes: rows are repeated as often as
        their leaf has codes.
        """
        leaf, start, codes, weights, scales = inputs
        n_trees, n_codes = int(node.inputs[0].shape[1] or 0), int(node.options["n_codes"])
        n_rows = nodes.add("Shape", leaf, start=0, end=1)
        size = nodes.add("Mul", n_rows, nodes.integers([n_codes]))
        zeros = nodes.add("ConstantOfShape", size, value=_filled(0.0))
        body, tree, going = self._body("trees")
        sums = body.fresh("sums")
        own = body.add("Gather", leaf, tree, axis=1)
        begin = body.add("Gather", start, own)
        end = body.add("Gather", start, body.add("Add", own, body.integer(1)))
        length = body.add("Sub", end, begin)
        axis = body.integer(0)
        before = body.add("CumSum", length, axis, exclusive=1)
        total = body.add("ReduceSum", length, keepdims=1)
        blank = body.add("ConstantOfShape", total, value=_filled(0))
        ones = body.add("Add", body.add("Mul", length, body.integer(0)), body.integer(1))
        marks = body.add("ScatterElements", blank, before, ones)
        row = body.add("Sub", body.add("CumSum", marks, axis), body.integer(1))
        steps = body.add("Range", body.integer(0), body.scalar(total), body.integer(1))
        offset = body.add("Sub", begin, before)
        place = body.add("Add", body.add("Gather", offset, row), steps)
        share = body.add("Gather", body.add("Gather", scales, own), row)
        if node.inputs[3].shape[0]:
            share = body.add("Mul", share, body.add("Gather", weights, place))
        column = body.add("Gather", codes, place)
        target = body.add("Add", body.add("Mul", row, body.integer(n_codes)), column)
        summed = body.add("ScatterElements", sums, target, share, reduction="add")
        (flat,) = self._loop(
            nodes,
            nodes.integer(n_trees),
            [zeros],
            body,
            [tree, going, sums],
            [going, summed],
            [self._types[FLOAT]],
        )
        return nodes.add("Reshape", flat, nodes.integers([-1, n_codes]))


# Operations whose lengths are computed, or given by constants outside of a loop.
_SHAPE_NOT_INFERRED = frozenset(
    ("cumprod", "highest", "leaf_sums", "loop", "lowest", "repeat", "reshape", "sort", "sum")
)
_NUMPY = {FLOAT: np.float64, INTEGER: np.int64, FLAG: np.bool_}


def _filled(value: float | int) -> Any:
    """Return the value that an array is filled with."""
    return onnx_package().numpy_helper.from_array(np.array([value]))
