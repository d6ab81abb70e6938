"""Columns of frames, arrays and sparse matrices, as numbers or as levels of categories."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from censquant._frames import is_frame, is_polars, unmasked
from censquant._rows._features import columns_of_fit, dense, is_plain_table
from censquant._typing import Floats

# Above it a float no longer tells whole numbers apart.
_LARGEST_WHOLE = 2.0**53


def checked_table(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return ``X`` as a frame, array or sparse matrix with the columns of the fit.

    Shapes and names are checked, values are not; the columns of a frame are found by name.
    """
    if hasattr(X, "collect_schema") and not hasattr(X, "shape"):
        raise TypeError(
            f"X must be a table in memory, got a {type(X).__name__}: call its collect() first."
        )
    if not reset and (is_plain_table(estimator, X) or _is_frame_of_fit(estimator, X)):
        return X
    fewest = 2 if reset else 1
    if not is_frame(X):
        return validate_data(
            estimator,
            as_array(X),
            reset=reset,
            dtype=None,
            accept_sparse="csr",
            ensure_all_finite=False,
            ensure_min_samples=fewest,
        )
    if not reset:
        X = columns_of_fit(estimator, X)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    # Only the shape is looked at: the frame itself would become an array of objects.
    check_array(np.broadcast_to(0.0, X.shape), ensure_min_samples=fewest, estimator=estimator)
    return X


def _is_frame_of_fit(estimator: Any, X: Any) -> bool:
    """Whether a frame has the columns of the fit in their order, so that nothing is left to check.

    scikit-learn finds that out as well, in the time of a prediction.
    """
    known = getattr(estimator, "feature_names_in_", None)
    return known is not None and is_frame(X) and len(X) > 0 and list(X.columns) == known.tolist()


def as_array(X: Any) -> Any:
    """Return lists as an array in which numbers beside text stay numbers; others unchanged.

    What a mask hides is missing.
    """
    if not isinstance(X, list | tuple):
        return unmasked(X)
    array = np.asarray(X)
    return np.array(X, dtype=object) if array.dtype.kind in "US" else array


class UnusableColumnError(TypeError):
    """A column that cannot become numbers; ``kind`` is "text", "times", "infinity" or a type."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers, NaN where a value is missing."""

    values: Floats
    is_whole: bool = False  # whether the type of the column is that of integers

    def take(self, rows: NDArray[np.bool_]) -> "Numbers":
        """Return the values of some rows."""
        return Numbers(self.values[rows], self.is_whole)

    def content(self) -> tuple[bytes, NDArray[Any]]:
        """Return what is equal for columns of the same content: a kind and the values."""
        return b"numbers", self.values + 0.0  # -0.0 becomes 0.0


@dataclass(frozen=True, eq=False)
class Categories:
    """A column of levels, known by their text.

    A level is text whatever its type was: data frames turn whole numbers into floats where a value
    is missing, and large files are read as numbers in one part and as text in another.
    """

    codes: NDArray[np.intp]  # places among the levels, -1 where a value is missing
    levels: list[str]  # distinct, in any order: those of identifiers are as many as rows
    is_text: bool = False  # whether text made it a category, and neither its type nor the user

    def take(self, rows: NDArray[np.bool_]) -> "Categories":
        """Return the levels of some rows."""
        return Categories(self.codes[rows], self.levels, self.is_text)

    def content(self) -> tuple[bytes, NDArray[Any]]:
        """Return what is equal for columns of the same content: sorted levels, places in them."""
        order = np.array(sorted(range(len(self.levels)), key=self.levels.__getitem__), np.intp)
        rank = np.full(len(order) + 1, -1)  # the last one is that of a missing value
        rank[order] = np.arange(len(order))
        text = "\0".join(self.levels[code] for code in order)
        return text.encode(errors="surrogatepass"), rank[self.codes]


Column = Numbers | Categories


def categories(
    texts: Sequence[str | None], index: NDArray[np.integer[Any]], *, is_text: bool = False
) -> Categories:
    """Return levels from the texts of distinct values and the place of each row among them.

    None stands for a missing value; values of the same text are one level.
    """
    place: dict[str, int] = {}
    codes = [-1 if text is None else place.setdefault(text, len(place)) for text in texts]
    return Categories(np.array(codes, dtype=np.intp)[index], list(place), is_text)


def categories_of_numbers(numbers: Numbers, *, is_flag: bool) -> Categories:
    """Return the distinct numbers of a column as levels."""
    distinct, index = np.unique(numbers.values, return_inverse=True)
    as_text = flag_text if is_flag else number_text
    texts = [None if np.isnan(value) else as_text(value) for value in distinct]
    return categories(texts, index)


def flag_text(value: Any) -> str:
    """Return True and False as text."""
    return str(bool(value))


