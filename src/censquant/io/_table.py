"""A whole table in memory: columns by name, what they hold, and which may be learned from."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from censquant._leaks import FEWEST_ROWS, Outcome, are_row_numbers
from censquant.io._columns import DATE, NUMBER, OTHER, TEXT, Columns, level_texts, list_names
from censquant.io._options import TableError, TextOptions
from censquant.io._reader import TableReader, double_column
from censquant.survival._target import Target

if TYPE_CHECKING:
    from censquant.io._dataset import FragmentReader

CHUNK_ROWS = 100_000
"""Rows that are in memory at a time where a table is streamed."""


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file, each read as what it holds; made by :func:`read_table`.

    ``columns`` are Arrow columns by name, text without padding, null where a value is missing;
    ``kinds`` says "number", "text", "date" or "other" of each; ``double`` are names that several
    columns have, which cannot be used; ``notes`` say how the file was read. A piece of a table has
    ``n_before``, the number of its rows that come before.
    """

    shown: str
    columns: dict[str, Any]
    kinds: dict[str, str]
    double: tuple[str, ...]
    notes: tuple[str, ...]
    reader: Columns = field(repr=False)
    n_before: int | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def column(self, name: str, role: str) -> Any:
        """Return a column; an unknown name raises with the closest match."""
        if name in self.double:
            raise double_column(self.shown, name)
        if name not in self.columns:
            raise missing_column(self.shown, name, list(self.columns), role)
        return self.columns[name]

    def numbers(self, name: str, role: str) -> Any:
        """Return a column as float64 numbers, NaN where a value is missing."""
        return self.reader.numbers(self.column(name, role), name, self.n_before or 0)

    def dates(self, name: str, role: str, date_format: str | None = None) -> Any:
        """Return a column as dates in microseconds, null where a value is missing."""
        return self.reader.dates(self.column(name, role), name, date_format)

    def frame(self, names: Sequence[str], *, categorical: Sequence[str] = ()) -> Any:
        """Return columns as a DataFrame of float64 numbers and categories, to fit a model to.

        Text that is probably meant to be numbers is refused, with the options that would help.
        """
        self.refuse_doubtful(name for name in names if name not in categorical)
        kinds = {
            name: TEXT if name in categorical or self.kinds[name] == TEXT else NUMBER
            for name in names
        }
        return make_frame(self.reader, {name: self.columns[name] for name in names}, kinds)

    def refuse_doubtful(self, names: Iterable[str]) -> None:
        """Refuse columns of text that is probably meant to be numbers, and say how to read them."""
        for name in names:
            if self.kinds[name] == TEXT:
                self.reader.refuse_doubtful(self.columns[name], name)

    def text_notes(self) -> dict[str, Any]:
        """Return how numbers and missing values are written, as notes of a model file hold it."""
        numbers = [self.columns[name] for name, kind in self.kinds.items() if kind == NUMBER]
        return self.reader.text_notes(numbers)

    def frame_for(self, model: Any) -> Any:
        """Return the columns that a model was fitted to, each read as it was then."""
        columns = {name: self.column(name, "") for name in feature_names(model)}
        kinds = settled_kinds(self.reader, known_kinds(model), columns)
        return make_frame(self.reader, columns, kinds)


