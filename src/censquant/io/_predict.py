"""Predictions for tables of any size: read in pieces, predicted, and written as tables."""

import contextlib
import csv
import gzip
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from numpy.typing import ArrayLike

from censquant._files import check_place, locked, replacing, saying_disk_full, write_whole
from censquant._validation import check_integer
from censquant.io._columns import Columns, list_names
from censquant.io._dataset import FragmentReader, Part, open_dataset
from censquant.io._options import TableError, TextOptions
from censquant.io._predictor import LEVELS, LIMITED, Ages, RowPredictor
from censquant.io._reader import STANDARD, TableReader
from censquant.io._table import CHUNK_ROWS, ColumnPlaces, known_kinds, make_frame, settled_kinds

_PART_ROWS = 1_000_000
_COMPARED_ROWS = 100
# Names that begin with an underscore are no data to pyarrow, dask and Spark.
_ASKED, _LOCK, _SUCCESS = "_asked", "_lock", "_SUCCESS"
_TEXT = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
_PARQUET, _FEATHER = (".parquet", ".pq"), (".feather", ".arrow")
_FULL = "The disk is full: the predictions on standard output are not complete."


class _Piece(NamedTuple):
    """Some rows of a table of predictions; how many quantiles are identified and bounds limited."""

    table: Any
    n_identified: int
    n_limited: int


@dataclass(frozen=True)
class PredictedFile:
    """What :func:`predict_file` wrote.

    Parameters
    ----------
    n_rows : int
    columns : tuple of str
        Names of the columns that were predicted.
    identified_share : float
        Share of the predicted quantiles that the data identify.
    limited_share : float or None
        Share of the lower bounds that follow-up limits; None if there are none.

    Examples
    --------
    >>> from censquant.io import PredictedFile
    >>> PredictedFile(2, ("q0.5", "identified"), 0.5).n_rows
    2
    """

    n_rows: int
    columns: tuple[str, ...]
    identified_share: float
    limited_share: float | None = None


