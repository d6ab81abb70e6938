"""Facts about a data set, known before it is loaded, and the form in which real data come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from censquant._validation import check_flag

Kind = Literal["synthetic", "bundled", "download"]


@dataclass(frozen=True)
class DataFile:
    """A published file: its place in a data folder, its address, and what it must hold."""

    path: str  # inside a data folder, with slashes
    url: str  # of exactly these bytes
    checksum: str  # "sha256:" and 64 digits, or "git-sha1:" and what `git hash-object` prints
    size: int | None  # bytes; None where nobody has recorded them


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set before it is loaded."""

    name: str  # that `load` and `describe` take
    title: str  # in print, for tables
    kind: Kind  # whether rows are drawn, come with the package, or are read from published files
    n_samples: int  # rows that come out by default
    n_features: int  # columns; pixels where a row is an image
    # Of rows whose event was not observed; for drawn rows the share to expect of many, so that a
    # sample of a few hundred may be some points off.
    censored_share: float
    description: str  # what was measured, in which unit of time, and what to beware of
    source: str  # who measured it, and where the files come from
    licence: str  # terms as far as they are stated
    files: tuple[DataFile, ...] = ()  # empty unless it is downloaded
    # What rows of one group share, for splits that keep a group together; empty where every row
    # stands for itself.
    groups: str = ""


class CatalogueEntry(NamedTuple):
    """A data set of the catalogue: what is known of it, and the function that loads it."""

    info: DatasetInfo
    load: Callable[..., Any]


COPIES = "exact copies of a row"
"""What rows of one group share where a file repeats rows."""


def github_url(repository: str, commit: str, path: str) -> str:
    """Address of a file in a public repository at one commit, whose content cannot change."""
    return f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"


def downloaded(
    name: str,
    title: str,
    shape: tuple[int, int],
    censored_share: float,
    *,
    description: str,
    source: str,
    licence: str,
    files: tuple[DataFile, ...],
    groups: str = "",
) -> DatasetInfo:
    """Return what is known of a data set that is read from published files."""
    n_samples, n_features = shape
    return DatasetInfo(
        name,
        title,
        "download",
        n_samples,
        n_features,
        censored_share,
        description,
        source,
        licence,
        files,
        groups,
    )


@dataclass(frozen=True, eq=False)
class RealData:
    """A real data set with its names, where it comes from, and which rows belong together.

    Parameters
    ----------
    name : str
        Name that `load` and `describe` take.
    data : DataFrame or ndarray of shape (n_samples, n_features)
        Features as numbers, or as categories in a frame; an array of images has shape
        (n_samples, 1, height, width).
    target : structured array of shape (n_samples,)
        ``event`` and ``time``.
    feature_names : tuple of str
        Names of the columns of `data`.
    description : str
        What was measured, in which unit of time, and what to beware of.
    source : str
        Who measured it, and where the files come from.
    licence : str
        Terms as far as they are stated.
    groups : ndarray of int of shape (n_samples,) or None
        Rows with the same number belong together (copies of a row, samples of a patient, cycles of
        an engine), and a split that parts them scores what was trained on. None where every row
        stands for itself.

    Examples
    --------
    >>> from censquant.datasets import load_gbsg2
    >>> data = load_gbsg2(return_X_y=False, as_frame=False)
    >>> data.feature_names[:3], round(data.censored_share, 2)
    (('horTh', 'age', 'menostat'), 0.56)
    """

    name: str
    data: Any
    target: NDArray[Any]
    feature_names: tuple[str, ...]
    description: str
    source: str
    licence: str
    groups: NDArray[np.int64] | None = None

    @property
    def censored_share(self) -> float:
        """Share of the rows whose event was not observed; 0 where the target is no time."""
        if self.target.dtype.names is None:
            return 0.0
        return float(1.0 - self.target["event"].mean())


def hand_out(
    info: DatasetInfo,
    X: NDArray[Any],
    y: NDArray[Any],
    feature_names: tuple[str, ...],
    *,
    groups: NDArray[np.int64] | None = None,
    return_X_y: bool,
    as_frame: bool,
) -> tuple[Any, NDArray[Any]] | RealData:
    """Return what a loader was asked for: ``(X, y)`` or all of it, as a frame or an array."""
    data = to_frame(X, feature_names) if check_flag("as_frame", as_frame) else X
    return packed(info, data, y, feature_names, groups=groups, return_X_y=return_X_y)


def packed(
    info: DatasetInfo,
    data: Any,
    y: NDArray[Any],
    feature_names: tuple[str, ...],
    *,
    groups: NDArray[np.int64] | None = None,
    return_X_y: bool,
) -> tuple[Any, NDArray[Any]] | RealData:
    """Return ``(X, y)``, or all of it, of features in the form that was asked for."""
    if check_flag("return_X_y", return_X_y):
        return data, y
    return RealData(
        info.name, data, y, feature_names, info.description, info.source, info.licence, groups
    )


def copies(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """Numbers that rows share exactly if they are the same in all columns."""
    _, numbers = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64)


def to_frame(X: NDArray[Any], names: tuple[str, ...]) -> Any:
    """Features as a pandas DataFrame, an image as one row of pixels."""
    return pandas_for_frames().DataFrame(X.reshape(len(X), -1), columns=list(names))


def pandas_for_frames() -> Any:
    """Return pandas, or name the remedy where it is missing."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            "as_frame=True needs pandas; pass as_frame=False or install it with: "
            'pip install "censquant[pandas]"'
        ) from None
    return pd


class Fetcher(Protocol):
    """A function that loads a real data set: features and target, or all of it."""

    @overload
    def __call__(
        self, *, return_X_y: Literal[True] = ..., as_frame: bool = ...
    ) -> tuple[Any, NDArray[np.void]]: ...

    @overload
    def __call__(self, *, return_X_y: Literal[False], as_frame: bool = ...) -> RealData: ...


def fetcher(function: Callable[..., Any]) -> Fetcher:
    """Give a function the types of its two results."""
    return function
