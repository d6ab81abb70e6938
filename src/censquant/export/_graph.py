"""A small language of array operations, in which every fitted model can be written down.

A model that is written as a graph once can be turned into an ONNX file, into a page's JavaScript
and into whatever else knows these few operations. This file imports no other part of the package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats

Shape = tuple[int | None, ...]
"""Lengths of the axes; None stands for the number of rows, which only the caller knows."""

FLOAT, INTEGER, FLAG, TEXT = "float", "integer", "flag", "text"


@dataclass(frozen=True, eq=False)
class Node:
    """One operation."""

    operation: str  # its name; :class:`Value` and :class:`Graph` have one method for each
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    options: dict[str, Any] = field(default_factory=dict)  # what is not an array
    body: Block | None = None  # of a loop


@dataclass(eq=False)
class Block:
    """Operations in order, with the values that come in and go out: a graph or a loop's body."""

    inputs: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Value:
    """An array in a graph: arithmetic on it adds operations, and computes nothing.

    Rows come first. Operations broadcast as numpy's do.
    """

    graph: Graph
    number: int  # unique in the graph
    kind: str  # {"float", "integer", "flag", "text"}
    shape: Shape

    __array_ufunc__ = None  # an array on the left leaves the operation to the value

    def __add__(self, other: Any) -> Value:
        return self._with("add", other)

    def __radd__(self, other: Any) -> Value:
        return self.graph.value(other, self.kind)._with("add", self)

    def __sub__(self, other: Any) -> Value:
        return self._with("sub", other)

    def __rsub__(self, other: Any) -> Value:
        return self.graph.value(other, self.kind)._with("sub", self)

    def __mul__(self, other: Any) -> Value:
        return self._with("mul", other)

    def __rmul__(self, other: Any) -> Value:
        return self.graph.value(other, self.kind)._with("mul", self)

    def __truediv__(self, other: Any) -> Value:
        return self._with("div", other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.graph.value(other, self.kind)._with("div", self)

    def __neg__(self) -> Value:
        return self._map("neg")

    def __lt__(self, other: Any) -> Value:
        return self._with("less", other, FLAG)

    def __le__(self, other: Any) -> Value:
        return self._with("less_equal", other, FLAG)

    def __gt__(self, other: Any) -> Value:
        return self._with("greater", other, FLAG)

    def __ge__(self, other: Any) -> Value:
        return self._with("greater_equal", other, FLAG)

    def equals(self, other: Any) -> Value:
        """Whether values are equal, one by one."""
        return self._with("equal", other, FLAG)

    def __and__(self, other: Value) -> Value:
        return self._with("and", other)

    def __or__(self, other: Value) -> Value:
        return self._with("or", other)

    def __invert__(self) -> Value:
        return self._map("not")

    def minimum(self, other: Any) -> Value:
        """Return the smaller of two values."""
        return self._with("min", other)

    def maximum(self, other: Any) -> Value:
        """Return the larger of two values."""
        return self._with("max", other)

    def clip(self, low: Any, high: Any) -> Value:
        """Return values moved into an interval."""
        return self.maximum(low).minimum(high)

    def exp(self) -> Value:
        """Return the exponential."""
        return self._map("exp")

    def log(self) -> Value:
        """Return the natural logarithm."""
        return self._map("log")

    def floor(self) -> Value:
        """Return the largest whole number that is not above."""
        return self._map("floor")

    def abs(self) -> Value:
        """Return the absolute value."""
        return self._map("abs")

    def is_nan(self) -> Value:
        """Whether values are missing."""
        return self._map("is_nan", FLAG)

    def as_single(self) -> Value:
        """Return floating point rounded to single precision."""
        return self._map("as_single")

    def as_integer(self) -> Value:
        """Return whole numbers, or flags, as integers."""
        return self._map("as_integer", INTEGER)

    def as_float(self) -> Value:
        """Return integers or flags as floating point."""
        return self._map("as_float", FLOAT)

    def where(self, yes: Any, no: Any) -> Value:
        """Return ``yes`` where this flag is set, else ``no``."""
        kind = next((v.kind for v in (yes, no) if isinstance(v, Value)), FLOAT)
        yes, no = self.graph.value(yes, kind), self.graph.value(no, kind)
        shape = _broadcast(self.shape, yes.shape, no.shape)
        return self.graph.add("where", (self, yes, no), kind, shape)

    def matmul(self, matrix: ArrayLike) -> Value:
        """Return the product with a constant matrix."""
        constant = self.graph.constant(np.asarray(matrix, dtype=np.float64))
        return self.graph.add(
            "matmul", (self, constant), FLOAT, (*self.shape[:-1], constant.shape[-1])
        )

    def matmul_each(self, matrices: ArrayLike) -> Value:
        """Return the products of (n, k, p) with k constant matrices, of shape (n, k, q)."""
        constant = self.graph.constant(np.asarray(matrices, dtype=np.float64))
        return self.graph.add(
            "matmul_each", (self, constant), FLOAT, (*self.shape[:-1], constant.shape[-1])
        )

    def columns(self, places: ArrayLike) -> Value:
        """Return some places of the last axis, in any order."""
        index = self.graph.constant(np.asarray(places, dtype=np.int64))
        return self.graph.add(
            "columns", (self, index), self.kind, (*self.shape[:-1], index.shape[0])
        )

    def reversed(self) -> Value:
        """Return the last axis in reversed order."""
        return self.columns(np.arange(known_length(self.shape[-1]))[::-1])

    def take_along(self, index: Value) -> Value:
        """Return the values at places of the last axis that differ from row to row."""
        return self.graph.add("take_along", (self, index), self.kind, index.shape)

    def sum(self, axis: int = -1) -> Value:
        """Return sums over an axis, counted from the end, which stays with length 1."""
        return self._reduced("sum", axis)

    def max(self, axis: int = -1) -> Value:
        """Return the largest values over an axis, which stays with length 1."""
        return self._reduced("highest", axis)

    def min(self, axis: int = -1) -> Value:
        """Return the smallest values over an axis, which stays with length 1."""
        return self._reduced("lowest", axis)

    def cumsum(self, *, reverse: bool = False) -> Value:
        """Return cumulative sums along the last axis, from its end if reversed."""
        return self.graph.add("cumsum", (self,), self.kind, self.shape, {"reverse": reverse})

    def sort(self) -> tuple[Value, Value]:
        """Return the last axis in increasing order, and the place where each value was."""
        length = known_length(self.shape[-1])
        kinds = ((self.kind, self.shape), (INTEGER, self.shape))
        values, places = self.graph.add_many("sort", (self,), kinds, {"length": length})
        return values, places

    def reshape(self, *lengths: int) -> Value:
        """Return the same values with other axes behind the rows."""
        return self.graph.add(
            "reshape", (self,), self.kind, (self.shape[0], *lengths), {"lengths": list(lengths)}
        )

    def _with(self, operation: str, other: Any, kind: str | None = None) -> Value:
        other = self.graph.value(other, self.kind)
        shape = _broadcast(self.shape, other.shape)
        return self.graph.add(operation, (self, other), kind or self.kind, shape)

    def _map(self, operation: str, kind: str | None = None) -> Value:
        return self.graph.add(operation, (self,), kind or self.kind, self.shape)

    def _reduced(self, operation: str, axis: int) -> Value:
        shape = list(self.shape)
        shape[axis] = 1
        return self.graph.add(operation, (self,), self.kind, tuple(shape), {"axis": axis})


def _broadcast(*shapes: Shape) -> Shape:
    """Return the shape of an operation on arrays of several shapes."""
    longest = max(len(shape) for shape in shapes)
    padded = [(1,) * (longest - len(shape)) + shape for shape in shapes]
    return tuple(next((n for n in lengths if n != 1), 1) for lengths in zip(*padded, strict=True))


def known_length(length: int | None) -> int:
    """Return the length of an axis other than that of the rows."""
    if length is None:
        raise ValueError("The number of rows is not known in a graph.")
    return length


# Where times are coarse: neighbours that become one, and steps up to the largest of few.
_GROUP, _N_LIMITS = 5, 100


class Graph:
    """Operations from inputs to named outputs, and the constants among them.

    Parameters
    ----------
    coarse_times : bool, default False
        Whether times of single training rows are kept out of the constants.
    """

    def __init__(self, *, coarse_times: bool = False) -> None:
        self.coarse_times = coarse_times
        self.top = Block()
        self.inputs: dict[str, Value] = {}
        self.columns: dict[str, list[str]] = {}
        self.outputs: dict[str, Value] = {}
        self.facts: dict[str, Any] = {}
        self.constants: dict[int, NDArray[Any]] = {}
        self._known_constants: dict[tuple[str, Shape, bytes], Value] = {}
        self._must_be_finite: dict[tuple[int, bool], Value] = {}
        self._blocks = [self.top]
        self._n_values = 0

    # Inputs and constants

    def numbers(self, n_columns: int, names: Sequence[str] = (), name: str = "X") -> Value:
        """Declare an input of numbers, one row per individual.

        A second model in a graph is given those columns that the first one has declared.
        """
        return self._input(name, FLOAT, n_columns, names)

    def texts(self, n_columns: int, names: Sequence[str], name: str) -> Value:
        """Declare an input of text, one row per individual."""
        return self._input(name, TEXT, n_columns, names)

    def _input(self, name: str, kind: str, n_columns: int, names: Sequence[str]) -> Value:
        if name in self.inputs:
            return self._declared(name, n_columns, list(names))
        value = self._new(kind, (None, n_columns))
        self.inputs[name] = value
        self.columns[name] = list(names)
        self.top.inputs.append(value)
        return value

    def _declared(self, name: str, n_columns: int, names: list[str]) -> Value:
        """Return the columns of an input that another model has declared."""
        value, known = self.inputs[name], self.columns[name]
        if names == known and n_columns == value.shape[1]:
            return value
        other = [column for column in names if column not in known]
        if other or value.kind == TEXT:
            raise TypeError(
                f"Two models in one graph must take the same columns of the input {name}, got "
                f"{', '.join(other or names)} beside {', '.join(known)}."
            )
        return value.columns([known.index(column) for column in names])

    def constant(self, array: ArrayLike) -> Value:
        """Return an array as a value; equal arrays are stored once."""
        data = np.ascontiguousarray(array)
        kind = {"f": FLOAT, "i": INTEGER, "u": INTEGER, "b": FLAG}[data.dtype.kind]
        key = (kind, data.shape, data.tobytes())
        if key not in self._known_constants:
            value = self._new(kind, data.shape)
            self._known_constants[key] = value
            self.constants[value.number] = data
        return self._known_constants[key]

    def value(self, given: Any, kind: str = FLOAT) -> Value:
        """Return a number or an array as a constant of some kind; a value as it is."""
        if isinstance(given, Value):
            return given
        types = {FLOAT: np.float64, INTEGER: np.int64, FLAG: np.bool_}
        return self.constant(np.asarray(given, dtype=types[kind]))

    # Times of training rows

    def row_times(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return increasing times of training rows as the graph may hold them.

        Where times are coarse, five neighbours are replaced by their mean.
        """
        if not self.coarse_times or not len(times):
            return times
        starts = np.arange(0, max(len(times) - _GROUP + 1, 1), _GROUP)
        sizes = np.diff(np.append(starts, len(times)))
        return np.asarray(np.repeat(np.add.reduceat(times, starts) / sizes, sizes))

    def row_limits(
        self, times: NDArray[np.float64], n_steps: int = _N_LIMITS
    ) -> NDArray[np.float64]:
        """Return times in any order that single training rows have, as the graph may hold them.

        Where times are coarse, they are multiples of a round step, so many of which or somewhat
        more reach up to the largest.
        """
        finite = np.abs(times[np.isfinite(times)])
        if not self.coarse_times or not finite.size or not finite.max() > 0:
            return times
        rough = float(finite.max()) / n_steps
        power = 10.0 ** np.floor(np.log10(rough))
        step = power * max(one for one in (1.0, 2.0, 5.0) if one * power <= rough * (1 + 1e-9))
        return np.where(np.isfinite(times), np.floor(times / step) * step, times)

    # Operations that are not those of one value

    def concat(self, values: Sequence[Value], axis: int = -1) -> Value:
        """Return values one after the other along an axis, counted from the end."""
        if len(values) == 1:
            return values[0]
        shape = list(values[0].shape)
        shape[axis] = sum(known_length(value.shape[axis]) for value in values)
        return self.add("concat", tuple(values), values[0].kind, tuple(shape), {"axis": axis})

    def lookup(self, table: ArrayLike, index: Value) -> Value:
        """Return the entries of a constant table at places of its first axis."""
        constant = self.constant(np.asarray(table))
        return self.add(
            "lookup", (constant, index), constant.kind, (*index.shape, *constant.shape[1:])
        )

    def repeated(self, row: ArrayLike, like: Value) -> Value:
        """Return a constant row once for each row of a value."""
        constant = self.constant(row)
        return self.add("repeat", (constant, like), constant.kind, (like.shape[0], *constant.shape))

    def position(self, texts: Value, column: int, levels: Sequence[str]) -> Value:
        """Return which of some levels the texts of a column are; their number if none."""
        return self.add(
            "position",
            (texts,),
            INTEGER,
            (texts.shape[0], 1),
            {"column": column, "levels": list(levels)},
        )

    def leaf_sums(
        self,
        leaf: Value,
        start: NDArray[Any],
        codes: NDArray[Any],
        weights: NDArray[Any],
        scales: NDArray[Any],
        n_codes: int,
    ) -> Value:
        """Return per row how often each code is in the leaves that the row is in.

        ``codes`` of leaf k are those from ``start[k]`` to ``start[k + 1]``, and no leaf is empty.
        One counts as its entry in ``weights``, or 1 if that is empty, times ``scales[k]``.
        ``leaf`` has one column per tree.
        """
        arrays = tuple(self.constant(array) for array in (start, codes, weights, scales))
        return self.add(
            "leaf_sums", (leaf, *arrays), FLOAT, (leaf.shape[0], n_codes), {"n_codes": n_codes}
        )

    def loop(
        self,
        count: int,
        initial: Sequence[Value],
        step: Callable[..., Sequence[Value]],
        *,
        going: Callable[..., Value] | None = None,
        only_if: Value | None = None,
    ) -> list[Value]:
        """Return values after ``count`` steps, each of which replaces them.

        ``step(number, *values)`` returns the new values, of the same shapes. With ``going`` the
        loop ends as soon as the flag ``going(*values)`` is not set in any place; without the flag
        ``only_if`` in any place it does not begin.
        """
        body = Block()
        number = self._new(INTEGER, ())
        carried = [self._new(value.kind, value.shape) for value in initial]
        body.inputs = [number, *carried]
        self._blocks.append(body)
        try:
            body.outputs = [self.value(value) for value in step(number, *carried)]
            if going is not None:
                body.outputs.append(going(*body.outputs))
        finally:
            self._blocks.pop()
        kinds = [(value.kind, value.shape) for value in initial]
        options = {"count": count, "ends": going is not None, "may_skip": only_if is not None}
        inputs = tuple(initial) if only_if is None else (*initial, only_if)
        return list(self.add_many("loop", inputs, kinds, options, body))

    # Rows that cannot be predicted

    def require_finite(self, x: Value, *, may_be_missing: bool = False) -> None:
        """Note that a row of ``x`` with infinity, or a missing value, has no answer.

        Python refuses such rows; a file has no way to, and comparisons would give them the answer
        of the largest or smallest number. See :meth:`hide_unusable`.
        """
        if len(self._blocks) == 1:  # what is inside of a loop comes from outside
            self._must_be_finite[x.number, may_be_missing] = x

    def hide_unusable(self) -> None:
        """Make all outputs of floating point NaN in rows that cannot be predicted."""
        if not self._must_be_finite:
            return
        # Zero times infinity is NaN, and so is a sum that it is in.
        sums = []
        for (_, may_be_missing), x in self._must_be_finite.items():
            zeros = x * 0.0
            sums.append((x.is_nan().where(0.0, zeros) if may_be_missing else zeros).sum())
        hidden = sums[0]
        for each in sums[1:]:
            hidden = hidden + each
        for name, value in self.outputs.items():
            if value.kind == FLOAT:
                self.outputs[name] = value + (hidden if len(value.shape) > 1 else hidden.reshape())

    # Bookkeeping

    def drop_unused(self) -> None:
        """Leave out the operations that no output depends on.

        Models write down more than is asked of them: a candidate of a pool, for example, has a
        reach of its own, which the pool does not use. Runtimes compute whatever a file says.
        """
        needed = {value.number for value in self.outputs.values()}
        _keep_needed(self.top, needed)

    def add(
        self,
        operation: str,
        inputs: tuple[Value, ...],
        kind: str,
        shape: Shape,
        options: dict[str, Any] | None = None,
    ) -> Value:
        """Add an operation with one output."""
        return self.add_many(operation, inputs, ((kind, shape),), options)[0]

    def add_many(
        self,
        operation: str,
        inputs: tuple[Value, ...],
        outputs: Sequence[tuple[str, Shape]],
        options: dict[str, Any] | None = None,
        body: Block | None = None,
    ) -> tuple[Value, ...]:
        """Add an operation with several outputs."""
        made = tuple(self._new(kind, shape) for kind, shape in outputs)
        self._blocks[-1].nodes.append(Node(operation, inputs, made, options or {}, body))
        return made

    def _new(self, kind: str, shape: Shape) -> Value:
        self._n_values += 1
        return Value(self, self._n_values - 1, kind, shape)


def _keep_needed(block: Block, needed: set[int]) -> None:
    """Keep the operations of a block that make needed values, to which their inputs are added."""
    needed.update(value.number for value in block.outputs)
    kept = []
    for node in reversed(block.nodes):
        if any(value.number in needed for value in node.outputs):
            kept.append(node)
            needed.update(value.number for value in node.inputs)
            if node.body is not None:
                _keep_needed(node.body, needed)
    block.nodes = kept[::-1]


def used_constants(graph: Graph, *, of_trees: bool = True) -> list[int]:
    """Return the constants that the outputs depend on, or some operation does.

    Those ``of_trees`` are nodes of trees.
    """
    used: dict[int, None] = {}

    def visit(block: Block) -> None:
        for node in block.nodes:
            for value in node.inputs[: None if of_trees or node.operation != "leaves" else 1]:
                used.setdefault(value.number)
            if node.body is not None:
                visit(node.body)
        for value in block.outputs:
            used.setdefault(value.number)

    visit(graph.top)
    for value in graph.outputs.values():
        used.setdefault(value.number)
    return [number for number in used if number in graph.constants]


# Entries of a table that are compared with each row at once: a search has six times the operations.
_MOST_COMPARED = 2_048


def count_in_table(table: Floats, values: Value, *, strictly: bool = False) -> Value:
    """Return how many entries of an increasing table are at most, or below, each value."""
    graph, length = values.graph, table.shape[-1]
    if table.ndim == 2 and 0 < table.size <= _MOST_COMPARED:
        each = values.reshape(len(table), 1)
        passed = (each > table) if strictly else (each >= table)
        return passed.as_float().sum().reshape(len(table)).as_integer()
    steps = _steps(length)
    width = 2 * steps[0] - 1 if steps else 0
    padded = np.full((*table.shape[:-1], width), np.inf)
    padded[..., :length] = table
    offset = np.arange(len(table)) * width if table.ndim == 2 else np.zeros(1, np.int64)
    count: Value | None = None
    for step in steps:
        place = graph.value(offset + step - 1, "integer")
        entry = graph.lookup(padded.ravel(), place if count is None else count + place)
        passed = (entry < values) if strictly else (entry <= values)
        found = passed.as_integer() * step
        count = found if count is None else count + found
    if count is None:
        return (values.equals(values)).as_integer() * 0
    return count.minimum(length)


def count_in_rows(rows: Value, values: Value, *, strictly: bool = False) -> Value:
    """Return how many entries of each increasing row are at most, or below, its values."""
    graph, length = rows.graph, int(rows.shape[-1] or 0)
    steps = _steps(length)
    missing = 2 * steps[0] - 1 - length
    if missing:
        lengths = tuple(int(n or 0) for n in rows.shape[1:-1])
        room = graph.repeated(np.full((*lengths, missing), np.inf), rows)
        rows = graph.concat([rows, room])
    n_values = int(values.shape[-1] or 0)
    lengths = tuple(int(n or 0) for n in rows.shape[1:-1])
    count = graph.repeated(np.zeros((*lengths, n_values), np.int64), rows)
    for step in steps:
        entry = rows.take_along(count + (step - 1))
        passed = (entry < values) if strictly else (entry <= values)
        count = count + passed.as_integer() * step
    return count.minimum(length)


def mean_of(values: Sequence[Value]) -> Value:
    """Return the mean of several values, summed from left to right."""
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total if len(values) == 1 else total / float(len(values))


def interpolate(values: Value, places: Floats, heights: Floats) -> Value:
    """Return heights between places on a line as ``numpy.interp`` does."""
    graph, last = values.graph, len(places) - 1
    left = (count_in_table(places, values) - 1).clip(0, last - 1)
    gaps = np.diff(places)
    slopes = np.divide(np.diff(heights), gaps, out=np.zeros(last), where=gaps > 0)
    distance = values - graph.lookup(places, left)
    inside = graph.lookup(slopes, left) * distance + graph.lookup(heights, left)
    inside = (values >= float(places[-1])).where(float(heights[-1]), inside)
    return (values < float(places[0])).where(float(heights[0]), inside)


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """Trees as arrays: all nodes one after the other."""

    root: NDArray[Any]  # shape (n_trees,); place of the first node of each tree
    feature: NDArray[Any]  # shape (n_nodes,); the column that a node splits by
    threshold: NDArray[Any]  # shape (n_nodes,); larger values go to the second child
    children: NDArray[Any]  # shape (n_nodes, 2); places of both children; a leaf is its own child

    def leaves_of(self, columns: Value) -> Value:
        """Return the place of the leaf of each row in each tree, of shape (n, n_trees).

        Columns and thresholds are numbers of single precision.
        """
        arrays = (self.root, self.feature, self.threshold, self.children)
        inputs = (columns, *(columns.graph.constant(array) for array in arrays))
        return columns.graph.add("leaves", inputs, INTEGER, (columns.shape[0], len(self.root)))


def _steps(length: int) -> list[int]:
    """Return the powers of two that add up to any count from 0 to a length."""
    return [1 << bit for bit in reversed(range(length.bit_length()))]


_INTEGERS = (np.uint8, np.uint16, np.int32)


def narrowed(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of the same values that takes the least room.

    Weights of networks and thresholds of forests have single precision, and most integers are
    small: files and pages become half as large.
    """
    if array.dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            single = array.astype(np.float32)
        return single if np.array_equal(single.astype(np.float64), array) else array
    if array.dtype.kind in "iu" and array.size:
        low, high = array.min(), array.max()
        for kind in _INTEGERS:
            if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
                return array.astype(kind)
    return array
