"""A folder of shards: complete, checksummed and described, or not there at all."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._engine.training._shards import ShardRows, record_type
from censquant._engine.training._summary import StreamSummary
from censquant._files import read_arrays, write_arrays
from censquant.exceptions import ModelFileError
from censquant.survival._transform import TimeTransform

MANIFEST = "shards.safetensors"
_KIND = "shards"
_SCALE = ("center", "scale")


@dataclass(frozen=True, eq=False)
class ShardFolder:
    r"""Rows of a data set on disk, ready to be trained on, with what is known of all of them.

    Made by :func:`write_shards`, or by :meth:`open` from what that wrote.

    Parameters
    ----------
    path : path
    identity : str
        Of the data and of how they were read; empty where nobody knows.
    lengths : tuple of int
        Rows in each file.
    digests : tuple of str
        Of the content of each file.
    summary : StreamSummary
    center, scale : ndarray of shape (n_features,), or None
        How features were scaled.
    """

    path: Path
    identity: str
    lengths: tuple[int, ...]
    digests: tuple[str, ...]
    summary: StreamSummary
    center: NDArray[np.float64] | None
    scale: NDArray[np.float64] | None

    def rows(self, transform: TimeTransform) -> ShardRows:
        """Return all rows, their times in model units."""
        digest = hashlib.blake2b("".join(self.digests).encode(), digest_size=16).hexdigest()
        paths = tuple(shard_path(self.path, place) for place in range(len(self.lengths)))
        return ShardRows(digest, paths, self.lengths, self._shape, transform, 0, sum(self.lengths))

    @property
    def _shape(self) -> tuple[int, ...]:
        return (len(self.summary.moments.mean),)

    def write_manifest(self) -> None:
        """Write what :meth:`open` reads."""
        header = {
            "identity": self.identity,
            "lengths": list(self.lengths),
            "digests": list(self.digests),
        }
        arrays = {f"summary.{name}": array for name, array in self.summary.state().items()}
        if self.center is not None and self.scale is not None:
            arrays |= {"center": self.center, "scale": self.scale}
        write_arrays(self.path / MANIFEST, _KIND, header, arrays)

    @classmethod
    def open(cls, path: Path) -> "ShardFolder":
        """Return a folder that :func:`write_shards` wrote; one with a damaged file is refused."""
        header, arrays = read_arrays(path / MANIFEST, _KIND)
        try:
            center, scale = (arrays.get(name) for name in _SCALE)
            found = cls(
                path,
                str(header["identity"]),
                tuple(int(length) for length in header["lengths"]),
                tuple(str(digest) for digest in header["digests"]),
                StreamSummary.from_state(_part(arrays, "summary.")),
                center,
                scale,
            )
        except (KeyError, TypeError, ValueError):
            raise ModelFileError(f"{str(path / MANIFEST)!r} does not describe shards.") from None
        found._check_files()
        return found

    def _check_files(self) -> None:
        type_ = record_type(*self._shape)
        for place, (length, digest) in enumerate(zip(self.lengths, self.digests, strict=True)):
            path = shard_path(self.path, place)
            try:
                records = np.load(path, mmap_mode="r")
                whole = records.dtype == type_ and records.shape == (length,)
            except (OSError, ValueError):
                whole = False
            if not whole or records_digest(records) != digest:
                raise ModelFileError(
                    f"{str(path)!r} is damaged: its content is not that of its digest; delete the "
                    "folder, and it is written again."
                )


def shard_path(folder: Path, place: int) -> Path:
    """Return the place of a file of rows."""
    return folder / f"shard-{place:05d}.npy"


def records_digest(records: NDArray[Any]) -> str:
    """Return the digest of the content of a file of rows."""
    content = np.ascontiguousarray(records).view(np.uint8).data
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _part(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
