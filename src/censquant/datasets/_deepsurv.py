"""Survival data in the form that DeepSurv gave them: HDF5 files with nothing but numbers."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from censquant.datasets._info import (
    COPIES,
    CatalogueEntry,
    DataFile,
    DatasetInfo,
    downloaded,
    github_url,
)
from censquant.datasets._real import RealData, copies, hand_out
from censquant.datasets._store import locate
from censquant.survival import Surv

_SOURCE = "as prepared for DeepSurv (Katzman et al. 2018), jaredleekatzman/DeepSurv on GitHub"
_NAMES_INFERRED = "The file stores no column names; these are inferred from its values."


def _info(
    name: str,
    title: str,
    shape: tuple[int, int],
    n_censored: int,
    file: str,
    checksum: str,
    size: int,
    *,
    description: str,
    source: str,
    groups: str = "",
) -> DatasetInfo:
    commit = "f0803f57bff9395f2bfbb99da2f1031adcf01331"
    path = f"{name}/{file}"
    url = github_url("jaredleekatzman/DeepSurv", commit, f"experiments/data/{path}")
    return downloaded(
        name,
        title,
        shape,
        n_censored / shape[0],
        description=description,
        source=f"{source}, {_SOURCE}",
        licence="MIT for the repository; no terms stated for the data",
        files=(DataFile(path, url, f"sha256:{checksum}", size),),
        groups=groups,
    )


METABRIC = _info(
    "metabric",
    "METABRIC",
    (1904, 9),
    801,
    "metabric_IHC4_clinical_train_test.h5",
    "e959131973c906c7e8b1e662c81160914768156a6da145a9bfed9b9ee8bf3e72",
    90_016,
    description="Survival in months of 1904 women with breast cancer: four gene expressions, "
    f"four treatments and markers, age. {_NAMES_INFERRED} One time is 0.",
    source="Curtis et al. (2012)",
)

WHAS = _info(
    "whas",
    "WHAS",
    (1638, 6),
    948,
    "whas_train_test.h5",
    "2ed86f073fdbe34be10f7e485eeaf67b61004521390c46b9a18aa9b82d5e8f9c",
    58_656,
    description="Survival in days after a heart attack, Worcester Heart Attack Study. "
    f"{_NAMES_INFERRED} 903 of the 1638 rows are exact copies of others, so a random split "
    "tests on rows that were trained on: split by groups.",
    source="Worcester Heart Attack Study",
    groups=COPIES,
)

SUPPORT = _info(
    "support",
    "SUPPORT",
    (8873, 14),
    2837,
    "support_train_test.h5",
    "e398f49930e4efc4ecd675a72ac547f0d1ae25ccf13f6a1024cded12ea88a83e",
    574_112,
    description="Survival in days of 8873 seriously ill adults in hospital: age, illnesses "
    f"and physiology. {_NAMES_INFERRED}",
    source="Knaus et al. (1995)",
)

GBSG = _info(
    "gbsg",
    "GBSG",
    (2232, 7),
    965,
    "gbsg_cancer_train_test.h5",
    "bd455f4395322a8b23040c15cedbef00ad51a447d02c95f1f1d686a6b196484b",
    86_592,
    description="Survival in months of 2232 women with breast cancer, the Rotterdam tumour "
    "bank joined to trial 2 of the German Breast Cancer Study Group. "
    f"{_NAMES_INFERRED} Two rows are copies of others.",
    source="Rotterdam tumour bank and Schumacher et al. (1994)",
    groups=COPIES,
)


@overload
def fetch_metabric(
    *, return_X_y: Literal[True] = ..., as_frame: bool = ...
) -> tuple[Any, NDArray[np.void]]: ...


@overload
def fetch_metabric(*, return_X_y: Literal[False], as_frame: bool = ...) -> RealData: ...


def fetch_metabric(
    *, return_X_y: bool = True, as_frame: bool = True
) -> tuple[Any, NDArray[np.void]] | RealData:
    """Survival of 1904 women with breast cancer, 42 % of them censored.

    Times are in months, up to 355; one of them is 0. The file stores no names of columns: those
    given here are inferred from the values and from what was written about the set [1]_, and which
    of the genes MKI67, EGFR, PGR and ERBB2 is ``gene_1`` is unknown. The rows of DeepSurv's
    own test set come first, as in the code of the CQRNN paper.

    Parameters
    ----------
    return_X_y, as_frame
        As in `load_gbsg2`.

    Returns
    -------
    X : DataFrame or ndarray of shape (1904, 9)
        Features, float64.
    y : structured array of shape (1904,)
        ``event``, True where it was observed, and ``time``.
    data : RealData
        Instead of both if `return_X_y` is False.

    References
    ----------
    .. [1] C. Curtis et al. (2012). The genomic and transcriptomic architecture of 2,000 breast
       tumours reveals novel subgroups. *Nature* 486, 346-352.

    Examples
    --------
    >>> from censquant.datasets import describe, fetch_metabric
    >>> info = describe("metabric")
    >>> info.n_samples, info.n_features
    (1904, 9)
    >>> X, y = fetch_metabric()  # doctest: +SKIP
    """
    names = (
        "gene_1",
        "gene_2",
        "gene_3",
        "gene_4",
        "hormone_treatment",
        "radiotherapy",
        "chemotherapy",
        "er_positive",
        "age",
    )
    return _fetch(METABRIC, names, return_X_y, as_frame)


@overload
def fetch_whas(
    *, return_X_y: Literal[True] = ..., as_frame: bool = ...
) -> tuple[Any, NDArray[np.void]]: ...


@overload
def fetch_whas(*, return_X_y: Literal[False], as_frame: bool = ...) -> RealData: ...


def fetch_whas(
    *, return_X_y: bool = True, as_frame: bool = True
) -> tuple[Any, NDArray[np.void]] | RealData:
    """Survival of 1638 rows of the Worcester Heart Attack Study, 58 % of them censored.

    Times are in days. The file stores no names of columns: ``age`` and ``bmi`` are inferred from
    their ranges, the four others hold 0 and 1. **Only 735 rows are distinct**; the others are exact
    copies, up to twelve of one. About 70 % of the test rows of a random split were trained on, and
    scores reward memory: split by ``groups``, where copies share a number.

    Parameters
    ----------
    return_X_y, as_frame
        As in `load_gbsg2`.

    Returns
    -------
    X : DataFrame or ndarray of shape (1638, 6)
        Features, float64.
    y : structured array of shape (1638,)
        ``event``, True where it was observed, and ``time``.
    data : RealData
        Instead of both if `return_X_y` is False.

    Examples
    --------
    >>> from censquant.datasets import describe, fetch_whas
    >>> info = describe("whas")
    >>> info.n_samples, info.n_features
    (1638, 6)
    >>> X, y = fetch_whas()  # doctest: +SKIP
    """
    names = (
        "x0",
        "age",
        "x2",
        "bmi",
        "x4",
        "x5",
    )
    return _fetch(WHAS, names, return_X_y, as_frame)


@overload
def fetch_support(
    *, return_X_y: Literal[True] = ..., as_frame: bool = ...
) -> tuple[Any, NDArray[np.void]]: ...


@overload
def fetch_support(*, return_X_y: Literal[False], as_frame: bool = ...) -> RealData: ...


def fetch_support(
    *, return_X_y: bool = True, as_frame: bool = True
) -> tuple[Any, NDArray[np.void]] | RealData:
    """Survival of 8873 seriously ill adults in hospital, 32 % of them censored.

    Times are in days. The file stores no names of columns: those given here are inferred from the
    values and from what was written about the set [1]_. By its range ``sodium`` stands before
    ``white_cell_count``, although lists in print have them the other way round.

    Parameters
    ----------
    return_X_y, as_frame
        As in `load_gbsg2`.

    Returns
    -------
    X : DataFrame or ndarray of shape (8873, 14)
        Features, float64.
    y : structured array of shape (8873,)
        ``event``, True where it was observed, and ``time``.
    data : RealData
        Instead of both if `return_X_y` is False.

    References
    ----------
    .. [1] W. A. Knaus et al. (1995). The SUPPORT prognostic model. *Annals of Internal Medicine*
       122, 191-203.

    Examples
    --------
    >>> from censquant.datasets import describe, fetch_support
    >>> info = describe("support")
    >>> info.n_samples, info.n_features
    (8873, 14)
    >>> X, y = fetch_support()  # doctest: +SKIP
    """
    names = (
        "age",
        "sex",
        "race",
        "n_comorbidities",
        "diabetes",
        "dementia",
        "cancer",
        "mean_blood_pressure",
        "heart_rate",
        "respiration_rate",
        "temperature",
        "sodium",
        "white_cell_count",
        "creatinine",
    )
    return _fetch(SUPPORT, names, return_X_y, as_frame)


@overload
def fetch_gbsg(
    *, return_X_y: Literal[True] = ..., as_frame: bool = ...
) -> tuple[Any, NDArray[np.void]]: ...


@overload
def fetch_gbsg(*, return_X_y: Literal[False], as_frame: bool = ...) -> RealData: ...


def fetch_gbsg(
    *, return_X_y: bool = True, as_frame: bool = True
) -> tuple[Any, NDArray[np.void]] | RealData:
    """Survival of 2232 women with breast cancer, 43 % of them censored.

    The Rotterdam tumour bank joined to the 686 women of `load_gbsg2`, who come first; times are in
    months. The file stores no names of columns: those given here are inferred from the values. Two
    rows are copies of others; ``groups`` numbers them.

    Parameters
    ----------
    return_X_y, as_frame
        As in `load_gbsg2`.

    Returns
    -------
    X : DataFrame or ndarray of shape (2232, 7)
        Features, float64.
    y : structured array of shape (2232,)
        ``event``, True where it was observed, and ``time``.
    data : RealData
        Instead of both if `return_X_y` is False.

    Examples
    --------
    >>> from censquant.datasets import describe, fetch_gbsg
    >>> info = describe("gbsg")
    >>> info.n_samples, info.n_features
    (2232, 7)
    >>> X, y = fetch_gbsg()  # doctest: +SKIP
    """
    names = (
        "hormone_therapy",
        "size_or_grade",
        "menopause",
        "age",
        "positive_nodes",
        "progesterone_receptor",
        "oestrogen_receptor",
    )
    return _fetch(GBSG, names, return_X_y, as_frame)


def _fetch(
    info: DatasetInfo, feature_names: tuple[str, ...], return_X_y: bool, as_frame: bool
) -> tuple[Any, NDArray[np.void]] | RealData:
    """Read the one file of a set."""
    try:
        import h5py
    except ImportError:
        raise ImportError(
            'Reading HDF5 files needs h5py; install it with: pip install "censquant[data]"'
        ) from None
    # The order of the program behind the published numbers, whose seeded splits depend on it.
    with h5py.File(locate(info.files[0]), "r") as file:
        X, time, event = (
            np.concatenate([file[part][column][:] for part in ("test", "train")])
            for column in ("x", "t", "e")
        )
    X = X.astype(np.float64)
    return hand_out(
        info,
        X,
        Surv.from_arrays(event=event, time=time),
        feature_names,
        groups=copies(X, time, event) if info.groups == COPIES else None,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


DEEPSURV = (
    CatalogueEntry(METABRIC, fetch_metabric),
    CatalogueEntry(WHAS, fetch_whas),
    CatalogueEntry(SUPPORT, fetch_support),
    CatalogueEntry(GBSG, fetch_gbsg),
)
"""Data sets of DeepSurv."""
