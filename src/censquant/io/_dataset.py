"""Data sets of one or many files, and their rows as blocks of numbers to train on."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.io._columns import Columns, list_names
from censquant.io._options import TableError, TextOptions
from censquant.io._reader import STANDARD, TableReader, unreadable
from censquant.io._table import ColumnPlaces, Table
from censquant.io._target import TargetColumns

_SUFFIXES = (".parquet", ".pq", ".feather", ".arrow", ".csv", ".tsv", ".tab", ".txt")
# Bytes of numbers per byte of text, gzipped or not: a guess for the size of what is written.
_PER_BYTE, _PER_PACKED_BYTE = 1.5, 6.0

_Block = tuple[Floats, Floats, NDArray[np.bool_], Floats]


class FragmentReader:
    """One pass over a fragment of a data set of pyarrow; it has the columns of the schema."""

    def __init__(self, schema: Any, fragment: Any, shown: str) -> None:
        self._schema, self._fragment, self.shown = schema, fragment, shown
        self.names = list(schema.names)
        self.options = TextOptions()
        self.n_rows = _known_length(fragment)

    def pieces(self, places: Sequence[int], n_rows: int) -> Iterator[Any]:
        """Yield Arrow tables of the columns at some places, named by these places."""
        chosen = [self.names[place] for place in places]
        try:
            # Reading ahead would hold many row groups in memory.
            for batch in self._fragment.to_batches(
                schema=self._schema,
                columns=chosen,
                batch_size=n_rows,
                batch_readahead=1,
                fragment_readahead=1,
            ):
                if batch.num_rows:
                    found = pa.Table.from_batches([batch]).select(chosen)
                    found.validate(full=True)  # a damaged Feather file is not noticed otherwise
                    yield found.rename_columns([str(place) for place in places])
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
            raise unreadable(self.shown, error) from None

    def close(self) -> None:
        """Do nothing, since nothing is open between pieces."""


def _known_length(fragment: Any) -> int | None:
    """Return the number of rows where it costs nothing to know it."""
    if hasattr(fragment, "metadata"):
        return int(fragment.metadata.num_rows)
    return None if hasattr(fragment, "path") else int(fragment.count_rows())


@dataclass(frozen=True)
class Part:
    """One file of a data set, with its name for messages and what makes a new reader.

    ``identity`` changes when the file does and is empty where that is not known; ``n_bytes`` is the
    size of the file, 0 where it is not known.
    """

    shown: str
    identity: str
    n_bytes: int
    open: Callable[[], TableReader | FragmentReader]


@dataclass(frozen=True)
class DataSet:
    """The files of a data set in their order, with its name for messages."""

    shown: str
    parts: tuple[Part, ...]

    def identity(self, *settings: Any) -> str:
        """Return a digest of the files and of settings, empty where a file has no identity."""
        identities = [part.identity for part in self.parts]
        if not all(identities):
            return ""
        text = json.dumps([identities, *settings], default=str)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def open_dataset(source: Any, options: TextOptions | None = None) -> DataSet:
    """Return the files of a data set."""
    if hasattr(source, "get_fragments"):
        return _open_fragments(source)
    if isinstance(source, list | tuple):
        if not source:
            raise ValueError("A data set must have at least one file, got an empty list.")
        parts = [_file_part(Path(path), options) for path in source]
        return DataSet(f"the data set of {len(parts)} files", tuple(parts))
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            "A data set must be a path, a list of paths or a pyarrow.dataset.Dataset, got "
            f"{type(source).__name__}."
        )
    shown = repr(os.fspath(source))
    if os.fspath(source) == STANDARD:
        raise ValueError("A data set must be in files, got '-': standard input can be read once.")
    folder = Path(source)
    if not folder.is_dir():
        return DataSet(shown, (_file_part(folder, options),))
    paths = [path for path in sorted(folder.rglob("*")) if _is_table(path.relative_to(folder))]
    if not paths:
        raise ValueError(f"The folder {shown} holds no tables ({', '.join(_SUFFIXES)}).")
    return DataSet(shown, tuple(_file_part(path, options) for path in paths))


def _is_table(path: Path) -> bool:
    if any(name.startswith((".", "_")) for name in path.parts):
        return False
    return path.name.lower().removesuffix(".gz").endswith(_SUFFIXES)


def _file_part(path: Path, options: TextOptions | None) -> Part:
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    size, identity = _file_identity(path)
    return Part(repr(str(path)), identity, size, partial(TableReader, path, options))


def _file_identity(path: Path) -> tuple[int, str]:
    found = path.stat()
    return found.st_size, f"{path.resolve()} {found.st_size} {found.st_mtime_ns}"


def _open_fragments(dataset: Any) -> DataSet:
    """Return the fragments of a data set of pyarrow, which may be on other machines."""
    parts = []
    for number, fragment in enumerate(dataset.get_fragments()):
        path = getattr(fragment, "path", None)
        size, identity = 0, ""
        if path is not None and Path(path).is_file():
            size, identity = _file_identity(Path(path))
        shown = f"part {number} of the data set" if path is None else repr(str(path))
        opened = partial(FragmentReader, dataset.schema, fragment, shown)
        parts.append(Part(shown, identity, size, opened))
    if not parts:
        raise ValueError("The data set holds no files.")
    return DataSet("the data set", tuple(parts))


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
        self.features = self._choose(features, ColumnPlaces(first).names)
        self._find_places(first)
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

    def blocks(self, part: int, n_rows: int) -> Iterator[_Block]:
        """Yield features, times, events and weights of a file, at most ``n_rows`` at a time."""
        reader = self._data.parts[part].open()
        try:
            wanted = self._find_places(reader)
            places = sorted(set(wanted.values()))
            read = Columns(reader.shown, reader.options)
            n_before = 0
            for piece in reader.pieces(places, n_rows):
                columns = {
                    name: read.values(piece.column(str(place))) for name, place in wanted.items()
                }
                yield self._read_block(columns, read, reader.shown, n_before)
                n_before += piece.num_rows
        finally:
            reader.close()

    def no_events(self) -> TableError:
        """Return the error for data without any event."""
        return self._target.no_events(self.shown)

    def _choose(self, features: Sequence[str] | None, names: list[str]) -> list[str]:
        if features is None:
            chosen = [name for name in names if name not in self._beside]
        else:
            chosen = [features] if isinstance(features, str) else [str(name) for name in features]
            if both := [name for name in chosen if name in self._beside]:
                raise TableError(
                    f"features must not name the target or the weight, got {list_names(both)}"
                )
        if not chosen:
            raise TableError(f"{self.shown} has no column that could be a feature")
        return chosen

    def _find_places(self, reader: TableReader | FragmentReader) -> dict[str, int]:
        """Return the place of every column that is used."""
        places = ColumnPlaces(reader)
        target = self._target
        roles = [
            (target.time, "time"),
            (target.event, "event"),
            (target.start, "start"),
            (target.end, "end"),
            (self._weight, "weight"),
            *((name, "features") for name in self.features),
        ]
        wanted = {name: places.find(name, role) for name, role in roles if name is not None}
        if self._takes_all and (more := [name for name in places.names if name not in wanted]):
            raise TableError(
                f"{reader.shown} has columns that the first file has not: {list_names(more)}",
                remedy="name the columns to learn from by features",
            )
        return wanted

    def _read_block(
        self, columns: dict[str, Any], read: Columns, shown: str, n_before: int
    ) -> _Block:
        kinds = {name: read.kind(columns[name]) for name in self._target.names}
        piece = Table(shown, columns, kinds, (), (), read, n_before)
        target = self._target.read(piece)
        x = np.empty((len(target), self.n_features))
        for place, name in enumerate(self.features):
            x[:, place] = _finite_numbers(piece, name)
        weight = np.ones(len(target))
        if self._weight is not None:
            weight = _finite_numbers(piece, self._weight)
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


def _finite_numbers(piece: Table, name: str) -> Floats:
    """Return a column of finite numbers; others are refused by their row."""
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
