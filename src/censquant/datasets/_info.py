"""What is known of a data set before it is loaded, and the published files behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Kind = Literal["synthetic", "bundled", "download"]


@dataclass(frozen=True)
class DataFile:
    """One published file: where it lies in a data folder, where it comes from, what it must hold.

    Parameters
    ----------
    path : str
        Place inside a data folder, with slashes.
    url : str
        Address of exactly these bytes.
    checksum : str
        ``sha256:`` and 64 digits, or ``git-sha1:`` and the 40 digits that ``git hash-object``
        prints.
    size : int or None
        Bytes; None where nobody has recorded them.

    Examples
    --------
    >>> from censquant.datasets import describe
    >>> file = describe("whas").files[0]
    >>> file.path, file.size
    ('whas/whas_train_test.h5', 58656)
    """

    path: str
    url: str
    checksum: str
    size: int | None


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set before it is loaded.

    Parameters
    ----------
    name : str
        Name that `load` and `describe` take.
    title : str
        Name in print, for tables.
    kind : {"synthetic", "bundled", "download"}
        Whether rows are drawn, come with the package, or are read from published files.
    n_samples : int
        Rows that come out by default.
    n_features : int
        Columns; pixels where a row is an image.
    censored_share : float inside [0, 1]
        Share of the rows whose event was not observed; for drawn rows the one to expect of many, so
        that a sample of a few hundred may be some points off.
    description : str
        What was measured, in which unit of time, and what to beware of.
    source : str
        Who measured it, and where the files come from.
    licence : str
        Terms as far as they are stated.
    files : tuple of DataFile
        Files it is read from; empty unless it is downloaded.
    groups : str
        What rows of one group share, for splits that keep a group together; empty where every row
        stands for itself.

    Examples
    --------
    >>> from censquant.datasets import describe
    >>> info = describe("whas")
    >>> info.title, info.n_samples, info.groups
    ('WHAS', 1638, 'exact copies of a row')
    """

    name: str
    title: str
    kind: Kind
    n_samples: int
    n_features: int
    censored_share: float
    description: str
    source: str
    licence: str
    files: tuple[DataFile, ...] = ()
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
    return DatasetInfo(
        name,
        title,
        "download",
        *shape,
        censored_share,
        description,
        source,
        licence,
        files,
        groups,
    )
