"""Where published files lie: the user's folder, then the cache, then their publisher."""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from censquant._progress import Bar
from censquant.datasets._info import DataFile

FOLDER_VARIABLE = "CENSQUANT_DATA"
_CACHE_VARIABLE = "CENSQUANT_CACHE"

_Stamp = tuple[str, str, int, int]
# A large file takes longer to check than to read, so each is checked once as long as it stays
# as it is.
_checked: set[_Stamp] = set()


def locate(file: DataFile) -> Path:
    """Return the place of a published file, downloaded into the cache where it is nowhere else."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder and (own := Path(folder).expanduser() / file.path).is_file():
        if not _is_published(own, file):
            raise ValueError(
                f"{str(own)!r} in {FOLDER_VARIABLE} is not the published file ({file.checksum} "
                f"expected, {_digest(own, file)} found); replace it by {file.url} or move it away."
            )
        return own
    preface = missing_folder(folder) if folder else ""
    cached = _cache(preface) / file.path
    if not cached.is_file():
        _download(file, cached, preface)
    elif not _is_published(cached, file):
        damage = f"{str(cached)!r} in the cache was damaged and has been deleted; "
        # A download takes its place in one step, so that other processes never miss the file.
        try:
            _download(file, cached, preface + damage)
        except BaseException:
            cached.unlink(missing_ok=True)
            raise
        warnings.warn(
            f"{damage}the published file was downloaded again from {file.url}.", stacklevel=2
        )
    return cached


def missing_folder(named: str) -> str:
    """Start of a sentence that says what is wrong with the user's folder; empty if nothing is."""
    folder = Path(named).expanduser()
    if folder.is_dir():
        return ""
    fault = "is not a folder" if folder.exists() else "does not exist"
    return f"{FOLDER_VARIABLE} names {named!r}, which {fault}; "


def _cache(preface: str) -> Path:
    """Folder for downloads."""
    named = os.environ.get(_CACHE_VARIABLE)
    if named:
        return Path(named).expanduser()
    return Path(_pooch(preface).os_cache("censquant"))


def _download(file: DataFile, place: Path, preface: str) -> None:
    """Put a file into its place only when it is complete and the published one.

    What went wrong before starts the sentence of every error, since the user can fix that too.
    """
    pooch = _pooch(preface)
    # pooch itself downloads with requests, so it is there.
    from requests.exceptions import RequestException

    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
    try:
        with _DownloadBar.shown(file.path) as bar:
            fetch = pooch.HTTPDownloader(progressbar=bar or False, chunk_size=2**16)
            fetch(file.url, str(temporary), None)
        found = _digest(temporary, file)
        if found != file.checksum:
            raise ValueError(
                f"{preface}{file.path!r} was deleted as {file.url} sent it, because that is not "
                f"the published file ({file.checksum} expected, {found} found); try again later "
                f"or put the file at {str(place)!r}."
            )
        temporary.replace(place)
    except RequestException as error:
        raise ConnectionError(
            f"{preface}{file.path!r} could not be downloaded from {file.url} "
            f"({type(error).__name__}); without a network, put the file at {str(place)!r} or, "
            f"under the name {file.path!r}, into the folder that the environment variable "
            f"{FOLDER_VARIABLE} names."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def _is_published(path: Path, file: DataFile) -> bool:
    """Whether a file holds what its publisher put into it."""
    status = path.stat()
    stamp = str(path), file.checksum, status.st_mtime_ns, status.st_size
    if stamp not in _checked:
        if _digest(path, file) != file.checksum:
            return False
        _checked.add(stamp)
    return True


def _digest(path: Path, file: DataFile) -> str:
    """Checksum of a file, of the kind that is recorded for it."""
    kind = file.checksum.partition(":")[0]
    with path.open("rb") as stream:
        if kind == "sha256":
            return f"{kind}:{hashlib.file_digest(stream, 'sha256').hexdigest()}"
        content = stream.read()
    # git puts this header before the content; it guards nothing here against an attacker.
    header = b"blob %d\0" % len(content)
    return f"{kind}:{hashlib.sha1(header + content, usedforsecurity=False).hexdigest()}"


def _pooch(preface: str) -> Any:
    """Return the module that downloads."""
    try:
        import pooch
    except ImportError:
        raise ImportError(
            f"{preface}pooch is needed to download data; install it with: "
            'pip install "censquant[data]"'
        ) from None
    return pooch


class _DownloadBar:
    """Bytes of one file, in the form that pooch moves.

    pooch sets `total`, adds with `update`, and at the end asks for a `reset` that is followed by
    one `update` of everything.
    """

    def __init__(self, bar: Bar) -> None:
        self._bar = bar

    @classmethod
    @contextmanager
    def shown(cls, name: str) -> Iterator[_DownloadBar | None]:
        """Show a bar while a file is downloaded; None where there is no terminal."""
        if not sys.stderr.isatty():
            yield None
            return
        with Bar(name, None, unit="bytes") as bar:
            yield cls(bar)

    @property
    def total(self) -> int:
        """Bytes that the server announced; 0 where it announced none."""
        return self._bar.total or 0

    @total.setter
    def total(self, n_bytes: int) -> None:
        self._bar.restart(n_bytes or None)

    def update(self, n_bytes: int) -> None:
        """Add bytes that have been received."""
        self._bar.advance(n_bytes)

    def reset(self) -> None:
        """Go back to none."""
        self._bar.restart(self._bar.total)

    def close(self) -> None:
        """Leave the bar as it is; it ends with its block."""