def predict_file(
    model: Any,
    data: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    quantiles: ArrayLike = LEVELS,
    interval: float | None = None,
    lower_bound: float | None = None,
    remaining: str | None = None,
    start: str | None = None,
    as_of: str | None = None,
    unit: str = "days",
    date_format: str | None = None,
    beyond: str = "nan",
    keep: Sequence[str] | str | None = None,
    options: TextOptions | None = None,
    overwrite: bool = False,
    chunk_rows: int = CHUNK_ROWS,
    progress: Callable[[int, int | None, str], None] | None = None,
) -> PredictedFile:
    """Predict every row of a table and write the predictions as a table with as many rows.

    A piece of the table is in memory at a time, so that files may be larger than memory. The
    result appears under its name only when it is complete.

    Parameters
    ----------
    model : fitted estimator
        Of this package, fitted to a data frame, whose columns the table must have.
    data : str or path
        A CSV, TSV, Parquet or Feather file, gzipped or not; ``"-"`` for standard input.
    out : str or path
        The end of the name sets the format; ``"-"`` writes CSV to standard output.
    quantiles : array-like of levels in (0, 1), default 0.1, 0.25, 0.5, 0.75, 0.9
        Become the columns ``q0.1``, ``q0.25``, ...
    interval : float in (0, 1), optional
        Adds the ends of the central interval with this probability, ``lower`` and ``upper``. Of a
        :class:`censquant.ConformalSurvivalRegressor` they are calibrated.
    lower_bound : float in (0, 1), optional
        Adds a time that this share of individuals outlives, ``bound0.9`` for 0.9, and whether
        follow-up ends before the bound would, ``limited``; of a
        :class:`censquant.ConformalSurvivalRegressor` alone.
    remaining : str, optional
        Column with the time that each individual has lasted already: quantiles and interval are
        then those of the time that is left, and their columns start with ``remaining_``.
    start, as_of : str, optional
        Instead of ``remaining``: a column of first dates, and the date up to which ages are
        counted. Columns that start with ``date_`` then have the days on which the times end.
    unit : str, default "days"
        Unit of the model's times, in which such ages are counted.
    date_format : str, optional
        Form of the dates, as in :class:`TargetColumns`.
    beyond : {"nan", "inf", "limit", "extrapolate"}, default "nan"
        What to write at levels beyond the identified ones: nothing, infinity, the end of follow-up
        or the model's extrapolation.
    keep : sequence of str or "all", optional
        Columns of the table that are written in front of the predictions; by default those that
        are no features of the model.
    options : TextOptions, optional
        How text is read.
    overwrite : bool, default False
        Whether an existing file may be replaced.
    chunk_rows : int, default 100,000
        Rows in memory at a time; predictions depend on it by rounding alone.
    progress : callable, optional
        Called after each piece with the amount done, that of all or None, and the unit of both.

    Returns
    -------
    written : PredictedFile

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.io import predict_file
    >>> X, y = load_gbsg2(as_frame=True)
    >>> model = CoxQuantileRegressor().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data, out = pathlib.Path(folder) / "new.csv", pathlib.Path(folder) / "times.csv"
    ...     X[:3].to_csv(data, index=False)
    ...     written = predict_file(model, data, out, quantiles=[0.1, 0.5])
    ...     header = out.read_text().split()[0]
    >>> written.n_rows, header
    (3, 'q0.1,q0.5,identified')
    """
    predictor = RowPredictor(
        model,
        quantiles,
        interval=interval,
        lower_bound=lower_bound,
        ages=Ages.given(remaining, start, as_of, unit, date_format),
        beyond=beyond,
    )
    check_integer("chunk_rows", chunk_rows, minimum=1)
    check_output(out, overwrite=overwrite)
    _refuse_same_file(data, out)
    n_rows, n_identified, n_limited = 0, 0, 0

    def count(piece: _Piece) -> None:
        nonlocal n_rows, n_identified, n_limited
        n_rows += piece.table.num_rows
        n_identified += piece.n_identified
        n_limited += piece.n_limited
        if progress is not None:
            progress(*reader.progress)

    reader = TableReader(data, options)
    try:
        pieces = _predict_pieces(reader, predictor, keep, chunk_rows)
        first = next(pieces, None)
        if first is None:
            raise ValueError(f"{reader.shown} has a header but no rows.")
        _write_pieces(out, first, pieces, count, overwrite=overwrite)
    finally:
        reader.close()
    n_quantiles = n_rows * len(predictor.levels)
    limited = n_limited / n_rows if LIMITED in predictor.columns else None
    written = (*predictor.columns, *(date for _, date in predictor.dated))
    return PredictedFile(n_rows, written, n_identified / n_quantiles, limited)


@dataclass(frozen=True)
class PredictedDataset:
    """What :func:`predict_dataset` wrote.

    Parameters
    ----------
    n_rows : int
        Rows in all parts.
    n_new_rows : int
        Those that were predicted by this call.
    n_parts : int
    columns : tuple of str
        Names of the columns that were predicted.

    Examples
    --------
    >>> from censquant.io import PredictedDataset
    >>> PredictedDataset(5, 2, 2, ("q0.5", "identified")).n_new_rows
    2
    """

    n_rows: int
    n_new_rows: int
    n_parts: int
    columns: tuple[str, ...]


def predict_dataset(
    model: Any,
    source: Any,
    out: str | os.PathLike[str],
    *,
    quantiles: ArrayLike = LEVELS,
    interval: float | None = None,
    lower_bound: float | None = None,
    remaining: str | None = None,
    start: str | None = None,
    as_of: str | None = None,
    unit: str = "days",
    date_format: str | None = None,
    beyond: str = "nan",
    keep: Sequence[str] | str | None = None,
    options: TextOptions | None = None,
    part_rows: int = _PART_ROWS,
    chunk_rows: int = CHUNK_ROWS,
    progress: Callable[[int], None] | None = None,
) -> PredictedDataset:
    """Predict every row of a data set and write a folder of Parquet files, in bounded memory.

    Each file of predictions holds up to ``part_rows`` rows of one file of the data, in their order,
    and appears under its name only when it is complete. Where a process was killed, the same call
    resumes: parts that are there are not predicted again, so that no row is lost or doubled. A file
    ``_SUCCESS`` marks that all rows are there.

    Parameters
    ----------
    model : fitted estimator
        Of this package, fitted to a data frame or by ``fit_dataset``, whose columns the files must
        have.
    source : str, path, sequence of paths, or pyarrow.dataset.Dataset
        A Parquet, Feather, CSV or TSV file, or a folder of such files.
    out : str or path
        A new or empty folder, or one in which this prediction was begun.
    quantiles, interval, lower_bound, remaining, start, as_of, unit, date_format, beyond, keep
        As in :func:`predict_file`.
    options
        As in :func:`predict_file`.
    part_rows : int, default 1,000,000
        Rows per file of predictions.
    chunk_rows : int, default 100,000
        Rows in memory at a time.
    progress : callable, optional
        Called after each piece with the number of rows so far.

    Returns
    -------
    written : PredictedDataset

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from censquant import CoxQuantileRegressor
    >>> from censquant.datasets import load_gbsg2
    >>> from censquant.io import predict_dataset
    >>> X, y = load_gbsg2(as_frame=True)
    >>> model = CoxQuantileRegressor().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data, out = pathlib.Path(folder) / "new.parquet", pathlib.Path(folder) / "times"
    ...     X.to_parquet(data)
    ...     written = predict_dataset(model, data, out, quantiles=[0.1, 0.5], part_rows=500)
    ...     parts = sorted(path.name for path in out.glob("*.parquet"))
    >>> written.n_rows, parts
    (686, ['part-00000-00000.parquet', 'part-00000-00001.parquet'])
    """
    ages = Ages.given(remaining, start, as_of, unit, date_format)
    predictor = RowPredictor(
        model,
        quantiles,
        interval=interval,
        lower_bound=lower_bound,
        ages=ages,
        beyond=beyond,
    )
    check_integer("part_rows", part_rows, minimum=1)
    check_integer("chunk_rows", chunk_rows, minimum=1)
    data, folder = open_dataset(source, options), Path(out)
    identity = data.identity(
        predictor.columns,
        predictor.levels.tolist(),
        beyond,
        remaining if start is None else ages,
        keep,
        part_rows,
    )
    writer = _FolderWriter(folder, identity, predictor, keep, part_rows, chunk_rows, progress)
    writer.check()
    refusal = f"Another process is writing the predictions {str(folder)!r}"
    full = (
        f"The disk is full: predictions are written to {str(folder)!r} no further, the parts in it "
        "are complete; free some space, and the same call resumes."
    )
    with saying_disk_full(full):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / _LOCK, refusal):
            write_whole(folder / _ASKED, identity.encode())
            n_parts = sum(writer.write(number, part) for number, part in enumerate(data.parts))
            if not writer.n_rows:
                raise ValueError(f"{data.shown} has no rows.")
            write_whole(folder / _SUCCESS, b"")
        (folder / _LOCK).unlink(missing_ok=True)
    return PredictedDataset(writer.n_rows, writer.n_new_rows, n_parts, tuple(predictor.columns))


@dataclass
class _FolderWriter:
    """Writes the predictions of each file of a data set into a folder, as parts of so many rows."""

    folder: Path
    identity: str
    predictor: RowPredictor
    keep: Sequence[str] | str | None
    part_rows: int
    chunk_rows: int
    progress: Callable[[int], None] | None
    n_rows: int = 0
    n_new_rows: int = 0

    def check(self) -> None:
        """Refuse a folder that holds something else."""
        if not self.folder.exists():
            return
        if not self.folder.is_dir():
            raise NotADirectoryError(
                f"out must be a folder for parts of predictions, got the file {str(self.folder)!r}."
            )
        there = {path.name for path in self.folder.iterdir()}
        if there - {_LOCK} and _ASKED not in there:
            raise FileExistsError(
                f"out must be a new folder, an empty one, or one in which this prediction was "
                f"begun, got {str(self.folder)!r}, which holds other files."
            )
        if _ASKED in there:
            stored = (self.folder / _ASKED).read_text(encoding="utf-8")
            if not self.identity or stored != self.identity:
                raise FileExistsError(
                    f"out must not hold predictions of other files, columns or levels, got "
                    f"{str(self.folder)!r}: delete it, or name another."
                )

    def write(self, number: int, part: Part) -> int:
        """Write what is missing of one file's predictions, and return how many parts they have."""
        n_there, n_done, is_whole = self._count_written(number)
        self._add_rows(n_done)
        reader = part.open()
        try:
            if n_there:
                self._check_model(part, self._path(number, 0))
            if is_whole or n_done == reader.n_rows:
                return n_there
            pieces = _predict_pieces(
                reader, self.predictor, self.keep, self.chunk_rows, self.part_rows, n_done
            )
            for piece in pieces:
                others = _take_rows(pieces, self.part_rows - piece.table.num_rows)
                path = self._path(number, n_there)
                _write_pieces(path, piece, others, self._count, overwrite=False)
                n_there += 1
        finally:
            reader.close()
        return n_there

    def _count(self, piece: _Piece) -> None:
        self.n_new_rows += piece.table.num_rows
        self._add_rows(piece.table.num_rows)

    def _add_rows(self, n_rows: int) -> None:
        self.n_rows += n_rows
        if self.progress is not None:
            self.progress(self.n_rows)

    def _path(self, number: int, place: int) -> Path:
        return self.folder / f"part-{number:05d}-{place:05d}.parquet"

    def _count_written(self, number: int) -> tuple[int, int, bool]:
        """Return how many parts of a file are there, their rows, and whether the last is short."""
        import pyarrow.parquet as pq

        n_there = n_done = last = 0
        while (path := self._path(number, n_there)).exists():
            last = pq.read_metadata(path).num_rows
            n_there, n_done = n_there + 1, n_done + last
        return n_there, n_done, bool(n_there) and last < self.part_rows

    def _check_model(self, part: Part, written: Path) -> None:
        """Refuse to resume with a model that predicts something else."""
        import pyarrow.parquet as pq

        names = self.predictor.columns
        stored = next(pq.ParquetFile(written).iter_batches(_COMPARED_ROWS, columns=names))
        reader = part.open()
        try:
            piece = next(
                _predict_pieces(reader, self.predictor, self.keep, _COMPARED_ROWS, _COMPARED_ROWS)
            )
        finally:
            reader.close()
        n_rows = min(stored.num_rows, piece.table.num_rows)
        for name in names:
            old, new = (
                np.asarray(table.column(name).to_numpy(zero_copy_only=False)[:n_rows], np.float64)
                for table in (stored, piece.table.select([name]).combine_chunks().to_batches()[0])
            )
            if not np.allclose(old, new, rtol=1e-6, atol=0.0, equal_nan=True):
                raise FileExistsError(
                    f"out must not hold predictions of another model, got {str(written.parent)!r}: "
                    "delete it, or name another."
                )


def _predict_pieces(
    reader: TableReader | FragmentReader,
    predictor: RowPredictor,
    keep: Sequence[str] | str | None,
    chunk_rows: int,
    part_rows: int | None = None,
    n_skipped: int = 0,
) -> Iterator[_Piece]:
    """Yield predicted pieces of a table.

    With ``part_rows`` no piece has rows of two parts of that many rows, and ``n_skipped`` rows of
    whole parts are read only.
    """
    places = ColumnPlaces(reader)
    features = [places.find(name, "") for name in predictor.features]
    ages = predictor.ages
    elapsed = None if ages is None else places.find(ages.column, ages.role)
    if keep is None:
        kept = [name for name in places.names if name not in predictor.features]
    else:
        kept = places.names if isinstance(keep, str) else list(keep)
    beside = [places.find(name, "keep") for name in kept]
    taken = [*predictor.columns, *(date for _, date in predictor.dated)]
    if clash := [name for name in kept if name in taken]:
        raise TableError(
            f"{reader.shown} has columns called as the predictions: {list_names(clash)}",
            remedy="rename them, or keep other columns",
        )
    read = Columns(reader.shown, reader.options)
    wanted = sorted({*features, *beside, *([] if elapsed is None else [elapsed])})
    known = known_kinds(predictor.model)
    n_before = 0
    pieces = reader.pieces(wanted, chunk_rows)
    for piece in pieces if part_rows is None else _cut(pieces, part_rows):
        if n_before < n_skipped:
            n_before += piece.num_rows
            continue
        values = {place: read.values(piece.column(str(place))) for place in wanted}
        columns = {
            name: values[place] for name, place in zip(predictor.features, features, strict=True)
        }
        known = settled_kinds(read, known, columns)
        frame = make_frame(read, columns, known, n_before)
        spent = None
        if ages is not None and elapsed is not None:
            spent = ages.read(read, values[elapsed], reader.shown, n_before, predictor.lowest)
        originals = {
            name: piece.column(str(place)) for name, place in zip(kept, beside, strict=True)
        }
        yield _make_piece(originals, predictor, frame, spent)
        n_before += piece.num_rows


