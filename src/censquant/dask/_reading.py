"""Partitions as workers read them: checked, and in the same columns and types everywhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.estimators.neural import number_columns
from censquant.survival import Target, read_target
from censquant.survival._columns import read_weights
from censquant.survival._target import read_columns, require_durations


@dataclass(frozen=True)
class Layout:
    """Where features, target, weights and groups of a partition are.

    Parameters
    ----------
    features : tuple of str, or None
        Columns of a frame; None where features are an array.
    n_features : int
    time, event : str, or None
        Columns of the frame; None where the target is a frame of its own.
    weight, groups : str, or None
        Columns of the frame.
    durations : bool, default False
        Whether negative times are refused.
    """

    features: tuple[Any, ...] | None
    n_features: int
    time: Any = None
    event: Any = None
    weight: Any = None
    groups: Any = None
    durations: bool = False

    @property
    def columns(self) -> list[Any]:
        """All columns of the frame that are used."""
        others = (self.time, self.event, self.weight, self.groups)
        return [*(self.features or ()), *(name for name in others if name is not None)]


class Reader(Protocol):
    """Turns a table of features into numbers."""

    @property
    def width(self) -> int:
        """Number of columns that come out."""
        ...

    def __call__(self, X: Any) -> Floats:
        """Return the numbers of some rows, at least one."""
        ...


@dataclass(frozen=True)
class Numbers:
    """The reader of features that are numbers already."""

    features: tuple[Any, ...] | None
    width: int

    def __call__(self, X: Any) -> Floats:
        """Return finite numbers, refused by the name of their column."""
        return number_columns(X, self.features, self.width)


@dataclass(frozen=True, eq=False)
class Encoded:
    """The reader of tables as a fitted estimator encodes them."""

    model: Any
    width: int

    def __call__(self, X: Any) -> Floats:
        """Return what the estimator's networks are given."""
        numbers: Floats = self.model._encode_features(X)
        return numbers


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a partition that are used, features as they are."""

    X: Any
    target: Target
    weight: Floats
    groups: NDArray[Any] | None

    def __len__(self) -> int:
        return len(self.target)


def read_table(number: int, layout: Layout, X: Any, y: Any = None) -> Table:
    """Return the rows of a partition whose weight is not 0; it may have none."""
    with _of_partition(number):
        return _table(layout, X, y)


def _table(layout: Layout, X: Any, y: Any) -> Table:
    if layout.features is not None:
        missing = [name for name in layout.columns if name not in X.columns]
        if missing:
            raise ValueError(
                f"every partition must have the columns {layout.columns}, got one without "
                f"{missing}."
            )
    elif np.ndim(X) != 2 or X.shape[1] != layout.n_features:
        raise ValueError(
            f"X must have {layout.n_features} columns in every block, got shape {np.shape(X)}."
        )
    n = len(X)
    if y is not None and len(y) != n:
        raise ValueError(
            f"y must have one row for each row of X, got {len(y)} rows in y and {n} in X."
        )
    features = X if layout.features is None else X[list(layout.features)]
    if n == 0:
        return Table(features, Target(np.zeros(0), np.zeros(0, bool)), np.zeros(0), None)
    if y is None:
        target = read_columns(X[layout.time], X[layout.event], name=str(layout.time))
    else:
        target = read_target(y, n_samples=n)
    weight = np.ones(n)
    if layout.weight is not None:
        weight = read_weights(X[layout.weight], n)
    groups = None
    if layout.groups is not None:
        groups = _labels(X[layout.groups])
    used = weight > 0
    if layout.durations:
        require_durations(target.take(used))
    if used.all():
        return Table(features, target, weight, groups)
    return Table(
        features[used],
        target.take(used),
        weight[used],
        None if groups is None else groups[used],
    )


def _labels(column: Any) -> NDArray[Any]:
    """Return labels as text, which partitions of other types share: 7, 7.0 and "7" are one."""
    values = np.asarray(column)
    if values.dtype.kind == "f" and (values == np.floor(values)).all():
        values = values.astype(np.int64)
    return values.astype(str)


def read_numbers(number: int, reader: Reader, table: Table) -> Floats:
    """Return the features of a partition as numbers."""
    if not len(table):
        return np.zeros((0, reader.width))
    with _of_partition(number):
        return np.asarray(reader(table.X), dtype=np.float64)


@contextmanager
def _of_partition(number: int) -> Iterator[None]:
    """Name the partition in errors."""
    try:
        yield
    except TypeError as error:
        raise TypeError(f"In partition {number}: {error}") from None
    except ValueError as error:
        raise ValueError(f"In partition {number}: {error}") from None
