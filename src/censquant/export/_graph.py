"""A small language of array operations, in which every fitted model can write itself down.

A model that writes itself as a graph once can be turned into an ONNX file, into a page's JavaScript
and into whatever else knows these few operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant.export._value import (
    FLAG,
    FLOAT,
    INTEGER,
    TEXT,
    Block,
    Node,
    Shape,
    Value,
    known_length,
)

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
    ) -> list[Value]:
        """Return values after ``count`` steps, each of which replaces them.

        ``step(number, *values)`` returns the new values, of the same shapes. With ``going`` the
        loop ends as soon as the flag ``going(*values)`` is not set in any place.
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
        options = {"count": count, "ends": going is not None}
        return list(self.add_many("loop", tuple(initial), kinds, options, body))

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


def used_constants(graph: Graph) -> list[int]:
    """Return the constants that the outputs depend on, or some operation does."""
    used: dict[int, None] = {}

    def visit(block: Block) -> None:
        for node in block.nodes:
            for value in node.inputs:
                used.setdefault(value.number)
            if node.body is not None:
                visit(node.body)
        for value in block.outputs:
            used.setdefault(value.number)

    visit(graph.top)
    for value in graph.outputs.values():
        used.setdefault(value.number)
    return [number for number in used if number in graph.constants]
