"""A whole table in memory: columns by name, what they hold, what was left aside."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from censquant.io._batches import TableReader
from censquant.io._columns import NUMBER, TEXT, Columns, level_texts, named
from censquant.io._error import TableError
from censquant.io._model_columns import feature_names, known_kinds, settled_kinds
from censquant.io._options import TextOptions

CHUNK_ROWS = 100_000
"""Rows that are in memory at a time where a table is streamed."""


@dataclass(frozen=True, eq=False)
class Table:
    r"""The columns of a file, each read as what it holds.

    Made by :func:`read_table`.

    Parameters
    ----------
    shown : str
        What messages call the table.
    columns : dict of str to Arrow column
        Text without padding, null where a value is missing.
    kinds : dict of str to str
        "number", "text", "date" or "other" for each column.
    double : tuple of str
        Names that several columns have; these columns cannot be used.
    notes : tuple of str
        What a user should know about how the file was read.
    reader : object
        Turns columns into numbers and dates.
    n_before : int, optional
        For a piece of a table: how many of its rows come before.
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
        """Return a column; an unknown name is told the one that is near."""
        if name in self.double:
            raise TableError(
                f"{self.shown} has more than one column called {name!r}",
                remedy="rename all but one",
            )
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
        return frame_of(self.reader, {name: self.columns[name] for name in names}, kinds)

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
        return frame_of(self.reader, columns, kinds)


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
    import pyarrow as pa

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
    read = Columns(reader.shown, reader.options, is_text=reader.is_text)
    columns = {
        name: read.values(whole.column(place))
        for place, name in enumerate(names)
        if name not in double
    }
    kinds = {name: read.kind(column) for name, column in columns.items()}
    notes = _notes(reader, read, columns, kinds)
    return Table(reader.shown, columns, kinds, double, notes, read)


def frame_of(
    read: Columns, columns: dict[str, Any], kinds: dict[str, str], first_row: int = 0
) -> Any:
    """Return columns as a DataFrame; text becomes categories, whose levels are kept once."""
    import pandas as pd
    import pyarrow as pa

    found = {}
    for name, column in columns.items():
        if kinds[name] == NUMBER:
            found[name] = read.numbers(column, name, first_row)
            continue
        whole = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
        encoded = level_texts(whole).combine_chunks().dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy()
        levels = pd.Index(encoded.dictionary.to_pylist(), dtype=object)
        found[name] = pd.Categorical.from_codes(codes, levels)
    return pd.DataFrame(found, copy=False)


def missing_column(shown: str, name: str, there: Sequence[str], role: str) -> TableError:
    """Say that a column is not there, and which one may be meant."""
    lower = {other.lower(): other for other in there}
    near = get_close_matches(name.lower(), list(lower), n=1)
    needed = "" if role else ", which the model was fitted to"
    hint = f"did you mean {lower[near[0]]!r}?" if near else f"it has {named(list(there))}"
    return TableError(f"{shown} has no column {name!r}{needed}; {hint}", about=role)


def _notes(
    reader: TableReader, read: Columns, columns: dict[str, Any], kinds: dict[str, str]
) -> tuple[str, ...]:
    import pyarrow.compute as pc

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
            f"All values of {named(doubtful)} have three decimals, such as "
            f"{columns[doubtful[0]].drop_null()[0].as_py()}: if the point separates thousands, "
            "read the table again with --thousands '.'."
        )
    broken = [
        name
        for name, column in columns.items()
        if kinds[name] == TEXT and pc.any(pc.match_substring(column, "\n")).as_py()
    ]
    if broken:
        notes.append(f"Values with line breaks in {named(broken)}: check the quotation marks.")
    return tuple(notes)