def _cut(pieces: Iterator[Any], part_rows: int) -> Iterator[Any]:
    """Cut pieces where a part of so many rows ends."""
    n_before = 0
    for piece in pieces:
        start = 0
        while start < piece.num_rows:
            part = piece.slice(start, part_rows - n_before % part_rows)
            yield part
            start += part.num_rows
            n_before += part.num_rows


def _make_piece(kept: dict[str, Any], predictor: RowPredictor, frame: Any, elapsed: Any) -> _Piece:
    values, n_identified = predictor.predict(frame, elapsed)
    predicted = dict(zip(predictor.columns, values.T, strict=True))
    flags = predicted.get(LIMITED, np.zeros(0)) > 0
    columns = {
        **kept,
        **{
            # Nothing is written where there is no number.
            name: pa.array(np.ascontiguousarray(column), mask=np.isnan(column))
            for name, column in predicted.items()
        },
    }
    if LIMITED in predicted:
        columns[LIMITED] = pa.array(flags)
    if predictor.ages is not None:
        columns |= {date: predictor.ages.dates(predicted[name]) for name, date in predictor.dated}
    return _Piece(pa.table(columns), n_identified, int(flags.sum()))


def _take_rows(pieces: Iterator[_Piece], n_rows: int) -> Iterator[_Piece]:
    """Take pieces until they have so many rows; none has rows beyond."""
    while n_rows:
        piece = next(pieces, None)
        if piece is None:
            return
        n_rows -= piece.table.num_rows
        yield piece


def _write_pieces(
    out: str | os.PathLike[str],
    first: _Piece,
    others: Iterator[_Piece],
    count: Callable[[_Piece], None],
    *,
    overwrite: bool,
) -> None:
    """Write pieces as one table, and count each when it is written."""
    with writing(out, first.table.schema, overwrite=overwrite) as write:
        for piece in chain([first], others):
            write(piece.table)
            count(piece)


def _refuse_same_file(data: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
    if STANDARD in (os.fspath(data), os.fspath(out)):
        return
    if all(Path(path).exists() for path in (data, out)) and Path(data).samefile(out):
        raise ValueError(f"{os.fspath(out)!r} is the table itself: name another file.")


def check_output(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Refuse a place where no table can be written, before any work is done."""
    if os.fspath(path) == STANDARD:
        return
    check_place(Path(path), overwrite=overwrite)
    _format(Path(path))


@contextlib.contextmanager
def writing(
    path: str | os.PathLike[str], schema: Any, *, overwrite: bool
) -> Iterator[Callable[[Any], None]]:
    """Yield what appends Arrow tables; the file appears under its name when the block ends well."""
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
            yield _text_writer(file, schema, separator)
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


def _text_writer(file: BinaryIO, schema: Any, separator: str) -> Callable[[Any], None]:
    """Write the header, and return what appends rows, with quotation marks where needed."""
    header = io.StringIO()
    csv.writer(header, delimiter=separator, lineterminator="\n").writerow(schema.names)
    file.write(header.getvalue().encode())
    plain, quoted = (
        pa_csv.WriteOptions(include_header=False, delimiter=separator, quoting_style=quoting)
        for quoting in ("none", "needed")
    )

    def write(piece: Any) -> None:
        buffer = io.BytesIO()
        try:
            pa_csv.write_csv(piece, buffer, plain)
        except pa.ArrowInvalid:  # values with separators, quotation marks or line breaks
            buffer = io.BytesIO()
            pa_csv.write_csv(piece, buffer, quoted)
        file.write(buffer.getbuffer())
        file.flush()

    return write


@contextlib.contextmanager
def _typed_writer(file: BinaryIO, schema: Any, kind: str) -> Iterator[Callable[[Any], None]]:
    import pyarrow.parquet as pq

    writer = (pq.ParquetWriter if kind == "parquet" else pa.ipc.new_file)(file, schema)
    try:
        yield writer.write_table
    except BaseException:
        # The file is given up; what it lacks of an end must not hide the reason.
        with contextlib.suppress(Exception):
            writer.close()
        raise
    writer.close()
