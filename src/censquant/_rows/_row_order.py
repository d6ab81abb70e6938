"""An order of rows that depends on their content, not on their position or on units."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._compile import compiled

_LARGEST_COPIES = 100  # times the number of rows: beyond it, weights scale the loss instead
_BLOCK_ROWS = 8_192


@compiled
def _hash_rows(bits: Any, hashes: Any) -> None:
    for i in range(bits.shape[0]):
        word = hashes[i]
        for j in range(bits.shape[1]):
            word = (word ^ bits[i, j]) * np.uint64(0x9E3779B97F4A7C15)
            word ^= word >> np.uint64(29)
        hashes[i] = word


def canonical_order(*columns: NDArray[Any]) -> NDArray[np.intp]:
    """Return the indices that sort rows into an order that is a function of their content.

    With it a fit does not depend on how a file was sorted, nor on the units of time and of the
    features: the order is that of values relative to the largest of their column. Equal rows are
    interchangeable, so their order among themselves does not matter.
    """
    flat = [column.reshape(len(column), -1) for column in columns]
    units = [_largest(column) for column in flat]

    # Another unit rounds the values of a column differently, in the last bits of double precision:
    # single precision hides that. Rows that differ in those bits alone are ordered by them.
    def relative(rows: slice) -> list[NDArray[Any]]:
        return [
            (column[rows] / unit).astype(np.float32)
            for column, unit in zip(flat, units, strict=True)
        ]

    by_content = _hashes(len(flat[0]), lambda rows: [column[rows] for column in flat])
    return np.lexsort((by_content, _hashes(len(flat[0]), relative)))


def order_by_content(
    n_rows: int, content: Callable[[slice], Iterable[NDArray[Any]]]
) -> NDArray[np.intp]:
    """Return an order of rows by what ``content`` gives for some of them at a time.

    No second array of the size of the data is made. Rows of the same content stay in their order.
    """
    return np.argsort(_hashes(n_rows, content), kind="stable")


def _hashes(n_rows: int, content: Callable[[slice], Iterable[NDArray[Any]]]) -> NDArray[np.uint64]:
    """Return one number per row, equal for rows of equal content."""
    hashes = np.zeros(n_rows, dtype=np.uint64)
    for start in range(0, n_rows, _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        for column in content(rows):
            # Adding zero makes -0.0 and 0.0 the same.
            flat = np.ascontiguousarray(column, dtype=np.float64).reshape(len(column), -1) + 0.0
            _hash_rows(flat.view(np.uint64), hashes[rows])
    return hashes


def _largest(flat: NDArray[Any]) -> NDArray[np.float64]:
    """Return the largest finite absolute value of each column, 1 where all are 0."""
    largest = np.zeros(flat.shape[1])
    for start in range(0, len(flat), _BLOCK_ROWS):
        size = np.abs(flat[start : start + _BLOCK_ROWS].astype(np.float64))
        np.maximum(largest, np.where(np.isfinite(size), size, 0.0).max(axis=0), out=largest)
    return np.where(largest > 0.0, largest, 1.0)


def in_order(values: NDArray[Any], order: NDArray[np.intp]) -> NDArray[Any]:
    """Return rows in an order: the same array, not a copy, where they are in it already."""
    if len(order) == len(values) and bool((order == np.arange(len(order))).all()):
        return values
    return values[order]


def copies_of(weight: NDArray[np.float64]) -> NDArray[np.intp] | None:
    """Return how often each row is repeated if the weights are counts, else None.

    A row of weight 3 is then trained on as three rows, which makes weighting identical to
    repeating. Counts that would make the data much longer scale the loss instead.
    """
    whole = bool((weight == np.floor(weight)).all())
    if not whole or weight.sum() > _LARGEST_COPIES * len(weight):
        return None
    return weight.astype(np.intp)


def arrangement(
    weight: NDArray[np.float64], *columns: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return an order of the rows that depends only on their content, and their new weights.

    Rows of weight 0 are left out. Weights that are counts become repeated rows, so that a weighted
    fit is identical to repeating the rows; other weights are scaled to 1 on average.
    """
    used = np.flatnonzero(weight > 0)
    if len(used) < len(weight):
        weight, columns = weight[used], tuple(column[used] for column in columns)
    copies = copies_of(weight)
    if copies is not None:
        order = canonical_order(*columns)
        order = used[np.repeat(order, copies[order])]
        return order, np.ones(len(order))
    # An exact sum does not depend on the order, and float32 hides the rounding of the division:
    # the same ratios give the same order and the same bits.
    scaled = weight / (math.fsum(weight) / len(weight))
    weight = scaled.astype(np.float32).astype(np.float64)
    order = canonical_order(*columns, weight)
    return used[order], weight[order]
