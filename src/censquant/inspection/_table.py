"""Features as a user passes them, column by column: arrays, frames of pandas or polars."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._frames import is_polars, unmasked
from censquant.adapters._predictions import final_model

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Rows that a model can be asked about, whose columns can be exchanged one by one.

    The type of the frame and of its columns is kept, since models read text, categories and
    missing values by it. Made by `FeatureTable.read`.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant.inspection._table import (FeatureTable)
    >>> table = FeatureTable.read(pd.DataFrame({"age": [40.0, None], "sex": ["f", "m"]}))
    >>> table.names, table.texts(0), table.numbers(1) is None
    (('age', 'sex'), ['40', 'missing'], True)
    >>> table.with_column(1, ["m", "m"]).X["sex"].tolist()
    ['m', 'm']
    """

    X: Any  # shape (n, n_features)
    names: tuple[str, ...]  # names of the columns

    @classmethod
    def read(cls, X: Any, model: Any = None, *, name: str = "X") -> FeatureTable:
        """Return a table with the names of its columns, or those that the model knows."""
        if _is_frame(X):
            table = cls(X, tuple(str(column) for column in X.columns))
        else:
            array = _read_array(X, name)
            table = cls(array, _names_of(model, array.shape[1]))
        if not len(table):
            raise ValueError(f"{name} must have at least one row, got none.")
        return table

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_columns(self) -> int:
        """Number of features."""
        return len(self.names)

    def place(self, feature: str | int) -> int:
        """Return the number of a column that is given by name or number."""
        if isinstance(feature, str):
            if self.names.count(feature) == 1:
                return self.names.index(feature)
            listed = ", ".join(repr(name) for name in self.names[:10])
            raise ValueError(f"feature must be one of the columns {listed}, got {feature!r}.")
        number = int(feature)
        if not -self.n_columns <= number < self.n_columns:
            raise ValueError(
                f"feature must be the name or number of one of {self.n_columns} columns, "
                f"got {feature!r}."
            )
        return number % self.n_columns

    def places(self, features: Any) -> list[int]:
        """Return the numbers of some columns; None stands for all."""
        if features is None:
            return list(range(self.n_columns))
        given = [features] if isinstance(features, str | int) else list(features)
        return [self.place(feature) for feature in given]

    def take(self, rows: Any) -> FeatureTable:
        """Return some rows."""
        part = self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]
        return FeatureTable(part, self.names)

    def first_columns(self, number: int) -> FeatureTable:
        """Return the table with so many of its columns."""
        if self.n_columns <= number:
            return self
        part = self.X.iloc[:, :number] if hasattr(self.X, "iloc") else self.X[:, :number]
        return FeatureTable(part, self.names[:number])

    def column(self, place: int) -> Any:
        """Return one column in the type that it has."""
        if is_polars(self.X):
            return self.X.to_series(place)
        return self.X.iloc[:, place] if hasattr(self.X, "iloc") else self.X[:, place]

    def numbers(self, place: int) -> NDArray[np.float64] | None:
        """Return a column as numbers with NaN for what is missing; None if it holds others."""
        column = self.column(place)
        kind = str(column.dtype).lower()
        if kind.startswith(("bool", "cat", "enum")):
            return None
        if kind.startswith(("int", "uint", "float")):
            return _floats(column)
        values = _objects(column)
        if all(_is_missing(value) or _is_number(value) for value in values):
            return np.array([np.nan if _is_missing(value) else float(value) for value in values])
        return None

    def texts(self, place: int) -> list[str]:
        """Return the values of a column as text for labels."""
        return [_text(value) for value in _objects(self.column(place))]

    def codes(self, place: int) -> Places:
        """Return numbers that are equal where the values of a column are; missing is a value."""
        column = self.column(place)
        if str(column.dtype).lower().startswith(("int", "uint", "float")):
            return np.unique(_floats(column), return_inverse=True)[1]
        known: dict[Any, int] = {}
        return np.array([_code(value, known) for value in _objects(column)], dtype=np.intp)

    def with_column(self, place: int, values: Any) -> FeatureTable:
        """Return the table with other values in one column."""
        if is_polars(self.X):
            import polars as pl

            series = values if is_polars(values) else pl.Series(values)
            new = self.X.clone().replace_column(place, series.alias(self.X.columns[place]))
        elif hasattr(self.X, "isetitem"):
            new = self.X.copy(deep=False)
            new.isetitem(place, getattr(values, "array", values))
        else:
            new = self.X.astype(np.result_type(self.X, values), copy=True)
            new[:, place] = values
        return FeatureTable(new, self.names)

    def mixed(self, rows: Places) -> Any:
        """Return features whose columns come from the rows that each column of ``rows`` names."""
        if is_polars(self.X):
            import polars as pl

            return pl.DataFrame(
                [taken(self.X.to_series(j), rows[:, j]) for j in range(len(rows.T))]
            )
        if hasattr(self.X, "iloc"):
            columns = {j: taken(self.X.iloc[:, j], rows[:, j]).array for j in range(len(rows.T))}
            frame = type(self.X)(columns, copy=False)
            frame.columns = self.X.columns
            return frame
        return self.X[rows, np.arange(rows.shape[1])]

    def require_columns_of(self, other: FeatureTable) -> None:
        """Raise unless a background is of the same kind and has the same columns."""
        is_frame = _is_frame(self.X)
        if type(self.X) is not type(other.X):
            raise TypeError(
                f"background must be of the type of X, {type(self.X).__name__}, got "
                f"{type(other.X).__name__}."
            )
        same = set(self.names) == set(other.names) if is_frame else True
        if self.n_columns != other.n_columns or not same:
            raise ValueError(
                f"background must have the columns of X, {_listed(self.names)}, got "
                f"{_listed(other.names)}."
            )

    def above(self, other: FeatureTable) -> FeatureTable:
        """Return one table with the rows of another below, whose columns are matched by name."""
        self.require_columns_of(other)
        if is_polars(self.X):
            import polars as pl

            below = other.X.select(self.X.columns)
            return FeatureTable(pl.concat([self.X, below], how="vertical_relaxed"), self.names)
        if not _is_frame(self.X):
            return FeatureTable(np.concatenate((self.X, other.X)), self.names)
        below = other.X.loc[:, list(self.X.columns)]
        columns = {
            j: _joined(self.X.iloc[:, j], below.iloc[:, j]).array for j in range(self.n_columns)
        }
        frame = type(self.X)(columns, copy=False)
        frame.columns = self.X.columns
        return FeatureTable(frame, self.names)


