"""Values of a graph: arithmetic on them is written down instead of computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from censquant.export._graph import Graph

Shape = tuple[int | None, ...]
"""Lengths of the axes; None stands for the number of rows, which only the caller knows."""

FLOAT, INTEGER, FLAG, TEXT = "float", "integer", "flag", "text"


@dataclass(frozen=True, eq=False)
class Node:
    """One operation.

    Parameters
    ----------
    operation : str
        Its name; :class:`Value` and :class:`Graph` have one method for each.
    inputs, outputs : tuple of Value
    options : dict
        What is not an array.
    body : Block, optional
        Of a loop.
    """

    operation: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    options: dict[str, Any] = field(default_factory=dict)
    body: Block | None = None


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

    Parameters
    ----------
    graph : Graph
    number : int
        Unique in the graph.
    kind : {"float", "integer", "flag", "text"}
    shape : tuple of int or None
    """

    graph: Graph
    number: int
    kind: str
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

    def exp2(self) -> Value:
        """Return the power of two."""
        return self._map("exp2")

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

    def cumprod(self) -> Value:
        """Return cumulative products along the second and last axis, from left to right."""
        length = known_length(self.shape[-1])
        return self.graph.add("cumprod", (self,), self.kind, self.shape, {"length": length})

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
