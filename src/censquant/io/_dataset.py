"""Data sets of one or many files: every file is one part, read in pieces."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from censquant.io._batches import TableReader, unreadable
from censquant.io._options import TextOptions
from censquant.io._stream import STANDARD

_SUFFIXES = (".parquet", ".pq", ".feather", ".arrow", ".csv", ".tsv", ".tab", ".txt")


class PartReader(Protocol):
    """What reads one part of a data set: :class:`TableReader`, or a fragment of pyarrow's."""

    names: list[str]
    n_rows: int | None
    shown: str
    options: TextOptions

    @property
    def is_text(self) -> bool:
        """Whether the format has no types, so that all columns are text."""
        ...

    @property
    def progress(self) -> tuple[int, int | None, str]:
        """How much was read, of how much if that is known, and the unit of both."""
        ...

    def pieces(self, places: Sequence[int], n_rows: int) -> Iterator[Any]:
        """Yield Arrow tables of the columns at some places, named by these places."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


@dataclass(frozen=True)
class Part:
    """One file of a data set.

    Parameters
    ----------
    shown : str
        What messages call it.
    identity : str
        Changes when the file does; empty where nobody can say.
    n_bytes : int
        Size of the file, 0 where it is not known.
    open : callable
        Returns a new reader.
    """

    shown: str
    identity: str
    n_bytes: int
    open: Callable[[], PartReader]


@dataclass(frozen=True)
class DataSet:
    """The files of a data set in their order.

    Parameters
    ----------
    shown : str
        What messages call it.
    parts : tuple of Part
    """

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
        return _of_fragments(source)
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
    return Part(repr(str(path)), identity, size, lambda: TableReader(path, options))


def _file_identity(path: Path) -> tuple[int, str]:
    found = path.stat()
    return found.st_size, f"{path.resolve()} {found.st_size} {found.st_mtime_ns}"


def _of_fragments(dataset: Any) -> DataSet:
    """Return the fragments of a data set of pyarrow, which may be on other machines."""
    parts = []
    for number, fragment in enumerate(dataset.get_fragments()):
        path = getattr(fragment, "path", None)
        size, identity = 0, ""
        if path is not None and Path(path).is_file():
            size, identity = _file_identity(Path(path))
        shown = f"part {number} of the data set" if path is None else repr(str(path))
        parts.append(Part(shown, identity, size, _FragmentOpener(dataset, fragment, shown)))
    if not parts:
        raise ValueError("The data set holds no files.")
    return DataSet("the data set", tuple(parts))


@dataclass(frozen=True)
class _FragmentOpener:
    dataset: Any
    fragment: Any
    shown: str

    def __call__(self) -> "_FragmentReader":
        return _FragmentReader(self.dataset.schema, self.fragment, self.shown)


class _FragmentReader:
    """One pass over a fragment of a data set of pyarrow; columns of the schema alone are known."""

    is_text = False

    def __init__(self, schema: Any, fragment: Any, shown: str) -> None:
        self._schema, self._fragment, self.shown = schema, fragment, shown
        self.names = list(schema.names)
        self.options = TextOptions()
        self.n_rows: int | None = _known_length(fragment)
        self._n_read = 0

    @property
    def progress(self) -> tuple[int, int | None, str]:
        return self._n_read, self.n_rows, "rows"

    def pieces(self, places: Sequence[int], n_rows: int) -> Iterator[Any]:
        import pyarrow as pa

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
                    self._n_read += batch.num_rows
                    found = pa.Table.from_batches([batch]).select(chosen)
                    found.validate(full=True)  # a damaged Feather file is not noticed otherwise
                    yield found.rename_columns([str(place) for place in places])
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
            raise unreadable(self.shown, error) from None

    def close(self) -> None:
        """Nothing is open between pieces."""


def _known_length(fragment: Any) -> int | None:
    """Return the number of rows where it costs nothing to know it."""
    if hasattr(fragment, "metadata"):
        return int(fragment.metadata.num_rows)
    return None if hasattr(fragment, "path") else int(fragment.count_rows())
