"""Files of named arrays with a JSON header: nothing in them is ever executed."""

import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant.exceptions import ModelFileError

FORMAT_VERSION = 1
"""Raised by one whenever an older reader would misunderstand a newer file."""

_KEY = "censquant"


def write_arrays(
    path: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write arrays and a header as one safetensors file.

    The file appears under its name only when it is complete: a crash or a full disk leaves what
    was there before.
    """
    from safetensors.numpy import save

    path = Path(path)
    text = json.dumps({"format": FORMAT_VERSION, "kind": kind, **header}, sort_keys=True)
    contiguous = {name: np.asarray(array, order="C") for name, array in sorted(arrays.items())}
    content = save(contiguous, metadata={_KEY: text})
    write_whole(path, content)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there, so that none is ever seen half written."""
    # Opened like any file, so that its permissions follow the umask; asking for the umask would
    # change it for a moment, also for the threads that write other files.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_arrays(
    path: str | os.PathLike[str], kind: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return header and arrays of a file that :func:`write_arrays` wrote as ``kind``.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not ours, holds something else or is of a newer format.
    """
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"No file at {str(path)!r}.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            # Foreign files are refused before anything but their header is read.
            header = _read_header(path, metadata.get(_KEY), kind)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ModelFileError(
            f"{str(path)!r} is not a complete safetensors file ({error}); "
            "it may be truncated or written by another program."
        ) from None
    return header, arrays


def _read_header(path: Path, text: str | None, kind: str) -> dict[str, Any]:
    try:
        header = json.loads(text) if text is not None else None
    except json.JSONDecodeError:
        header = None
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise ModelFileError(f"{str(path)!r} was not written by censquant.")
    if header["format"] > FORMAT_VERSION:
        raise ModelFileError(
            f"{str(path)!r} has format {header['format']}, but this version reads formats up to "
            f"{FORMAT_VERSION}; upgrade censquant to open it."
        )
    if header.get("kind") != kind:
        raise ModelFileError(f"{str(path)!r} holds a {header.get('kind')}, not a {kind}.")
    return header
