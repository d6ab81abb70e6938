"""Survival data in the form that DeepSurv gave them: HDF5 files with nothing but numbers."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from censquant.datasets._info import COPIES, REAL
from censquant.datasets._real import RealData, copies, hand_out
from censquant.datasets._store import locate
from censquant.survival import Surv

_FEATURES = {
    "metabric": (
        "gene_1",
        "gene_2",
        "gene_3",
        "gene_4",
        "hormone_treatment",
        "radiotherapy",
        "chemotherapy",
        "er_positive",
        "age",
    ),
    "whas": ("x0", "age", "x2", "bmi", "x4", "x5"),
    "support": (
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
    ),
    "gbsg": (
        "hormone_therapy",
        "size_or_grade",
        "menopause",
        "age",
        "positive_nodes",
        "progesterone_receptor",
        "oestrogen_receptor",
    ),
}


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
    of the genes MKI67, EGFR, PGR and ERBB2 is ``gene_1`` cannot be told. The rows of DeepSurv's
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
        ``event``, True where it was seen, and ``time``.
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
    return _fetch("metabric", return_X_y, as_frame)


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

    Times are in days. The file stores no names of columns: ``age`` and ``bmi`` are told by their
    ranges, the four others hold 0 and 1. **Only 735 rows are distinct**; the others are exact
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
        ``event``, True where it was seen, and ``time``.
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
    return _fetch("whas", return_X_y, as_frame)


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
        ``event``, True where it was seen, and ``time``.
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
    return _fetch("support", return_X_y, as_frame)


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
        ``event``, True where it was seen, and ``time``.
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
    return _fetch("gbsg", return_X_y, as_frame)


def _fetch(name: str, return_X_y: bool, as_frame: bool) -> tuple[Any, NDArray[np.void]] | RealData:
    """Read the one file of a set."""
    info = REAL[name]
    try:
        import h5py
    except ImportError:
        raise ImportError(
            'Reading HDF5 files needs h5py; install it with: pip install "censquant[data]"'
        ) from None
    # The order of the program behind the published numbers, whose seeded splits depend on it.
    with h5py.File(locate(info.files[0].path), "r") as file:
        X, time, event = (
            np.concatenate([file[part][column][:] for part in ("test", "train")])
            for column in ("x", "t", "e")
        )
    X = X.astype(np.float64)
    return hand_out(
        name,
        X,
        Surv.from_arrays(event=event, time=time),
        _FEATURES[name],
        groups=copies(X, time, event) if info.groups == COPIES else None,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )
