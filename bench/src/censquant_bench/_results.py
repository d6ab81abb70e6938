"""A file of results that grows row by row and survives whatever ends the run."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from censquant._version import __version__
from censquant_bench._cells import KEY_COLUMNS, Key, Row

RESULTS_FORMAT = 2
"""Raised by one whenever rows change their meaning."""


_HEADER = {"format": RESULTS_FORMAT, "censquant": __version__}


def _line(content: Row) -> bytes:
    return json.dumps(content).encode() + b"\n"


class ResultsFile:
    """Rows in a text file, one line of JSON each, below a line that says what wrote them.

    Rows are on disk before `append` returns. A line that was cut short when a run was killed is
    dropped when the file is opened again, and its row is made anew; a row that is there is never
    made again. A run that failed is not finished: a later row takes the place of its row.

    Parameters
    ----------
    path : str or path
        The file; it is begun if there is none.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from censquant_bench import ResultsFile
    >>> row = {"suite": "main", "dataset": "gbsg", "method": "cqrnn", "split": "random",
    ...        "variant": "", "seed": 111, "cindex": 0.67}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ResultsFile(pathlib.Path(folder) / "rows.jsonl") as results:
    ...         results.append([row])
    ...         print(results.finished)
    {('main', 'gbsg', 'cqrnn', 'random', '', '111')}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._by_key: dict[Key, Row] = {}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b")
        try:
            _lock(self._file, self.path)
            self._read()
        except BaseException:
            self._file.close()
            raise

    @property
    def rows(self) -> list[Row]:
        """One row per run, in the order in which they were first written."""
        return list(self._by_key.values())

    @property
    def finished(self) -> set[Key]:
        """Names of the runs that did not fail."""
        return {key for key, row in self._by_key.items() if not row.get("error")}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; its rows stay readable."""
        self._file.close()

    def append(self, rows: Iterable[Row]) -> None:
        """Write rows to the end of the file, each only if its run is not finished yet.

        Parameters
        ----------
        rows : iterable of dict
            Each with the columns of its key.
        """
        finished = self.finished
        for row in rows:
            if key_of(row) not in finished:
                self._write(row)
                self._by_key[key_of(row)] = row

    def _write(self, content: Row) -> None:
        self._file.write(_line(content))
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        if _line(_HEADER).startswith(content):  # new, or cut short while it was begun
            self._file.truncate(0)
            self._write(_HEADER)
            return
        complete = content[: content.rfind(b"\n") + 1]
        header, *lines = complete.split(b"\n")[:-1] or [b""]
        self._check(header)
        for number, line in enumerate(lines, start=2):
            try:
                row = _checked(json.loads(line))
                self._by_key[key_of(row)] = row
            except (ValueError, KeyError, TypeError, RecursionError):
                raise ValueError(
                    f"Line {number} of {str(self.path)!r} is not a row of results; remove the line "
                    "or choose another folder."
                ) from None
        if len(complete) < len(content):
            self._file.truncate(len(complete))

    def _check(self, line: bytes) -> None:
        try:
            header = json.loads(line)
            is_ours = (header["format"], header["censquant"]) == (RESULTS_FORMAT, __version__)
            wrote, version = str(header["format"])[:40], str(header["censquant"])[:40]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ValueError(
                f"{str(self.path)!r} is not a results file of censquant, so nothing was written to "
                "it; choose another folder."
            ) from None
        if not is_ours:
            raise ValueError(
                f"{str(self.path)!r} holds results of censquant {version} (format {wrote}), which "
                f"are not mixed with those of {__version__} (format {RESULTS_FORMAT}); choose "
                "another folder."
            )


def _checked(row: Any) -> Row:
    """Return a row as it was read, refused unless it holds text, numbers and lists of numbers."""
    if not isinstance(row, dict):
        raise TypeError(type(row))
    for column, value in row.items():
        if column == "seed":
            fits = isinstance(value, str | int)
        elif column in KEY_COLUMNS or column == "error":
            fits = isinstance(value, str)
        elif isinstance(value, list):
            fits = all(isinstance(entry, int | float) for entry in value)
        else:
            fits = isinstance(value, str | int | float | None)
        if not fits:
            raise TypeError(column)
    return row


def key_of(row: Row) -> Key:
    """Return what names a row."""
    return tuple(str(row[column]) for column in KEY_COLUMNS)


def _lock(file: Any, path: Path) -> None:
    """Keep a second run from writing to the same file; the system frees it with the process."""
    try:
        import fcntl
    except ImportError:  # on Windows, where a second writer goes unnoticed
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise ValueError(
            f"{str(path)!r} is being written to by another run; wait for it or choose another "
            "folder."
        ) from None
