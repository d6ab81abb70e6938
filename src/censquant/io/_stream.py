"""Bytes of a table, from a file or standard input, unpacked and as UTF-8 if they are text."""

import codecs
import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from censquant.io._error import TableError

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


class TableStream:
    """A table's bytes, read once from the start, with what its first bytes say about it.

    Parameters
    ----------
    source : str or path
        A file, or ``"-"`` for standard input.
    """

    def __init__(self, source: str | os.PathLike[str]) -> None:
        self.name = os.fspath(source)
        self.shown = "standard input" if self.name == STANDARD else repr(self.name)
        self._n_read = 0
        raw = self._opened()
        self.size = _size(raw)
        self.file: Any = io.BufferedReader(_Counted(raw, self._count), 1 << 20)
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
        return self._n_read

    @property
    def format(self) -> str:
        """Which of "parquet", "feather" and "text" it is."""
        if self.first.startswith(_PARQUET):
            return "parquet"
        return "feather" if self.first.startswith(_ARROW) else "text"

    def seekable(self) -> BinaryIO:
        """Return the content as a file in which one can jump; read into memory only if it must."""
        if self.name != STANDARD and not self.is_packed:
            return Path(self.name).open("rb")
        return io.BytesIO(self.file.read())

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self.name != STANDARD:
            self.file.close()

    def _opened(self) -> BinaryIO:
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

    def _count(self, n_bytes: int) -> None:
        self._n_read += n_bytes

    def _refuse_foreign(self) -> None:
        if not self.first:
            raise ValueError(f"{self.shown} is empty.")
        for magic, words in _FOREIGN.items():
            if self.first.startswith(magic):
                raise ValueError(
                    f"{self.shown} is {words}, which is not read: save the table as CSV, TSV, "
                    "Parquet or Feather (text may be gzipped)."
                )


class _Counted(io.RawIOBase):
    """A file that says how much of it was read."""

    def __init__(self, file: BinaryIO, count: Callable[[int], None]) -> None:
        self._file, self._count = file, count

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # One read of a pipe gives what is there: waiting for more would delay small inputs.
        content = getattr(self._file, "read1", self._file.read)(len(buffer))
        buffer[: len(content)] = content
        self._count(len(content))
        return len(content)

    def close(self) -> None:
        if not self.closed and self._file is not sys.stdin.buffer:
            self._file.close()
        super().close()


class _Unpacked(io.RawIOBase):
    """A gzipped file as its content; damage is one sentence."""

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


class Utf8:
    """Text in any encoding as bytes of UTF-8, checked on the way.

    Parameters
    ----------
    stream : TableStream
    encoding : str or None
        None means UTF-8, or what the mark at the start of the file says.
    """

    def __init__(self, stream: TableStream, encoding: str | None) -> None:
        self._stream = stream
        marked = next(
            (name for mark, name in _MARKS.items() if stream.first.startswith(mark)), None
        )
        self.encoding = encoding or marked or "utf-8"
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
        self._asked = encoding is not None
        # The mark of UTF-8 is no part of the first name.
        if codecs.lookup(self.encoding).name == "utf-8":
            self.encoding = "utf-8-sig"
        self._decode = codecs.getincrementaldecoder(self.encoding)("strict").decode
        self._n_lines = 1
        self._n_quotes = 0
        self.closed = False

    def read(self, n_bytes: int = -1) -> bytes:
        """Return about so many further bytes, none at the end."""
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

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def close(self) -> None:
        """Close the stream."""
        self.closed = True

    def _undecodable(self, error: UnicodeError) -> ValueError:
        around = getattr(error, "object", b"")[: getattr(error, "start", 0)]
        line = self._n_lines + (around.count(b"\n") if isinstance(around, bytes) else 0)
        problem = f"{self._stream.shown} is not text in {self.encoding.removesuffix('-sig')}"
        likely = None if self._asked else "cp1252"
        if b"\0" in self._stream.first:
            likely = _encoding_with_zeros(self._stream.first)
        other = [] if likely is None else [("encoding", likely)]
        return TableError(f"{problem} (near line {line})", other, "name its encoding")


def _encoding_with_zeros(first: bytes) -> str | None:
    """Return the encoding in which bytes with zeros among them are a line of text, if any is."""
    start = first[: len(first) // 4 * 4]
    # Without a mark at the start the order of bytes must be said.
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


def _size(file: BinaryIO) -> int | None:
    """Return the number of bytes of a file on disk, None of a pipe."""
    try:
        found = os.fstat(file.fileno())
    except (OSError, ValueError, AttributeError):
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
