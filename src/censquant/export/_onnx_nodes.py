"""Operations of a graph as nodes of ONNX."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant.export._value import Node, Shape

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


def _exp2(nodes: NodeList, inputs: list[str], node: Node) -> list[str]:
    two = nodes.add("Constant", value_float=2.0)
    two = nodes.add("Cast", two, to=onnx_package().TensorProto.DOUBLE)
    return [nodes.add("Pow", two, *inputs)]


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
    "add": _plain("Add"),
    "sub": _plain("Sub"),
    "mul": _plain("Mul"),
    "div": _plain("Div"),
    "min": _plain("Min"),
    "max": _plain("Max"),
    "neg": _plain("Neg"),
    "exp": _plain("Exp"),
    "exp2": _exp2,
    "log": _plain("Log"),
    "floor": _plain("Floor"),
    "abs": _plain("Abs"),
    "is_nan": _plain("IsNaN"),
    "not": _plain("Not"),
    "and": _plain("And"),
    "or": _plain("Or"),
    "less": _plain("Less"),
    "less_equal": _plain("LessOrEqual"),
    "greater": _plain("Greater"),
    "greater_equal": _plain("GreaterOrEqual"),
    "equal": _plain("Equal"),
    "where": _plain("Where"),
    "as_single": _single,
    "as_integer": _cast("INT64"),
    "as_float": _cast("DOUBLE"),
    "matmul": _plain("MatMul"),
    "columns": _plain("Gather", axis=-1),
    "lookup": _plain("Gather", axis=0),
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
}
"""How each operation is written; loops and sums over leaves need more than a node."""
