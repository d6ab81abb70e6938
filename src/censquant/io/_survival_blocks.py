"""Data sets as blocks of numbers to train on, checked row by row while they are read."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.io._columns import Columns, named
from censquant.io._dataset import Part, PartReader, open_dataset
from censquant.io._error import TableError
from censquant.io._options import TextOptions
from censquant.io._places import Places
from censquant.io._table import Table
from censquant.io._target import TargetColumns

# Bytes of numbers per byte of text, gzipped or not: a guess for the size of what is written.
_PER_BYTE, _PER_PACKED_BYTE = 1.5, 6.0


class SurvivalBlocks:
    r"""Features, times, events and weights of a data set, some rows at a time.

    Columns are found by name in every file, so that their order and types may differ between
    files. Whatever is not a finite number, or not a clear event, is refused by its row.

    Parameters
    ----------
    source : str, path, sequence of paths, or pyarrow.dataset.Dataset
        A file, or a folder of files.
    target : TargetColumns
    features : sequence of str, optional
        By default all columns that are neither target nor weight; all files must then have the
        same.
    weight : str, optional
        Column of weights.
    options : TextOptions, optional
        How text is read.
    settings : sequence, default ()
        What else identifies the result of reading.

    Examples
    --------
    >>> from censquant.io import SurvivalBlocks, TargetColumns
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "fleet.csv"
    ...     _ = path.write_text("days,failed,load\n3,1,0.5\n5,0,0.7\n")
    ...     data = SurvivalBlocks(path, TargetColumns("days", "failed"))
    ...     (block,) = data.blocks(0, 1000)
    >>> data.features, block[1], block[2]
    (['load'], array([3., 5.]), array([ True, False]))
    """

    def __init__(
        self,
        source: Any,
        target: TargetColumns,
        *,
        features: Sequence[str] | None = None,
        weight: str | None = None,
        options: TextOptions | None = None,
        settings: Sequence[Any] = (),
    ) -> None:
        self._data = open_dataset(source, options)
        self._target, self._weight = target, weight
        self._beside = [*target.names, *([] if weight is None else [weight])]
        self._takes_all = features is None
        self._n_bytes: int | None = None
        first = self._data.parts[0].open()
        first.close()
        self.features = self._chosen(features, first)
        self._wanted(first)
        self.identity = self._data.identity(
            target.to_dict(), self.features, weight, options, *settings
        )

    @property
    def shown(self) -> str:
        """What messages call the data."""
        return self._data.shown

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.features)

    @property
    def n_parts(self) -> int:
        """Number of files."""
        return len(self._data.parts)

    def expected_bytes(self) -> int:
        """Return about how many bytes the rows have as float64 numbers."""
        if self._n_bytes is None:  # every file is opened for it
            self._n_bytes = sum(self._expected_bytes(part) for part in self._data.parts)
        return self._n_bytes

    def blocks(
        self, part: int, n_rows: int
    ) -> Iterator[tuple[Floats, Floats, NDArray[np.bool_], Floats]]:
        """Give features, times, events and weights of a file, at most so many rows at a time.

        Parameters
        ----------
        part : int
            Number of the file.
        n_rows : int

        Yields
        ------
        block : tuple of ndarray
        """
        reader = self._data.parts[part].open()
        try:
            wanted = self._wanted(reader)
            places = sorted(set(wanted.values()))
            read = Columns(reader.shown, reader.options, is_text=reader.is_text)
            n_before = 0
            for piece in reader.pieces(places, n_rows):
                columns = {
                    name: read.values(piece.column(str(place))) for name, place in wanted.items()
                }
                yield self._block(columns, read, reader.shown, n_before)
                n_before += piece.num_rows
        finally:
            reader.close()

    def no_events(self) -> TableError:
        """Return the error for data without any event."""
        return self._target.no_events(self.shown)

    def _chosen(self, features: Sequence[str] | None, first: PartReader) -> list[str]:
        if features is None:
            chosen = [name for name in Places(first).names if name not in self._beside]
        else:
            chosen = [features] if isinstance(features, str) else [str(name) for name in features]
            if both := [name for name in chosen if name in self._beside]:
                raise TableError(
                    f"features must not name the target or the weight, got {named(both)}"
                )
        if not chosen:
            raise TableError(f"{self.shown} has no column that could be a feature")
        return chosen

    def _wanted(self, reader: PartReader) -> dict[str, int]:
        """Return the place of every column that is used."""
        places = Places(reader)
        target = self._target
        roles = [
            (target.time, "time"),
            (target.event, "event"),
            (target.start, "start"),
            (target.end, "end"),
            (self._weight, "weight"),
            *((name, "features") for name in self.features),
        ]
        wanted = {name: places.of(name, role) for name, role in roles if name is not None}
        if self._takes_all and (more := [name for name in places.names if name not in wanted]):
            raise TableError(
                f"{reader.shown} has columns that the first file has not: {named(more)}",
                remedy="name the columns to learn from by features",
            )
        return wanted

    def _block(
        self, columns: dict[str, Any], read: Columns, shown: str, n_before: int
    ) -> tuple[Floats, Floats, NDArray[np.bool_], Floats]:
        kinds = {name: read.kind(columns[name]) for name in self._target.names}
        piece = Table(shown, columns, kinds, (), (), read, n_before)
        target = self._target.read(piece)
        x = np.empty((len(target), self.n_features))
        for place, name in enumerate(self.features):
            x[:, place] = _numbers(piece, name)
        weight = np.ones(len(target))
        if self._weight is not None:
            weight = _numbers(piece, self._weight)
            if (weight < 0).any():
                row = int(np.argmax(weight < 0))
                raise TableError(
                    f"The weight {self._weight!r} must not be negative, got {weight[row]:g} in row "
                    f"{n_before + row + 1} of {shown}"
                )
        return x, target.time, target.event, weight

    def _expected_bytes(self, part: Part) -> int:
        reader = part.open()
        reader.close()
        if reader.n_rows is not None:
            return reader.n_rows * (self.n_features + 3) * 8
        packed = part.shown.endswith(".gz'")
        return int(part.n_bytes * (_PER_PACKED_BYTE if packed else _PER_BYTE))


def _numbers(piece: Table, name: str) -> Floats:
    """Return a column of finite numbers; what is none is refused by its row."""
    try:
        values = piece.numbers(name, "features")
    except TableError as error:
        marks = [given for given in error.options if given[0] in ("decimal", "thousands")]
        raise TableError(
            error.problem, marks, "encode it as numbers, or name other columns by features"
        ) from None
    # One sum looks at everything; overflow of finite numbers is sorted out below.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return np.asarray(values)
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        word = "a missing value" if np.isnan(values[wrong[0]]) else "infinity"
        raise TableError(
            f"The column {name!r} of {piece.shown} must hold numbers, got {word} in row "
            f"{(piece.n_before or 0) + wrong[0] + 1}",
            remedy="impute or drop such rows, or name other columns by features",
        )
    return np.asarray(values)
