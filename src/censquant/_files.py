"""Files of named arrays with a JSON header: nothing in them is ever executed.

``docs/model-files.md`` specifies the format for readers in any language.
"""

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from censquant._version import __version__
from censquant.exceptions import ModelFileError

FORMAT_VERSION = 2
"""Raised by one whenever an older reader would misunderstand a newer file."""

_KEY = "censquant"
_DIGEST_BYTES = 32
_DIGEST = re.compile(r'\{"digest": "([0-9a-f]{64})", ')
# Little-endian, as the format of safetensors has it; what is not here is never written.
_DTYPES = {
    "BOOL": np.dtype("?"),
    "U8": np.dtype("<u1"),
    "U16": np.dtype("<u2"),
    "U32": np.dtype("<u4"),
    "U64": np.dtype("<u8"),
    "I8": np.dtype("<i1"),
    "I16": np.dtype("<i2"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_LONGEST_HEADER = 100_000_000  # bytes, as safetensors has it
_LONGEST_INTEGER = 40  # digits: the state of a random generator has integers of 128 bits
_LONGEST_REASON = 300  # characters
_ABANDONED_SECONDS = 3_600.0


def write_arrays(
    path: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write arrays and a header as one safetensors file, with a digest of both.

    The file appears under its name only when it is complete: a crash or a full disk leaves what
    was there before.
    """
    from safetensors.numpy import save

    described = {"format": FORMAT_VERSION, "kind": kind, "censquant": __version__, **header}
    text = json.dumps(described, sort_keys=True, allow_nan=False)
    contiguous = {name: np.asarray(array, order="C") for name, array in sorted(arrays.items())}
    signed = f'{{"digest": "{content_digest(text, contiguous)}", {text[1:]}'
    write_whole(Path(path), save(contiguous, metadata={_KEY: signed}))


def content_digest(text: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the digest of a header without its digest, and of named arrays."""
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES)
    for name, array in sorted(arrays.items()):
        dtype = array.dtype.newbyteorder("<")
        if dtype not in _NAMES:
            raise TypeError(f"Array {name!r} has the type {array.dtype}, which no file can hold.")
        shape = ",".join(str(size) for size in array.shape)
        digest.update(f"\0{name}\0{_NAMES[dtype]}\0{shape}\0".encode(errors="surrogatepass"))
        digest.update(np.ascontiguousarray(array, dtype=dtype).data)
    return digest.hexdigest()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there, so that none is ever seen half written."""
    with replacing(path) as file:
        file.write(content)


@contextlib.contextmanager
def replacing(path: Path, *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """Open a file beside a place that is moved there when the block ends without an error.

    Links are followed, permissions of a file that is replaced are kept, and what writers that were
    killed left behind is removed. Without ``overwrite`` a file that has appeared meanwhile is left
    alone, and the new one is given up.
    """
    with saying_disk_full(f"The disk is full: {str(path)!r} is not written; free some space."):
        yield from _replaced(Path(path), overwrite=overwrite)


def _replaced(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Yield the file of :func:`replacing`."""
    target = Path(os.path.realpath(path))
    replaced = target.stat() if target.exists() else None
    _remove_leftovers(target)
    temporary, file = _open_beside(target, private=replaced is not None)
    try:
        with file:
            yield file
            file.flush()
            if replaced is not None:
                _take_permissions(temporary, replaced)
            os.fsync(file.fileno())
            if not overwrite and target.exists():
                raise _exists(path)
            if os.name != "nt":  # there only a closed file can be moved
                temporary.replace(target)
        if os.name == "nt":
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_place(path: Path, *, overwrite: bool) -> None:
    """Refuse a place where no file can be written."""
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder: name a file in it.")
    if path.exists() and not overwrite:
        raise _exists(path)
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {str(folder)!r} to write {path.name!r} into.")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"The folder {str(folder)!r} may not be written to by this user.")


def _exists(path: Path) -> FileExistsError:
    return FileExistsError(f"{str(path)!r} exists already and is not overwritten.")


def _open_beside(target: Path, *, private: bool) -> tuple[Path, BinaryIO]:
    """Open a new file beside the target, locked for as long as its writer lives."""

    def opener(name: str, flags: int) -> int:
        # Otherwise opened like any file, so that its permissions follow the umask; asking for the
        # umask would change it for a moment, also for the threads that write other files.
        return os.open(name, flags, 0o600 if private else 0o666)

    while True:
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
        file = open(temporary, "xb", opener=opener)  # noqa: SIM115
        _lock(file, wait=True)
        # Between the two lines another writer may have taken the file for a leftover.
        if temporary.exists():
            return temporary, file
        file.close()


def _take_permissions(path: Path, replaced: os.stat_result) -> None:
    """Give a file the owner, where that is allowed, and the permissions of the one it replaces."""
    now = path.stat()
    if (now.st_uid, now.st_gid) != (replaced.st_uid, replaced.st_gid):
        with contextlib.suppress(OSError):
            os.chown(path, replaced.st_uid, replaced.st_gid)
    path.chmod(stat.S_IMODE(replaced.st_mode))


def _remove_leftovers(target: Path) -> None:
    """Remove files that writers of the target left when they were killed."""
    name = re.compile(re.escape(f".{target.name}.") + "[0-9a-f]{16}")
    with contextlib.suppress(OSError):  # whoever may not clean up may still write
        for entry in os.scandir(target.parent):
            if name.fullmatch(entry.name):
                _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(path: Path) -> None:
    with contextlib.suppress(OSError), path.open("r+b") as file:
        locked = _lock(file, wait=False)
        age = time.time() - path.stat().st_mtime
        if locked or (locked is None and age > _ABANDONED_SECONDS):
            path.unlink()


@contextlib.contextmanager
def saying_disk_full(sentence: str) -> Iterator[None]:
    """Raise the sentence where a full disk ends what is inside."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        full = OSError(sentence)
        full.errno = error.errno
        raise full from None


@contextlib.contextmanager
def locked(path: Path, refusal: str) -> Iterator[None]:
    """Hold a lock file; where another process holds it, raise BlockingIOError with a sentence."""
    with path.open("ab") as file:
        if _lock(file, wait=False) is False:
            raise BlockingIOError(f"{refusal}: wait until it has ended.")
        yield


def _lock(file: BinaryIO, *, wait: bool) -> bool | None:
    """Lock a file until it is closed; False if another holds it, None where there are no locks."""
    try:
        import fcntl
    except ImportError:  # on Windows
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network file systems
        return None
    return True


def read_arrays(
    path: str | os.PathLike[str], kind: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays of a file that :func:`write_arrays` wrote as ``kind``.

    Nothing is allocated that the file is not long enough to fill. Headers of format 1 have no
    digest.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"No file at {str(path)!r}.")
    # Read, not mapped into memory: a file that is cut short meanwhile would end the process. And
    # not by safetensors, which reads the header of files on disk alone.
    with path.open("rb") as file:
        entries, text = _read_entries(path, file)
        # Foreign files are refused before anything but their header is read.
        header = _read_header(path, text, kind)
        size = max((end for *_, end in entries.values()), default=0)
        n_left = os.fstat(file.fileno()).st_size - file.tell()
        content = file.read(size) if n_left == size else b""
    if n_left != size or len(content) < size:
        raise _incomplete(path, f"{n_left} bytes follow its header instead of {size}")
    arrays = {name: _array(path, name, content, *entry) for name, entry in entries.items()}
    if header["format"] > 1:
        signature = _DIGEST.match(text)
        if signature is None or signature[1] != content_digest(
            "{" + text[signature.end() :], arrays
        ):
            raise ModelFileError(
                f"{str(path)!r} is damaged: its content is not that of its digest."
            )
    return header, arrays


Entry = tuple[np.dtype[Any], tuple[int, ...], int, int]
"""Type, shape, and first and last byte of an array in a file."""


def _read_entries(path: Path, file: BinaryIO) -> tuple[dict[str, Entry], Any]:
    """Return where each array lies, and the text that is our header if the file is ours."""
    length = int.from_bytes(start := file.read(8), "little")
    n_left = os.fstat(file.fileno()).st_size - 8
    if len(start) < 8 or length > min(n_left, _LONGEST_HEADER):
        raise _incomplete(path, "it is shorter than its header")
    try:
        described = strict_json(file.read(length).decode())
        text = described.pop("__metadata__", {}).get(_KEY)
        entries = {name: _entry(**described[name]) for name in described}
    except (AttributeError, RecursionError, TypeError, ValueError):
        raise _incomplete(path, "its header does not list arrays") from None
    place = 0
    for _, _, begin, end in sorted(entries.values(), key=lambda entry: entry[2:]):
        if begin != place:
            raise _incomplete(path, "its arrays do not follow one another")
        place = end
    return entries, text


def _entry(dtype: Any, shape: Any, data_offsets: Any) -> Entry:
    """Return an array's place, refused unless its size is that of its type and shape."""
    begin, end = data_offsets
    for number in (*shape, begin, end):
        if type(number) is not int or number < 0:
            raise ValueError(f"not a size: {number!r}")
    if dtype not in _DTYPES or math.prod(shape) * _DTYPES[dtype].itemsize != end - begin:
        raise ValueError("not an array of a known type and of its size")
    return _DTYPES[dtype], tuple(shape), begin, end


def _array(
    path: Path,
    name: str,
    content: bytes,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    begin: int,
    end: int,
) -> NDArray[Any]:
    """Return one array, a copy of its bytes."""
    values = np.frombuffer(content, np.uint8, end - begin, begin)
    if dtype == np.bool_ and (values > 1).any():
        raise ModelFileError(f"{str(path)!r} is damaged: {name!r} is not an array of booleans.")
    try:
        return values.copy().view(dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)
    except (OverflowError, ValueError):  # empty, but with vast or too many other dimensions
        raise _incomplete(path, f"{name!r} has no possible shape") from None


def _incomplete(path: Path, reason: str) -> ModelFileError:
    return ModelFileError(
        f"{str(path)!r} is not a complete safetensors file ({reason}); it may be "
        "truncated or written by another program."
    )


def in_one_line(error: Exception) -> str:
    """Return kind and text of an error as part of a sentence; what a file says may be long."""
    text = " ".join(f"{type(error).__name__}: {error}"[:_LONGEST_REASON].split())
    return text.rstrip(".")


def strict_json(text: str) -> Any:
    """Return what a JSON text says; an ambiguous one, or a number without a value, is refused."""
    return json.loads(
        text,
        object_pairs_hook=_without_duplicates,
        parse_float=_finite,
        parse_int=_bounded,
        parse_constant=_refused,
    )


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a key stands twice in the same object")
    return entries


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        _refused(digits)
    return number


def _bounded(digits: str) -> int:
    if len(digits) > _LONGEST_INTEGER:
        _refused(digits)
    return int(digits)


def _refused(digits: str) -> None:
    raise ValueError(f"{digits[:_LONGEST_INTEGER]} is not a number")


def _read_header(path: Path, text: Any, kind: str) -> dict[str, Any]:
    try:
        header = strict_json(text)
    except (RecursionError, TypeError, ValueError):
        header = None
    header = header if isinstance(header, dict) else {}
    version = header.get("format")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"{str(path)!r} was not written by censquant.")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{str(path)!r} has format {version}, but this version reads formats up to "
            f"{FORMAT_VERSION}; upgrade censquant to open it."
        )
    if header.get("kind") != kind:
        raise ModelFileError(f"{str(path)!r} holds a {str(header.get('kind'))[:40]}, not a {kind}.")
    return header