def read_table(
    source: str | os.PathLike[str],
    options: TextOptions | None = None,
    *,
    progress: Callable[[int, int | None, str], None] | None = None,
) -> Table:
    r"""Return a table that is read into memory as a whole.

    Columns of text files are numbers if all their values are, else dates (such as 2024-01-31) if
    all are, else text. Columns without a name are left aside.

    Parameters
    ----------
    source : str or path
        A CSV, TSV, Parquet or Feather file, gzipped or not; ``"-"`` for standard input.
    options : TextOptions, optional
    progress : callable, optional
        Called with the amount read, that of all or None, and the unit of both.

    Returns
    -------
    table : Table

    Examples
    --------
    >>> from censquant.io import TextOptions, read_table
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "fleet.csv"
    ...     _ = path.write_text("tage;ort\n3,5;Ulm\n5;Bonn\n")
    ...     table = read_table(path, TextOptions(decimal=","))
    >>> table.numbers("tage", role="time")
    array([3.5, 5. ])
    """
    reader = TableReader(source, options)
    try:
        places = [place for place, name in enumerate(reader.names) if name.strip()]
        pieces = []
        for piece in reader.pieces(places, CHUNK_ROWS):
            pieces.append(piece)
            if progress is not None:
                progress(*reader.progress)
    finally:
        reader.close()
    if not sum(piece.num_rows for piece in pieces):
        raise ValueError(f"{reader.shown} has a header but no rows.")
    whole = pa.concat_tables(pieces)
    names = [reader.names[place].strip() for place in places]
    double = tuple(dict.fromkeys(name for name in names if names.count(name) > 1))
    read = Columns(reader.shown, reader.options)
    columns = {
        name: read.values(whole.column(place))
        for place, name in enumerate(names)
        if name not in double
    }
    kinds = {name: read.kind(column) for name, column in columns.items()}
    notes = _notes(reader, read, columns, kinds)
    return Table(reader.shown, columns, kinds, double, notes, read)


def make_frame(
    read: Columns, columns: dict[str, Any], kinds: dict[str, str], first_row: int = 0
) -> Any:
    """Return columns as a DataFrame; text becomes categories, whose levels are kept once."""
    import pandas as pd

    found = {}
    for name, column in columns.items():
        if kinds[name] == NUMBER:
            found[name] = read.numbers(column, name, first_row)
            continue
        codes, levels = _encode(level_texts(column))
        found[name] = pd.Categorical.from_codes(codes, pd.Index(levels.to_pylist(), dtype=object))
    return pd.DataFrame(found, copy=False)


def _encode(column: Any) -> tuple[NDArray[np.int64], Any]:
    """Return codes of the values of a column, -1 where one is missing, and these values."""
    whole = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    encoded = whole.combine_chunks().dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.asarray(codes, dtype=np.int64), encoded.dictionary


def missing_column(shown: str, name: str, there: Sequence[str], role: str) -> TableError:
    """Return the error for a column that is not there, with the closest match."""
    lower = {other.lower(): other for other in there}
    near = get_close_matches(name.lower(), list(lower), n=1)
    needed = "" if role else ", which the model was fitted to"
    hint = f"did you mean {lower[near[0]]!r}?" if near else f"it has {list_names(list(there))}"
    return TableError(f"{shown} has no column {name!r}{needed}; {hint}", about=role)


def _notes(
    reader: TableReader, read: Columns, columns: dict[str, Any], kinds: dict[str, str]
) -> tuple[str, ...]:
    notes = []
    unnamed = sum(not name.strip() for name in reader.names)
    if unnamed:
        words = (
            "1 column without a name is" if unnamed == 1 else f"{unnamed} columns without names are"
        )
        notes.append(f"{words} left aside.")
    if reader.separator not in (None, ",") and reader.options.separator is None:
        shown = "tab" if reader.separator == "\t" else reader.separator
        notes.append(f"Columns are separated by {shown!r}, as the header says.")
    # Commas are decimal marks where semicolons separate columns, and points are often thousands.
    if reader.separator == ";" and (
        doubtful := [name for name, column in columns.items() if read.may_hold_thousands(column)]
    ):
        notes.append(
            f"All values of {list_names(doubtful)} have three decimals, such as "
            f"{columns[doubtful[0]].drop_null()[0].as_py()}: if the point separates thousands, "
            "read the table again with --thousands '.'."
        )
    broken = [
        name
        for name, column in columns.items()
        if kinds[name] == TEXT and pc.any(pc.match_substring(column, "\n")).as_py()
    ]
    if broken:
        notes.append(f"Values with line breaks in {list_names(broken)}: check the quotation marks.")
    return tuple(notes)


