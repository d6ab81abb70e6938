"""Tables written piece by piece, under their name only when they are complete."""

import contextlib
import csv
import gzip
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from censquant._files import check_place, replacing, saying_disk_full
from censquant.io._error import TableError
from censquant.io._stream import STANDARD

_TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
_FULL = "The disk is full: the predictions on standard output are not complete."
_PARQUET, _FEATHER = (".parquet", ".pq"), (".feather", ".arrow")


def check_output(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Refuse a place where no table can be written, before any work is done."""
    if os.fspath(path) == STANDARD:
        return
    check_place(Path(path), overwrite=overwrite)
    _format(Path(path))


class TableWriter(Protocol):
    """What takes pieces of a table, all with the same columns."""

    def write(self, piece: Any) -> None:
        """Append the rows of an Arrow table."""
        ...


@contextlib.contextmanager
def writing(path: str | os.PathLike[str], schema: Any, *, overwrite: bool) -> Iterator[TableWriter]:
    """Open a table for writing; it appears under its name when the block ends without an error."""
    with contextlib.ExitStack() as stack:
        if os.fspath(path) == STANDARD:
            stack.enter_context(saying_disk_full(_FULL))
            file, kind, separator, packed = sys.stdout.buffer, "text", ",", False
        else:
            kind, separator, packed = _format(Path(path))
            file = stack.enter_context(replacing(Path(path), overwrite=overwrite))
        if packed:
            # No time stamp: the same predictions are the same bytes.
            file = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
        if kind == "text":
            yield _TextWriter(file, schema, separator)
        else:
            yield stack.enter_context(_typed_writer(file, schema, kind))


def _format(path: Path) -> tuple[str, str, bool]:
    """Return the format, the separator and whether it is gzipped."""
    name = path.name.lower()
    packed = name.endswith(".gz")
    suffix = Path(name.removesuffix(".gz")).suffix
    if suffix in _TEXT:
        return "text", _TEXT[suffix], packed
    if not packed and suffix in (*_PARQUET, *_FEATHER):
        return "parquet" if suffix in _PARQUET else "feather", "", False
    known = ", ".join((*_TEXT, *_PARQUET, *_FEATHER))
    raise TableError(
        f"The name of a table must end with one of {known} (text also with .gz), got {path.name!r}"
    )


class _TextWriter:
    """CSV, with quotation marks in the pieces that need them."""

    def __init__(self, file: BinaryIO, schema: Any, separator: str) -> None:
        import pyarrow.csv as pa_csv

        header = io.StringIO()
        csv.writer(header, delimiter=separator, lineterminator="\n").writerow(schema.names)
        file.write(header.getvalue().encode())
        self._file = file
        self._options = {
            quoting: pa_csv.WriteOptions(
                include_header=False, delimiter=separator, quoting_style=quoting
            )
            for quoting in ("none", "needed")
        }

    def write(self, piece: Any) -> None:
        import pyarrow as pa
        import pyarrow.csv as pa_csv

        buffer = io.BytesIO()
        try:
            pa_csv.write_csv(piece, buffer, self._options["none"])
        except pa.ArrowInvalid:  # values with separators, quotation marks or line breaks
            buffer = io.BytesIO()
            pa_csv.write_csv(piece, buffer, self._options["needed"])
        self._file.write(buffer.getbuffer())
        self._file.flush()


@contextlib.contextmanager
def _typed_writer(file: BinaryIO, schema: Any, kind: str) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    opened = pq.ParquetWriter if kind == "parquet" else pa.ipc.new_file
    writer = opened(file, schema)
    try:
        yield _Typed(writer)
    except BaseException:
        # The file is given up; what it lacks of an end must not hide the reason.
        with contextlib.suppress(Exception):
            writer.close()
        raise
    writer.close()


class _Typed:
    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def write(self, piece: Any) -> None:
        self._writer.write_table(piece)
