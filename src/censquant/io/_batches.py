"""Tables as a stream of Arrow tables, whatever their format."""

import csv
import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from censquant.io._error import TableError
from censquant.io._options import TextOptions
from censquant.io._stream import TableStream, Utf8

_BLOCK_BYTES = 1 << 23
_PAGE_BYTES = 1 << 16  # which older versions of Arrow allocate for every column
_OTHER_SEPARATORS = (";", "\t", "|")
_LONGEST_HEADER = 1 << 20  # bytes
_TAB_SUFFIXES = (".tsv", ".tab")


class TableReader:
    """One pass over a table, in pieces of at most so many rows.

    Columns are known by their place, since names may be missing or double. Text files give text:
    what it means is decided for whole columns elsewhere.

    Parameters
    ----------
    source : str or path
        A CSV, TSV, Parquet or Feather file, gzipped or not; ``"-"`` for standard input.
    options : TextOptions, optional

    Attributes
    ----------
    names : list of str
        Of all columns, as the file has them.
    n_rows : int or None
        Where the file says it.
    separator : str or None
        Of a text file.
    """

    def __init__(self, source: str | os.PathLike[str], options: TextOptions | None = None) -> None:
        self.options = TextOptions() if options is None else options
        self._stream = TableStream(source)
        self.shown = self._stream.shown
        self.separator: str | None = None
        self.n_rows: int | None = None
        self._rows_read = 0
        self._jumping: Any = None
        opened = {"parquet": self._open_parquet, "feather": self._open_feather}
        try:
            self._pieces: Callable[[Sequence[int], int], Iterator[Any]] = opened.get(
                self._stream.format, self._open_text
            )()
        except BaseException:
            self.close()
            raise

    @property
    def is_text(self) -> bool:
        """Whether the format has no types, so that all columns are text."""
        return self.separator is not None

    @property
    def progress(self) -> tuple[int, int | None, str]:
        """How much was read, of how much if that is known, and the unit of both."""
        if self.n_rows is not None:
            return self._rows_read, self.n_rows, "rows"
        return self._stream.n_read, self._stream.size, "bytes"

    def pieces(self, places: Sequence[int], n_rows: int) -> Iterator[Any]:
        """Yield Arrow tables of the columns at some places, named by these places."""
        import pyarrow as pa

        try:
            for piece in self._pieces(places, n_rows):
                self._rows_read += piece.num_rows
                for start in range(0, piece.num_rows, n_rows):
                    yield piece.slice(start, n_rows)
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise unreadable(self.shown, error) from None

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        if self._jumping is not None:
            self._jumping.close()
        # It refers to this reader: what was read of a large file would wait for a collection.
        self._pieces = _nothing

    # Parquet and Feather

    def _open_parquet(self) -> Callable[[Sequence[int], int], Iterator[Any]]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            self._jumping = self._stream.seekable()
            # Fetched ahead, a file stays in memory until its end; unbuffered, a group of rows does.
            file = pq.ParquetFile(self._jumping, pre_buffer=False, buffer_size=_PAGE_BYTES)
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise unreadable(self.shown, error) from None
        self.names = list(file.schema_arrow.names)
        self.n_rows = file.metadata.num_rows
        if len(set(self.names)) < len(self.names):
            # Columns are chosen by name there.
            raise _same_names(self.shown, self.names)

        def pieces(places: Sequence[int], n_rows: int) -> Iterator[Any]:
            chosen = [self.names[place] for place in places]
            for batch in file.iter_batches(n_rows, columns=chosen):
                found = pa.Table.from_batches([batch])
                yield found.select(chosen).rename_columns([str(place) for place in places])

        return pieces

    def _open_feather(self) -> Callable[[Sequence[int], int], Iterator[Any]]:
        import pyarrow as pa

        try:
            self._jumping = self._stream.seekable()
            file = pa.ipc.open_file(self._jumping)
            self.names = list(file.schema.names)
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise unreadable(self.shown, error) from None

        def pieces(places: Sequence[int], n_rows: int) -> Iterator[Any]:
            for number in range(file.num_record_batches):
                try:
                    found = pa.Table.from_batches([file.get_batch(number)])
                except MemoryError:
                    need = "it asks for more memory than there is, as damaged files do"
                    raise unreadable(self.shown, OSError(need)) from None
                columns = [found.column(place) for place in places]
                chosen = pa.table(columns, names=[str(place) for place in places])
                # Nothing in the format is checked when it is read: places in a damaged file may
                # lie outside of its memory.
                chosen.validate(full=True)
                yield chosen

        return pieces

    # Text

    def _open_text(self) -> Callable[[Sequence[int], int], Iterator[Any]]:
        import pyarrow as pa
        import pyarrow.csv as pa_csv

        utf8 = Utf8(self._stream, self.options.encoding)
        start, rest = _first_record(utf8, self.shown)
        self.separator = self.options.separator or _separator(self._stream.name, start)
        try:
            self.names = next(csv.reader(io.StringIO(start, ""), delimiter=self.separator), [])
        except csv.Error as error:
            raise TableError(f"The header of {self.shown} cannot be read ({error})") from None
        n_columns = len(self.names)
        self._other_separators = [
            mark for mark in (",", *_OTHER_SEPARATORS) if mark in start and mark != self.separator
        ]

        def pieces(places: Sequence[int], n_rows: int) -> Iterator[Any]:
            wrong = list[Any]()

            def refuse(row: Any) -> str:
                wrong.append(row)
                return "error"

            own = [str(place) for place in range(n_columns)]
            try:
                reader = pa_csv.open_csv(
                    pa.PythonFile(_Chained(rest, utf8), mode="r"),
                    read_options=pa_csv.ReadOptions(column_names=own, block_size=_BLOCK_BYTES),
                    parse_options=pa_csv.ParseOptions(
                        delimiter=self.separator,
                        newlines_in_values=True,
                        invalid_row_handler=refuse,
                    ),
                    convert_options=pa_csv.ConvertOptions(
                        column_types=dict.fromkeys(own, pa.string()),
                        include_columns=[str(place) for place in places],
                        strings_can_be_null=False,
                    ),
                )
                for batch in reader:
                    yield pa.Table.from_batches([batch])
            except pa.ArrowInvalid as error:
                if wrong:
                    raise self._wrong_width(wrong[0], n_columns) from None
                if "Empty CSV" not in str(error):
                    raise

        return pieces

    def _wrong_width(self, row: Any, n_columns: int) -> TableError:
        text = " ".join(row.text.split())
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        others = [("separator", mark) for mark in self._other_separators]
        return TableError(
            f"{self.shown} has {n_columns} columns in its header but {row.actual_columns} in the "
            f"row {shown!r}",
            others,
            "fix that row (text with separators in it needs quotation marks)",
        )