class ColumnPlaces:
    """The place of every named column of a table that is read in pieces."""

    def __init__(self, reader: "TableReader | FragmentReader") -> None:
        self._shown = reader.shown
        self._places: dict[str, int] = {}
        for place, name in enumerate(reader.names):
            if name.strip():
                self._places[name.strip()] = -1 if name.strip() in self._places else place

    @property
    def names(self) -> list[str]:
        """Names in the order of the columns."""
        return list(self._places)

    def find(self, name: str, role: str) -> int:
        """Return the place of a column; an unknown name raises with the closest match."""
        if name not in self._places:
            raise missing_column(self._shown, name, self.names, role)
        if self._places[name] < 0:
            raise double_column(self._shown, name)
        return self._places[name]


def feature_names(model: Any) -> list[str]:
    """Return the names of the columns that a model was fitted to."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "model must have been fitted to a data frame, whose columns can be found in a table; "
            f"this {type(model).__name__} was fitted to an array."
        )
    return [str(name) for name in names]


def known_kinds(model: Any) -> dict[str, str]:
    """Return how the model uses each column, as far as it says so."""
    names = feature_names(model)
    # A model around another one takes what that one takes.
    inner = getattr(model, "estimator_", model)
    found = getattr(inner, "feature_kinds_", None)
    if found is None:
        # The steps of a pipeline may take anything; a bare model takes numbers.
        return {} if hasattr(inner, "steps") else dict.fromkeys(names, NUMBER)
    kinds = {"number": NUMBER, "category": TEXT, "left out": TEXT}
    return {name: kinds[kind] for name, kind in zip(names, found, strict=True)}


def settled_kinds(read: Columns, known: dict[str, str], columns: dict[str, Any]) -> dict[str, str]:
    """Complete the kinds that a model knows by those that the columns have."""
    return {
        name: known.get(name) or (NUMBER if read.kind(column) == NUMBER else TEXT)
        for name, column in columns.items()
    }


def columns_to_leave_out(
    table: Table, names: Sequence[str], target: Target
) -> tuple[dict[str, str], dict[str, str]]:
    """Return columns that should not be used with the reason, and those that deserve a look.

    Columns that are a copy or a multiple of the time, that give away the event, or that have values
    only where it was observed, are known only afterwards. Identifiers, dates and constants carry no
    information. Of many rows some are compared with the outcome.
    """
    left_out, doubtful = {}, {}
    outcome = Outcome(target.time, target.event)
    for name in names:
        if reason := _reason(table, name):
            left_out[name] = reason
            continue
        is_number = table.kinds[name] == NUMBER
        values: Any = (
            table.numbers(name, "features") if is_number else _encode(table.columns[name])[0]
        )
        if reason := outcome.find_leak(values):
            left_out[name] = reason
        elif reason := outcome.find_near_leak(values):
            doubtful[name] = f"{reason}: leave it out if it is known only afterwards"
        elif is_number and not np.isnan(values).any() and are_row_numbers(values):
            left_out[name] = "all values are different whole numbers, as in identifiers"
    return left_out, doubtful


def _reason(table: Table, name: str) -> str:
    """Return why nothing can be learned from a column, whatever the outcome is; else nothing."""
    column, kind = table.columns[name], table.kinds[name]
    if kind == DATE:
        return "dates"
    if kind == OTHER:
        return f"values of the type {column.type}"
    n_known = len(column) - column.null_count
    if not n_known:
        return "no value in any row"
    n_distinct = len(column.drop_null().unique())
    if n_distinct == 1 and n_known == len(column):
        return "the same value in all rows"
    if kind != NUMBER and n_distinct == n_known >= FEWEST_ROWS:
        return "every value is different, as in identifiers"
    return ""
