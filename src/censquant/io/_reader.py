"""One pass over a table in a file or on standard input, as Arrow tables of some rows each."""

import codecs
import csv
import gzip
import io
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as pa_csv

from censquant.io._options import TableError, TextOptions

STANDARD = "-"
"""Stands for standard input and standard output."""

_GZIP, _PARQUET, _ARROW = b"\x1f\x8b", b"PAR1", b"ARROW1"
_FOREIGN = {
    b"PK\x03\x04": "an Excel or zip file",
    b"\xd0\xcf\x11\xe0": "an old Excel file",
    b"FEA1": "a Feather file of version 1",
    b"%PDF": "a PDF file",
    b"\x89HDF": "an HDF5 file",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
}
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",  # before that of UTF-16, with which it begins
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_FIRST_BYTES = 4096
_BLOCK_BYTES = 1 << 23
_PAGE_BYTES = 1 << 16  # which older versions of Arrow allocate for every column
_OTHER_SEPARATORS = (";", "\t", "|")
_LONGEST_HEADER = 1 << 20  # bytes
_TAB_SUFFIXES = (".tsv", ".tab")

_Pieces = Callable[[Sequence[int], int], Iterator[Any]]


class TableReader:
    """One pass over a table, in pieces of at most so many rows.

    Columns are known by their place in ``names``, since names may be missing or double. Text files
    give text: what it means is decided for whole columns elsewhere. ``n_rows`` is None where the
    file does not say it, ``separator`` where it is no text.
    """

    def __init__(self, source: str | os.PathLike[str], options: TextOptions | None = None) -> None:
        self.options = TextOptions() if options is None else options
        self._stream = _TableStream(source)
        self.shown = self._stream.shown
        self.separator: str | None = None
        self.n_rows: int | None = None
        self._rows_read = 0
        self._seekable: Any = None
        opened = {"parquet": self._open_parquet, "feather": self._open_feather}
        try:
            self._pieces: _Pieces = opened.get(self._stream.format, self._open_text)()
        except BaseException:
            self.close()
            raise

    @property
    def progress(self) -> tuple[int, int | None, str]:
        """How much was read, of how much if that is known, and the unit of both."""
        if self.n_rows is not None:
            return self._rows_read, self.n_rows, "rows"
        return self._stream.n_read, self._stream.size, "bytes"

    def pieces(self, places: Sequence[int], n_rows: int) -> Iterator[Any]:
        """Yield Arrow tables of the columns at some places, named by these places."""
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
        if self._seekable is not None:
            self._seekable.close()
        # It refers to this reader: what was read of a large file would wait for a collection.
        self._pieces = _refuse_closed

    def _open_parquet(self) -> _Pieces:
        import pyarrow.parquet as pq

        try:
            self._seekable = self._stream.seekable()
            # Fetched ahead, a file stays in memory until its end; unbuffered, a group of rows does.
            file = pq.ParquetFile(self._seekable, pre_buffer=False, buffer_size=_PAGE_BYTES)
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise unreadable(self.shown, error) from None
        self.names = list(file.schema_arrow.names)
        self.n_rows = file.metadata.num_rows
        # Columns are chosen by name there.
        for place, name in enumerate(self.names):
            if name in self.names[:place]:
                raise double_column(self.shown, name)

        def pieces(places: Sequence[int], n_rows: int) -> Iterator[Any]:
            chosen = [self.names[place] for place in places]
            for batch in file.iter_batches(n_rows, columns=chosen):
                found = pa.Table.from_batches([batch])
                yield found.select(chosen).rename_columns([str(place) for place in places])

        return pieces

    def _open_feather(self) -> _Pieces:
        try:
            self._seekable = self._stream.seekable()
            file = pa.ipc.open_file(self._seekable)
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

    def _open_text(self) -> _Pieces:
        utf8 = _Utf8(self._stream, self.options.encoding)
        header = utf8.read_header()
        self.separator = self.options.separator or _find_separator(self._stream.name, header)
        try:
            self.names = next(csv.reader(io.StringIO(header, ""), delimiter=self.separator), [])
        except csv.Error as error:
            raise TableError(f"The header of {self.shown} cannot be read ({error})") from None
        marks = [mark for mark in (",", *_OTHER_SEPARATORS) if mark in header]
        others = [mark for mark in marks if mark != self.separator]

        def pieces(places: Sequence[int], n_rows: int) -> Iterator[Any]:
            wrong = list[Any]()

            def refuse(row: Any) -> str:
                wrong.append(row)
                return "error"

            own = [str(place) for place in range(len(self.names))]
            try:
                reader = pa_csv.open_csv(
                    pa.PythonFile(utf8, mode="r"),
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
                    raise self._wrong_width(wrong[0], others) from None
                if "Empty CSV" not in str(error):
                    raise

        return pieces

    def _wrong_width(self, row: Any, other_separators: list[str]) -> TableError:
        text = " ".join(row.text.split())
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        return TableError(
            f"{self.shown} has {len(self.names)} columns in its header but {row.actual_columns} in "
            f"the row {shown!r}",
            [("separator", mark) for mark in other_separators],
            "fix that row (text with separators in it needs quotation marks)",
        )


def _refuse_closed(places: Sequence[int], n_rows: int) -> Iterator[Any]:
    raise ValueError("The table is closed.")


def unreadable(shown: str, error: Exception) -> Exception:
    """Return the error for a table that pyarrow gives up on."""
    if isinstance(error, TableError):
        return error
    reason = " ".join(str(error).split())[:300].rstrip(".")
    return ValueError(f"{shown} cannot be read ({reason}).")


def double_column(shown: str, name: str) -> TableError:
    """Return the error for a name that several columns have."""
    return TableError(
        f"{shown} has more than one column called {name!r}", remedy="rename all but one"
    )


def _find_separator(name: str, header: str) -> str:
    """Return the tab in files named after it, else what separates the names of the header."""
    if name.lower().removesuffix(".gz").endswith(_TAB_SUFFIXES):
        return "\t"
    bare = re.sub(r'"[^"]*"', "", header)
    found = [mark for mark in _OTHER_SEPARATORS if mark in bare]
    return found[0] if len(found) == 1 and "," not in bare else ","


class _TableStream:
    """A table's bytes, unpacked and read once from the start."""

    def __init__(self, source: str | os.PathLike[str]) -> None:
        self.name = os.fspath(source)
        self.shown = "standard input" if self.name == STANDARD else repr(self.name)
        raw = self._open()
        self.size = _file_size(raw)
        self._counted = _Counted(raw)
        self.file: Any = io.BufferedReader(self._counted, 1 << 20)
        try:
            self.is_packed = self.file.peek(2)[:2] == _GZIP
            if self.is_packed:
                self.file = io.BufferedReader(_Unpacked(self.file, self.shown), 1 << 20)
            self.first = self.file.peek(_FIRST_BYTES)[:_FIRST_BYTES]
            self._refuse_foreign()
        except BaseException:
            self.close()
            raise

    @property
    def n_read(self) -> int:
        """Bytes that were read of the file so far, packed as they are."""
        return self._counted.n_read

    @property
    def format(self) -> str:
        """Which of "parquet", "feather" and "text" it is."""
        if self.first.startswith(_PARQUET):
            return "parquet"
        return "feather" if self.first.startswith(_ARROW) else "text"

    def seekable(self) -> BinaryIO:
        """Open the content as a seekable file; read into memory only if it must."""
        if self.name != STANDARD and not self.is_packed:
            return Path(self.name).open("rb")
        return io.BytesIO(self.file.read())

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self.name != STANDARD:
            self.file.close()

    def _open(self) -> BinaryIO:
        if self.name == STANDARD:
            if sys.stdin is None or sys.stdin.isatty():
                raise ValueError(
                    "'-' means that the table comes from standard input, but nothing is piped into "
                    "the command."
                )
            return sys.stdin.buffer
        path = Path(self.name)
        if path.is_dir():
            raise IsADirectoryError(f"{self.shown} is a folder, not a table.")
        try:
            return path.open("rb")
        except FileNotFoundError:
            raise FileNotFoundError(f"There is no file {self.shown}.") from None
        except PermissionError:
            raise PermissionError(f"{self.shown} may not be read by this user.") from None

    def _refuse_foreign(self) -> None:
        if not self.first:
            raise ValueError(f"{self.shown} is empty.")
        for magic, words in _FOREIGN.items():
            if self.first.startswith(magic):
                raise ValueError(
                    f"{self.shown} is {words}, which is not read: save the table as CSV, TSV, "
                    "Parquet or Feather (text may be gzipped)."
                )


def _file_size(file: BinaryIO) -> int | None:
    """Return the number of bytes of a file on disk, None of a pipe."""
    try:
        found = os.fstat(file.fileno())
    except (OSError, ValueError, AttributeError):
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


class _Counted(io.RawIOBase):
    """A file that counts how much of it was read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.n_read = file, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # One read of a pipe gives what is there: waiting for more would delay small inputs.
        content = getattr(self._file, "read1", self._file.read)(len(buffer))
        buffer[: len(content)] = content
        self.n_read += len(content)
        return len(content)

    def close(self) -> None:
        if not self.closed and self._file is not sys.stdin.buffer:
            self._file.close()
        super().close()


class _Unpacked(io.RawIOBase):
    """The content of a gzipped file; damage is one sentence."""

    def __init__(self, file: BinaryIO, shown: str) -> None:
        self._file, self._gzip, self._shown = file, gzip.GzipFile(fileobj=file), shown

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            content = self._gzip.read(len(buffer))
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{self._shown} is not a complete gzip file ({error}).") from None
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Utf8(io.RawIOBase):
    """Text in any encoding as bytes of UTF-8, checked on the way.

    Without an encoding it is UTF-8, or what the mark at the start of the file says.
    """

    def __init__(self, stream: _TableStream, encoding: str | None) -> None:
        self._stream = stream
        marked = next(
            (name for mark, name in _MARKS.items() if stream.first.startswith(mark)), None
        )
        self._encoding = encoding or marked or "utf-8"
        if encoding is None and marked is None and b"\0" in stream.first:
            likely = _encoding_with_zeros(stream.first)
            if likely is None:
                raise TableError(
                    f"{stream.shown} has bytes that are zero, so that it is not text",
                    remedy="save the table as CSV, TSV, Parquet or Feather",
                )
            raise TableError(
                f"{stream.shown} has bytes that are zero, as text in UTF-16 or UTF-32 has",
                [("encoding", likely)],
            )
        self._is_given = encoding is not None
        # The mark of UTF-8 is no part of the first name.
        if codecs.lookup(self._encoding).name == "utf-8":
            self._encoding = "utf-8-sig"
        self._decode = codecs.getincrementaldecoder(self._encoding)("strict").decode
        self._n_lines = 1
        self._n_quotes = 0
        self._ahead = b""

    def readable(self) -> bool:
        return True

    def read_header(self) -> str:
        """Return the text of the first record; what follows it is read next."""
        content = b""
        while True:
            more = self._read_decoded(1 << 16)
            content = (content + more).lstrip(b"\r\n")
            text = content.decode(errors="ignore")
            end = _end_of_record(text)
            if end is not None or not more:
                break
            if len(content) > _LONGEST_HEADER:
                raise TableError(
                    f"{self._stream.shown} has no line break in its first million bytes"
                )
        header = text if end is None else text[:end]
        if not header.strip():
            raise ValueError(f"{self._stream.shown} is empty.")
        self._ahead = content[len(header.encode()) :].lstrip(b"\r\n")
        return header.rstrip("\r\n")

    def read(self, n_bytes: int = -1) -> bytes:
        # Never more than ``n_bytes``, although text may grow when it becomes UTF-8.
        if not self._ahead:
            self._ahead = self._read_decoded(n_bytes)
        end = len(self._ahead) if n_bytes < 0 else n_bytes
        taken, self._ahead = self._ahead[:end], self._ahead[end:]
        return taken

    def _read_decoded(self, n_bytes: int) -> bytes:
        """Read about ``n_bytes``; empty at the end of the file."""
        while True:
            content = self._stream.file.read(n_bytes)
            try:
                text = self._decode(content, final=not content)
            except UnicodeError as error:
                raise self._undecodable(error) from None
            self._n_lines += text.count("\n")
            self._n_quotes += text.count('"')
            if text or not content:
                break
        if not content and self._n_quotes % 2:
            raise ValueError(
                f'{self._stream.shown} has a quotation mark (") that is opened and never closed, '
                "so that rows would be lost: remove it or double it."
            )
        return text.encode(errors="surrogatepass")

    def _undecodable(self, error: UnicodeError) -> ValueError:
        around = getattr(error, "object", b"")[: getattr(error, "start", 0)]
        line = self._n_lines + (around.count(b"\n") if isinstance(around, bytes) else 0)
        problem = f"{self._stream.shown} is not text in {self._encoding.removesuffix('-sig')}"
        likely = None if self._is_given else "cp1252"
        if b"\0" in self._stream.first:
            likely = _encoding_with_zeros(self._stream.first)
        other = [] if likely is None else [("encoding", likely)]
        return TableError(f"{problem} (near line {line})", other, "name its encoding")


def _end_of_record(text: str) -> int | None:
    """Return where the first record ends: the first line break outside of quotation marks."""
    quoted = False
    for place, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif letter in "\r\n" and not quoted:
            return place
    return None


def _encoding_with_zeros(first: bytes) -> str | None:
    """Return the encoding in which bytes with zeros among them are a line of text, if any is."""
    start = first[: len(first) // 4 * 4]
    # Without a mark at the start the name must give the order of bytes.
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        try:
            text = codecs.getincrementaldecoder(encoding)("strict").decode(start)
        except UnicodeError:
            continue
        line = text.splitlines()[0] if text else ""
        # Wrong guesses give signs from all over Unicode: names of columns have separators.
        is_line = line.replace("\t", "").isprintable()
        if is_line and sum(ord(letter) < 0x250 for letter in line) > len(line) / 2:
            return encoding
    return None
