"""Predictions for a table of any size: read in pieces, predicted, written beside and renamed."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant._validation import check_integer
from censquant.io._batches import TableReader
from censquant.io._columns import Columns, named
from censquant.io._dataset import PartReader
from censquant.io._error import TableError
from censquant.io._model_columns import known_kinds, settled_kinds
from censquant.io._options import TextOptions
from censquant.io._places import Places
from censquant.io._question import LIMITED, Ages, Question
from censquant.io._stream import STANDARD
from censquant.io._table import CHUNK_ROWS, frame_of
from censquant.io._write import check_output, writing
from censquant.quantiles._grid import check_quantiles

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class PredictedFile:
    """What :func:`predict_file` wrote.

    Parameters
    ----------
    n_rows : int
    columns : tuple of str
        Names of the columns that were predicted.
    identified_share : float
        Share of the predicted quantiles that the data can speak for.
    limited_share : float or None
        Share of the lower bounds that follow-up limits; None if none were asked for.

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
        The end of the name says the format; ``"-"`` writes CSV to standard output.
    quantiles : array-like of levels in (0, 1), default 0.1, 0.25, 0.5, 0.75, 0.9
        Become the columns ``q0.1``, ``q0.25``, ...
    interval : float in (0, 1), optional
        Adds the ends of the central interval with this probability, ``lower`` and ``upper``. Of a
        :class:`censquant.ConformalSurvivalRegressor` they keep the promise.
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
        Unit of the model's times, one of ``UNITS``, in which such ages are counted.
    date_format : str, optional
        Form of the dates, as in :class:`TargetColumns`.
    beyond : {"nan", "inf", "limit", "extrapolate"}, default "nan"
        What to write at levels that the data cannot speak for: nothing, infinity, or the model's
        guess.
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
    asked = Question(
        model,
        check_quantiles(quantiles),
        interval=interval,
        lower_bound=lower_bound,
        ages=Ages.given(remaining, start, as_of, unit, date_format),
        beyond=beyond,
    )
    check_integer("chunk_rows", chunk_rows, minimum=1)
    check_output(out, overwrite=overwrite)
    _refuse_same_file(data, out)
    reader = TableReader(data, options)
    try:
        pieces = predicted_pieces(reader, asked, keep, chunk_rows)
        first = next(pieces, None)
        if first is None:
            raise ValueError(f"{reader.shown} has a header but no rows.")
        n_rows, n_identified, n_limited = 0, 0, 0
        with writing(out, first.table.schema, overwrite=overwrite) as writer:
            for piece in chain([first], pieces):
                writer.write(piece.table)
                n_rows += piece.table.num_rows
                n_identified += piece.n_identified
                n_limited += piece.n_limited
                if progress is not None:
                    progress(*reader.progress)
    finally:
        reader.close()
    n_asked = n_rows * len(asked.levels)
    limited = n_limited / n_rows if LIMITED in asked.columns else None
    written = (*asked.columns, *(date for _, date in asked.dated))
    return PredictedFile(n_rows, written, n_identified / n_asked, limited)


@dataclass(frozen=True, eq=False)
class PredictedPiece:
    """Some rows of a table of predictions.

    It comes with the numbers of its quantiles that are identified and of its limited bounds.
    """

    table: Any
    n_identified: int
    n_limited: int


def predicted_pieces(
    reader: PartReader,
    asked: Question,
    keep: Sequence[str] | str | None,
    chunk_rows: int,
    *,
    part_rows: int | None = None,
    n_skipped: int = 0,
) -> Iterator[PredictedPiece]:
    """Yield predicted pieces of a table.

    With ``part_rows`` no piece has rows of two parts of that many rows, and ``n_skipped`` rows of
    whole parts are read only.
    """
    places = Places(reader)
    features = [places.of(name, "") for name in asked.features]
    ages = asked.ages
    elapsed = None if ages is None else places.of(ages.column, ages.role)
    if keep is None:
        kept = [name for name in places.names if name not in asked.features]
    else:
        kept = places.names if isinstance(keep, str) else list(keep)
    beside = [places.of(name, "keep") for name in kept]
    taken = [*asked.columns, *(date for _, date in asked.dated)]
    if clash := [name for name in kept if name in taken]:
        raise TableError(
            f"{reader.shown} has columns called as the predictions: {named(clash)}",
            remedy="rename them, or keep other columns",
        )
    read = Columns(reader.shown, reader.options, is_text=reader.is_text)
    wanted = sorted({*features, *beside, *([] if elapsed is None else [elapsed])})
    known = known_kinds(asked.model)
    n_before = 0
    for piece in (
        reader.pieces(wanted, chunk_rows)
        if part_rows is None
        else _cut(reader.pieces(wanted, chunk_rows), part_rows)
    ):
        if n_before < n_skipped:
            n_before += piece.num_rows
            continue
        values = {place: read.values(piece.column(str(place))) for place in wanted}
        columns = {
            name: values[place] for name, place in zip(asked.features, features, strict=True)
        }
        known = settled_kinds(read, known, columns)
        frame = frame_of(read, columns, known, n_before)
        spent = None
        if ages is not None and elapsed is not None:
            spent = ages.read(read, values[elapsed], reader.shown, n_before, asked.lowest)
        originals = {
            name: piece.column(str(place)) for name, place in zip(kept, beside, strict=True)
        }
        yield _written(originals, asked, frame, spent)
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


def _written(
    kept: dict[str, Any], asked: Question, frame: Any, elapsed: Floats | None
) -> PredictedPiece:
    import pyarrow as pa

    predicted, n_identified = asked.answer(frame, elapsed)
    answers = dict(zip(asked.columns, predicted.T, strict=True))
    flags = answers.get(LIMITED, np.zeros(0)) > 0
    columns = {
        **kept,
        **{
            # Nothing is written where there is no number.
            name: pa.array(np.ascontiguousarray(column), mask=np.isnan(column))
            for name, column in answers.items()
        },
    }
    if LIMITED in answers:
        columns[LIMITED] = pa.array(flags)
    if asked.ages is not None:
        columns |= {date: asked.ages.dates(answers[name]) for name, date in asked.dated}
    return PredictedPiece(pa.table(columns), n_identified, int(flags.sum()))


def _refuse_same_file(data: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
    if STANDARD in (os.fspath(data), os.fspath(out)):
        return
    if all(Path(path).exists() for path in (data, out)) and Path(data).samefile(out):
        raise ValueError(f"{os.fspath(out)!r} is the table itself: name another file.")
