"""All data sets by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from censquant._plugins import BENCH_COMMAND, load_plugins
from censquant._validation import look_up
from censquant.datasets._bundled import BUNDLED
from censquant.datasets._info import CatalogueEntry, DatasetInfo
from censquant.datasets._published import PUBLISHED
from censquant.datasets._store import locate
from censquant.datasets._synthetic import SYNTHETIC

_OWN = {entry.info.name: entry for part in (SYNTHETIC, BUNDLED, PUBLISHED) for entry in part}


def _added() -> dict[str, CatalogueEntry]:
    """Return the data sets of other distributions, by name."""
    groups = load_plugins("censquant.datasets").values()
    return {entry.info.name: entry for group in groups for entry in group}


def _find(name: str) -> CatalogueEntry:
    if isinstance(name, str) and name in _OWN:
        return _OWN[name]
    added = _added()
    try:
        return look_up("data set", name, _OWN | added)
    except ValueError as error:
        if added:
            raise
        raise ValueError(f"{error} More data sets are added by: {BENCH_COMMAND}") from None


def catalogue() -> tuple[DatasetInfo, ...]:
    """All data sets: the synthetic ones, those in the package, those that are downloaded.

    Where `censquant-bench` is installed, its sets follow. Nothing is read or downloaded.

    Returns
    -------
    infos : tuple of DatasetInfo

    Examples
    --------
    >>> from censquant.datasets import catalogue
    >>> [info.name for info in catalogue() if info.kind == "bundled"]
    ['gbsg2']
    """
    return tuple(entry.info for entry in (_OWN | _added()).values())


def describe(name: str) -> DatasetInfo:
    """Facts about a data set, known before it is loaded.

    Parameters
    ----------
    name : str
        A name of the `catalogue`.

    Returns
    -------
    info : DatasetInfo

    Examples
    --------
    >>> from censquant.datasets import describe
    >>> info = describe("metabric")
    >>> info.n_samples, round(info.censored_share, 2)
    (1904, 0.42)
    """
    return _find(name).info


def fetch_files(name: str) -> tuple[Path, ...]:
    """Places of all files of a data set, downloaded now where they are not yet there.

    Call it once where there is a network, and every later load works without one. Each file is
    checked against its recorded checksum.

    Parameters
    ----------
    name : str
        A name of the `catalogue`.

    Returns
    -------
    paths : tuple of Path
        Empty for data that are drawn or come with the package.

    Examples
    --------
    >>> from censquant.datasets import fetch_files
    >>> fetch_files("gbsg2")
    ()
    """
    return tuple(locate(file) for file in describe(name).files)


def load(name: str, **options: Any) -> Any:
    """Whatever the function of a data set returns: a way to it by name.

    Parameters
    ----------
    name : str
        A name of the `catalogue`.
    **options : object
        Arguments of the ``make_*``, ``load_*`` or ``fetch_*`` function behind the name.

    Returns
    -------
    data : SyntheticData, RealData or tuple

    Examples
    --------
    >>> from censquant.datasets import load
    >>> load("norm_heavy", n_samples=10, random_state=0).X.shape
    (10, 4)
    >>> X, y = load("gbsg2", as_frame=False)
    >>> X.shape
    (686, 8)
    """
    return _find(name).load(**options)