def read_labels(name: str, given: Any, rows: FeatureTable | int) -> list[str]:
    """Return the name of the group of each row: a column of the rows, or one value for each."""
    if isinstance(given, str | int) and isinstance(rows, FeatureTable):
        return rows.texts(rows.place(given))
    n_rows = len(rows) if isinstance(rows, FeatureTable) else rows
    values = given if is_polars(given) or hasattr(given, "tolist") else np.asarray(given)
    if getattr(values, "shape", None) != (n_rows,):
        shape = getattr(values, "shape", None)
        raise ValueError(
            f"{name} must be a column or have one group for each of {n_rows} rows, got "
            f"{repr(given) if isinstance(given, str) or not shape else f'shape {shape}'}."
        )
    return [_text(value) for value in _objects(values)]


def _is_frame(X: Any) -> bool:
    return is_polars(X) or (hasattr(X, "iloc") and hasattr(X, "columns"))


def _read_array(X: Any, name: str) -> NDArray[Any]:
    """Return rows of an array-like or sparse matrix; numbers beside text stay numbers."""
    array = np.asarray(X.toarray() if hasattr(X, "toarray") else unmasked(X))
    if array.dtype.kind in "US":
        array = np.asarray(X, dtype=object)
    if array.ndim != 2:
        raise ValueError(f"{name} must have shape (n, n_features), got {array.shape}.")
    return array


def _names_of(model: Any, n_columns: int) -> tuple[str, ...]:
    """Return the names of the features that a model was fitted to, x0, x1, ... if it has none."""
    known = getattr(model, "feature_names_in_", None)
    if known is None and model is not None:
        known = getattr(final_model(model, None)[0], "feature_names_in_", None)
    if known is not None and len(known) == n_columns:
        return tuple(str(name) for name in known)
    return tuple(f"x{column}" for column in range(n_columns))


def taken(column: Any, rows: Places) -> Any:
    """Return entries of a column in the type that it has."""
    if is_polars(column):
        return column.gather(rows)
    return column.take(rows) if hasattr(column, "iloc") else column[rows]


def _joined(first: Any, second: Any) -> Any:
    """Return one column of pandas above another, in the type of the second where that can be."""
    import pandas as pd

    if first.dtype != second.dtype:
        if hasattr(first, "cat") or hasattr(second, "cat"):
            both = pd.concat([first.astype(object), second.astype(object)], ignore_index=True)
            return both.astype("category")
        if first.isna().all():  # says nothing of its type
            joined = pd.concat([first.astype(object), second.astype(object)], ignore_index=True)
            return joined.astype(np.float64) if second.dtype.kind in "iuf" else joined
    return pd.concat([first, second], ignore_index=True)


def _floats(column: Any) -> NDArray[np.float64]:
    """Return a column of numbers with NaN for what is missing."""
    if is_polars(column):
        return np.asarray(column.cast(float).fill_null(np.nan).to_numpy(), dtype=np.float64)
    if hasattr(column, "iloc"):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column, dtype=np.float64)


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN or one of pandas' missing values."""
    # By name, since pandas need not be installed.
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _objects(column: Any) -> list[Any]:
    """Return the entries of a column."""
    found: list[Any] = column.to_list() if is_polars(column) else column.tolist()
    return found


def _text(value: Any) -> str:
    if _is_missing(value):
        return "missing"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _code(value: Any, known: dict[Any, int]) -> int:
    # By type too, since a model may tell 1 from True.
    return -1 if _is_missing(value) else known.setdefault((type(value), value), len(known))


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