def number_text(value: Any) -> str | None:
    """Return a number as text, the same for 1 and 1.0; None for NaN."""
    try:
        number = float(value)
    except OverflowError:
        raise UnusableColumnError("infinity") from None
    if np.isnan(number):
        return None
    if np.isinf(number):
        raise UnusableColumnError("infinity")
    is_whole = number.is_integer() and abs(number) < _LARGEST_WHOLE
    return str(int(number)) if is_whole else repr(number)


class Table:
    """The columns of a frame, array or sparse matrix, read one at a time to save memory."""

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
        """Return the whole table if it is all finite numbers, not copied if possible."""
        X = self._X
        if self._is_frame:
            if is_polars(X) or not all(_is_number(dtype) for dtype in X.dtypes):
                return None
            X = X.to_numpy(dtype=np.float64)
        elif not isinstance(X, np.ndarray) or X.dtype.kind not in "biuf":
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
        name = self._X.columns[place]
        if isinstance(name, str) and self._X.columns.is_unique:  # by name it is found faster
            return _read_pandas(self._X[name], as_category)
        return _read_pandas(self._X.iloc[:, place], as_category)


def _is_number(dtype: Any) -> bool:
    """Whether a column of pandas is a plain array of numbers."""
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"


def _read_array(array: NDArray[Any], as_category: bool | None) -> Column:
    kind = array.dtype.kind
    _refuse_kind(kind)
    if kind in "biuf":
        return _read_numbers(np.ascontiguousarray(array, np.float64), kind, as_category)
    return read_objects(array.tolist(), as_category=as_category)


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
    return read_objects(column.tolist(), as_category=as_category)


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


def _refuse_kind(kind: str) -> None:
    if kind in "Mm":
        raise UnusableColumnError("times")
    if kind == "c":
        raise UnusableColumnError("complex")


# Columns of Python objects: what they are is known from the types of their values


def read_objects(values: Sequence[Any], *, as_category: bool | None) -> Column:
    """Return a column of Python objects as numbers or levels."""
    kinds = _kinds(values)
    if "text" in kinds.values():
        # An empty text says nothing: files of tables and exported models know no other way to say
        # that a value is missing.
        values = [None if isinstance(value, str) and not value else value for value in values]
        kinds = _kinds(values)
    found = set(kinds.values())
    if unusable := found - {"text", "flag", "number", "missing"}:
        raise UnusableColumnError(min(unusable))
    if as_category or (as_category is None and "text" in found):
        return _categories(values, kinds, is_text=as_category is None)
    if "text" in found:
        raise UnusableColumnError("text")
    return _numbers(values, kinds)


def level_text(value: Any) -> str | None:
    """Return a level of a categorical type, which may be anything, as text; None for an empty one.

    An empty text stands for a missing value.
    """
    return _text(value, _kind(type(value))) or str(value) or None


def _kinds(values: Sequence[Any]) -> dict[type, str]:
    """Return what the types of some values are."""
    return {type_: _kind(type_) for type_ in set(map(type, values))}


def _kind(type_: type) -> str:
    """Return what values of a type are; the name of the type where nothing is known of it."""
    # pandas' NaT is a datetime, and numpy's timedelta an integer: the order of the tests counts.
    if type_ is type(None) or type_.__name__ in ("NAType", "NaTType"):
        return "missing"
    if issubclass(type_, str):
        return "text"
    if issubclass(type_, bool | np.bool_):
        return "flag"
    times = date | time | timedelta | np.datetime64 | np.timedelta64
    if issubclass(type_, times) or type_.__name__ == "Period":
        return "times"
    if issubclass(type_, Real | Decimal):
        return "number"
    return type_.__name__


def _numbers(values: Sequence[Any], kinds: dict[type, str]) -> Numbers:
    missing = {type_ for type_, kind in kinds.items() if kind == "missing"}
    if missing:
        values = [np.nan if type(value) in missing else value for value in values]
    try:
        return Numbers(np.array(values, dtype=np.float64))
    except OverflowError:
        raise UnusableColumnError("infinity") from None


def _categories(values: Sequence[Any], kinds: dict[type, str], *, is_text: bool) -> Categories:
    if {"flag", "number"} <= set(kinds.values()):
        # True equals 1 and would be one key with it, whichever comes first.
        values = [flag_text(v) if kinds[type(v)] == "flag" else v for v in values]
        kinds = {**kinds, str: "text"}
    distinct = list(set(values))
    texts = [_text(value, kinds[type(value)]) for value in distinct]
    place = {value: index for index, value in enumerate(distinct)}
    index = np.fromiter(map(place.__getitem__, values), dtype=np.intp, count=len(values))
    return categories(texts, index, is_text=is_text)


def _text(value: Any, kind: str) -> str | None:
    if kind == "text":
        return str.__str__(value)  # an enumeration of strings has a str() of its own
    if kind == "flag":
        return flag_text(value)
    return number_text(value) if kind == "number" else None
