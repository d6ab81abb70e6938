"""Frames, arrays and sparse matrices as tables whose columns are read one at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._frames import is_frame, is_polars, unmasked
from censquant._rows._encoding._objects import level_text, read_objects
from censquant._rows._encoding._values import (
    Column,
    Numbers,
    UnusableColumnError,
    categories,
    categories_of_numbers,
)
from censquant._rows._features import dense


def as_array(X: Any) -> Any:
    """Return lists as an array in which numbers beside text stay numbers; others unchanged.

    What a mask hides is missing.
    """
    if not isinstance(X, list | tuple):
        return unmasked(X)
    array = np.asarray(X)
    return np.array(X, dtype=object) if array.dtype.kind in "US" else array


class Table:
    """The columns of ``X``, read one at a time so that memory stays that of a few columns.

    Parameters
    ----------
    X : DataFrame, array-like or sparse matrix of shape (n, n_features)
    """

    def __init__(self, X: Any) -> None:
        self._is_frame = is_frame(X)
        if not self._is_frame:
            X = X.tocsc() if hasattr(X, "tocsc") else np.asarray(as_array(X))
        self._X = X
        self.n_rows, self.n_columns = X.shape

    def names(self) -> list[str]:
        """Return the names of a frame's columns, ``x0``, ``x1``, ... where there are none."""
        if self._is_frame:
            return [str(name) for name in self._X.columns]
        return [f"x{place}" for place in range(self.n_columns)]

    def plain_numbers(self) -> NDArray[np.float64] | None:
        """Return the whole table if it is an array of finite numbers, not copied if possible."""
        X = self._X
        if not isinstance(X, np.ndarray) or X.dtype.kind not in "biuf":
            return None
        values = np.asarray(X, dtype=np.float64, order="C")
        # One sum looks at everything; columns are looked at one by one where it is not finite.
        with np.errstate(over="ignore", invalid="ignore"):
            return values if np.isfinite(values.sum()) else None

    def column(self, place: int, *, as_category: bool | None) -> Column:
        """Return one column as numbers or levels; None means as its type says."""
        if not self._is_frame:
            array = self._X[:, [place]] if hasattr(self._X, "tocsc") else self._X[:, place]
            return _read_array(dense(array).ravel(), as_category)
        if is_polars(self._X):
            return _read_polars(self._X.to_series(place), as_category)
        return _read_pandas(self._X.iloc[:, place], as_category)


def _read_array(array: NDArray[Any], as_category: bool | None) -> Column:
    kind = array.dtype.kind
    _refuse_kind(kind)
    if kind in "biuf":
        return _read_numbers(np.ascontiguousarray(array, np.float64), kind, as_category)
    return read_objects(_objects(array), as_category=as_category)


def _read_pandas(column: Any, as_category: bool | None) -> Column:
    dtype = column.dtype
    if hasattr(column, "cat"):
        known, codes = list(column.cat.categories), column.cat.codes.to_numpy()
        if as_category is not False:
            # A missing value has the code -1: the last of the texts.
            return categories([*map(level_text, known), None], codes)
        numbers = read_objects([*known, None], as_category=False)
        assert isinstance(numbers, Numbers)
        return Numbers(numbers.values[codes])
    if isinstance(dtype, np.dtype):
        return _read_array(column.to_numpy(), as_category)
    _refuse_kind(dtype.kind)
    if dtype.kind in "biuf":
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return _read_numbers(values, dtype.kind, as_category)
    return read_objects(_objects(column), as_category=as_category)


def _read_polars(column: Any, as_category: bool | None) -> Column:
    import polars as pl

    dtype = column.dtype
    if dtype.is_temporal():
        raise UnusableColumnError("times")
    if dtype.is_numeric() or dtype == pl.Boolean:
        kind = "b" if dtype == pl.Boolean else "i" if dtype.is_integer() else "f"
        values = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
        return _read_numbers(values, kind, as_category)
    if as_category is None and dtype in (pl.Categorical, pl.Enum):
        as_category = True
    return read_objects(column.to_list(), as_category=as_category)


def _read_numbers(values: NDArray[np.float64], kind: str, as_category: bool | None) -> Column:
    numbers = Numbers(values, is_whole=kind in "iu")
    if as_category:
        return categories_of_numbers(numbers, is_flag=kind == "b")
    return numbers


def _objects(values: Any) -> Sequence[Any]:
    """Return the entries as a list, which is faster to walk through than an array of objects."""
    found: Sequence[Any] = values.tolist()
    return found


def _refuse_kind(kind: str) -> None:
    if kind in "Mm":
        raise UnusableColumnError("times")
    if kind == "c":
        raise UnusableColumnError("complex")
