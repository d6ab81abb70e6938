"""Predictions for a data set of many files: a folder of parts that resumes where it stopped."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from censquant._files import locked, saying_disk_full, write_whole
from censquant._validation import check_integer
from censquant.io._dataset import Part, open_dataset
from censquant.io._options import TextOptions
from censquant.io._predict import LEVELS, PredictedPiece, predicted_pieces
from censquant.io._question import Ages, Question
from censquant.io._table import CHUNK_ROWS
from censquant.io._write import writing
from censquant.quantiles._grid import check_quantiles

_PART_ROWS = 1_000_000
_COMPARED_ROWS = 100
# Names that begin with an underscore are no data to pyarrow, dask and Spark.
_ASKED, _LOCK, _SUCCESS = "_asked", "_lock", "_SUCCESS"


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
    ``_SUCCESS`` says that all rows are there.

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
    asked = Question(
        model,
        check_quantiles(quantiles),
        interval=interval,
        lower_bound=lower_bound,
        ages=ages,
        beyond=beyond,
    )
    check_integer("part_rows", part_rows, minimum=1)
    check_integer("chunk_rows", chunk_rows, minimum=1)
    data, folder = open_dataset(source, options), Path(out)
    begun = _Begun(
        folder,
        data.identity(
            asked.columns,
            asked.levels.tolist(),
            beyond,
            remaining if start is None else ages,
            keep,
            part_rows,
        ),
    )
    begun.check()
    refusal = f"Another process is writing the predictions {str(folder)!r}"
    full = (
        f"The disk is full: predictions are written to {str(folder)!r} no further, the parts in it "
        "are complete; free some space, and the same call resumes."
    )
    counted = _Counted(progress)
    with saying_disk_full(full):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / _LOCK, refusal):
            begun.write()
            n_parts = 0
            for number, part in enumerate(data.parts):
                names = _part_names(folder, number)
                n_parts += _predict_part(part, names, asked, keep, part_rows, chunk_rows, counted)
            if not counted.n_rows:
                raise ValueError(f"{data.shown} has no rows.")
            write_whole(folder / _SUCCESS, b"")
        (folder / _LOCK).unlink(missing_ok=True)
    return PredictedDataset(counted.n_rows, counted.n_new, n_parts, tuple(asked.columns))


class _Counted:
    """Rows so far, and those of this call."""

    def __init__(self, progress: Callable[[int], None] | None) -> None:
        self.n_rows = self.n_new = 0
        self._progress = progress

    def add(self, n_rows: int, *, new: bool) -> None:
        self.n_rows += n_rows
        self.n_new += n_rows if new else 0
        if self._progress is not None:
            self._progress(self.n_rows)


@dataclass(frozen=True)
class _Begun:
    """What a folder of predictions says about the call that began it."""

    folder: Path
    identity: str

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

    def write(self) -> None:
        write_whole(self.folder / _ASKED, self.identity.encode())


def _part_names(folder: Path, number: int) -> Callable[[int], Path]:
    return lambda place: folder / f"part-{number:05d}-{place:05d}.parquet"


def _predict_part(
    part: Part,
    name: Callable[[int], Path],
    asked: Question,
    keep: Sequence[str] | str | None,
    part_rows: int,
    chunk_rows: int,
    counted: _Counted,
) -> int:
    """Write the predictions of one file of the data, and return how many parts they have."""
    n_there, n_done, is_whole = _written_parts(name, part_rows)
    counted.add(n_done, new=False)
    reader = part.open()
    try:
        if n_there:
            _check_model(part, asked, keep, name(0))
        if is_whole or n_done == reader.n_rows:
            return n_there
        pieces = predicted_pieces(
            reader, asked, keep, chunk_rows, part_rows=part_rows, n_skipped=n_done
        )
        for piece in pieces:
            n_left = part_rows - piece.table.num_rows
            with writing(name(n_there), piece.table.schema, overwrite=False) as writer:
                for each in chain([piece], _first_rows(pieces, n_left)):
                    writer.write(each.table)
                    counted.add(each.table.num_rows, new=True)
            n_there += 1
    finally:
        reader.close()
    return n_there


def _first_rows(pieces: Iterator[PredictedPiece], n_rows: int) -> Iterator[PredictedPiece]:
    """Take pieces until they have so many rows; none reaches beyond."""
    while n_rows:
        piece = next(pieces, None)
        if piece is None:
            return
        n_rows -= piece.table.num_rows
        yield piece


def _written_parts(name: Callable[[int], Path], part_rows: int) -> tuple[int, int, bool]:
    """Return how many parts of a file are there, their rows, and whether the last one is short."""
    import pyarrow.parquet as pq

    n_there = n_done = last = 0
    while name(n_there).exists():
        last = pq.read_metadata(name(n_there)).num_rows
        n_there, n_done = n_there + 1, n_done + last
    return n_there, n_done, bool(n_there) and last < part_rows


def _check_model(
    part: Part, asked: Question, keep: Sequence[str] | str | None, written: Path
) -> None:
    """Refuse to resume with a model that predicts something else."""
    import pyarrow.parquet as pq

    stored = next(pq.ParquetFile(written).iter_batches(_COMPARED_ROWS, columns=asked.columns))
    reader = part.open()
    try:
        piece = next(
            predicted_pieces(reader, asked, keep, _COMPARED_ROWS, part_rows=_COMPARED_ROWS)
        )
    finally:
        reader.close()
    n_rows = min(stored.num_rows, piece.table.num_rows)
    for column in asked.columns:
        old, new = (
            np.asarray(table.column(column).to_numpy(zero_copy_only=False)[:n_rows], np.float64)
            for table in (stored, piece.table.select([column]).combine_chunks().to_batches()[0])
        )
        if not np.allclose(old, new, rtol=1e-6, atol=0.0, equal_nan=True):
            raise FileExistsError(
                f"out must not hold predictions of another model, got {str(written.parent)!r}: "
                "delete it, or name another."
            )