def _nothing(places: Sequence[int], n_rows: int) -> Iterator[Any]:
    raise ValueError("The table is closed.")


def unreadable(shown: str, error: Exception) -> Exception:
    """Return the error for a table that pyarrow gives up on."""
    if isinstance(error, TableError):
        return error
    reason = " ".join(str(error).split())[:300].rstrip(".")
    return ValueError(f"{shown} cannot be read ({reason}).")


def _same_names(shown: str, names: Sequence[str]) -> TableError:
    double = next(name for place, name in enumerate(names) if name in names[:place])
    return TableError(
        f"{shown} has more than one column called {double!r}", remedy="rename all but one"
    )


def _first_record(utf8: Utf8, shown: str) -> tuple[str, bytes]:
    """Return the text of the header, and the bytes that were read beyond it."""
    content = b""
    while True:
        more = utf8.read(1 << 16)
        content = (content + more).lstrip(b"\r\n")
        text = content.decode(errors="ignore")
        end = _end_of_record(text)
        if end is not None or not more:
            break
        if len(content) > _LONGEST_HEADER:
            raise TableError(f"{shown} has no line break in its first million bytes")
    header = text if end is None else text[:end]
    if not header.strip():
        raise ValueError(f"{shown} is empty.")
    return header.rstrip("\r\n"), content[len(header.encode()) :].lstrip(b"\r\n")


def _end_of_record(text: str) -> int | None:
    """Return where the first record ends: the first line break outside of quotation marks."""
    quoted = False
    for place, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif letter in "\r\n" and not quoted:
            return place
    return None


def _separator(name: str, header: str) -> str:
    """Return the tab in files named after it, else what separates the names of the header."""
    if name.lower().removesuffix(".gz").endswith(_TAB_SUFFIXES):
        return "\t"
    bare = re.sub(r'"[^"]*"', "", header)
    found = [mark for mark in _OTHER_SEPARATORS if mark in bare]
    return found[0] if len(found) == 1 and "," not in bare else ","


class _Chained(io.RawIOBase):
    """Bytes that were read ahead, and then the others."""

    def __init__(self, first: bytes, others: Utf8) -> None:
        self._first, self._others = first, others

    def read(self, n_bytes: int = -1) -> bytes:
        # Never more than was asked for, although text may grow when it becomes UTF-8.
        if not self._first:
            self._first = self._others.read(n_bytes)
        end = len(self._first) if n_bytes < 0 else n_bytes
        taken, self._first = self._first[:end], self._first[end:]
        return taken

    def readable(self) -> bool:
        return True
