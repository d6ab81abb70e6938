"""A column as values that can be encoded: numbers, or the levels of a category."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats

# Above it a float no longer tells whole numbers apart.
_LARGEST_WHOLE = 2.0**53


class UnusableColumnError(TypeError):
    """A column that cannot become numbers; ``kind`` is "text", "times", "infinity" or a type."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers, NaN where a value is missing.

    Parameters
    ----------
    values : ndarray of shape (n,)
    is_whole : bool, default False
        Whether the type of the column is that of integers.
    """

    values: Floats
    is_whole: bool = False

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

    Parameters
    ----------
    codes : ndarray of int of shape (n,)
        Places among the levels, -1 where a value is missing.
    levels : list of str
        Distinct, in any order: those of identifiers are as many as rows, and never need sorting.
    is_text : bool, default False
        Whether text made it a category, and neither its type nor the user.
    """

    codes: NDArray[np.intp]
    levels: list[str]
    is_text: bool = False

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
