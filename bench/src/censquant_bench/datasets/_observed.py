"""Fully observed tables whose target stands in the place of a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant.datasets._info import (
    COPIES,
    CatalogueEntry,
    DataFile,
    DatasetInfo,
    RealData,
    copies,
    downloaded,
    fetcher,
    github_url,
    hand_out,
)
from censquant.datasets._store import locate
from censquant.survival import Surv

_UCI = "UCI Machine Learning Repository"
_UCI_LICENCE = "no terms in the files; see the page of the set at UCI"
_UCI_WINE = "https://archive.ics.uci.edu/ml/machine-learning-databases/wine-quality"

HOUSING = downloaded(
    "housing",
    "Housing",
    (20_640, 8),
    0.0,
    description="Median house values of 20640 Californian districts in 100,000 dollars, in "
    "the place of times. All are observed, though none is above 5.00001, where the census "
    "capped them.",
    source="Pace and Barry (1997), StatLib; the copy of we-b/datasets_for_ai on GitHub",
    licence="none stated",
    files=(
        DataFile(
            "housing/cal_housing.data",
            github_url(
                "we-b/datasets_for_ai",
                "51e00cd162ca602c528f114e7d55a0a36803832f",
                "cal_housing.data",
            ),
            "sha256:534365b6c3c9b07c2b7d88e0ff9f1b41725d8b799748f5c0b80e1067f51c8ab3",
            2_071_604,
        ),
    ),
)

PROTEIN = downloaded(
    "protein",
    "Protein",
    (45_730, 9),
    0.0,
    description="Deviation of predicted protein structures from the true ones (RMSD, 0 to 21 "
    "angstrom) in the place of times. 1711 of the 45730 rows are copies of others.",
    source=f"{_UCI}, Physicochemical Properties of Protein Tertiary Structure; the copy of "
    "stanfordmlgroup/ngboost on GitHub",
    licence=_UCI_LICENCE,
    files=(
        DataFile(
            "protein/CASP.csv",
            github_url(
                "stanfordmlgroup/ngboost",
                "9622ed9051edc1ce0906ca6e7e6e455b6bfeb55f",
                "data/uci/protein.csv",
            ),
            "sha256:4277cfcb4e91a181746cbc654f001b57951c9e6a80f4f795fdb5c807e0848f40",
            3_528_710,
        ),
    ),
    groups=COPIES,
)

WINE = downloaded(
    "wine",
    "Wine",
    (6497, 11),
    0.0,
    description="Quality of 6497 Portuguese wines, red ones first, whole grades from 3 to 9 "
    "in the place of times. 1179 rows are copies of others.",
    source=f"Cortez et al. (2009), {_UCI}, Wine Quality",
    licence=_UCI_LICENCE,
    files=(
        DataFile(
            "wine/winequality-red.csv",
            f"{_UCI_WINE}/winequality-red.csv",
            "sha256:4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
            84_199,
        ),
        DataFile(
            "wine/winequality-white.csv",
            f"{_UCI_WINE}/winequality-white.csv",
            "sha256:76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
            264_426,
        ),
    ),
    groups=COPIES,
)

_HOUSING_FEATURES = (
    "MedInc",
    "HouseAge",
    "AveRooms",
    "AveBedrms",
    "Population",
    "AveOccup",
    "Latitude",
    "Longitude",
)
_PROTEIN_FEATURES = tuple(f"F{number}" for number in range(1, 10))
_WINE_FEATURES = (
    "fixed acidity",
    "volatile acidity",
    "citric acid",
    "residual sugar",
    "chlorides",
    "free sulfur dioxide",
    "total sulfur dioxide",
    "density",
    "pH",
    "sulphates",
    "alcohol",
)


@fetcher
def fetch_housing(*, return_X_y: bool = True, as_frame: bool = True) -> Any:
    """Median house values of 20640 districts of California in 1990, all observed.

    The ``time`` of the target is a value in 100,000 dollars [1]_. Features and their order are
    those of scikit-learn's set of this name: ``AveRooms``, ``AveBedrms`` and ``AveOccup`` are means
    by household. Values above 5 were recorded as 5.00001, so the highest quantiles are those of the
    cap. `censquant.datasets.censor_uniform` puts censoring over it.

    Parameters
    ----------
    return_X_y, as_frame
        As in `censquant.datasets.load_gbsg2`.

    Returns
    -------
    X, y : DataFrame or ndarray of shape (20640, 8), and structured array of shape (20640,)
    data : RealData
        Instead of both if `return_X_y` is False.

    References
    ----------
    .. [1] R. K. Pace and R. Barry (1997). Sparse spatial autoregressions. *Statistics and
       Probability Letters* 33, 291-297.

    Examples
    --------
    >>> from censquant_bench.datasets import fetch_housing
    >>> X, y = fetch_housing()  # doctest: +SKIP
    """
    (table,) = _tables(HOUSING, ",")
    longitude, latitude, age, rooms, bedrooms, people, households, income, value = table.T
    X = np.column_stack(
        [
            income,
            age,
            rooms / households,
            bedrooms / households,
            people,
            people / households,
            latitude,
            longitude,
        ]
    )
    return _observed(HOUSING, X, value / 100_000.0, _HOUSING_FEATURES, return_X_y, as_frame)


@fetcher
def fetch_protein(*, return_X_y: bool = True, as_frame: bool = True) -> Any:
    """Deviations of 45730 predicted protein structures from the true ones, all observed.

    The ``time`` of the target is the root mean squared deviation, from 0 to 21 angstrom. Features
    F1 to F9 are physical and chemical properties of the structure. 1711 rows are copies of others;
    ``groups`` numbers them. `censquant.datasets.censor_uniform` puts censoring over it.

    Parameters
    ----------
    return_X_y, as_frame
        As in `censquant.datasets.load_gbsg2`.

    Returns
    -------
    X, y : DataFrame or ndarray of shape (45730, 9), and structured array of shape (45730,)
    data : RealData
        Instead of both if `return_X_y` is False.

    Examples
    --------
    >>> from censquant_bench.datasets import fetch_protein
    >>> X, y = fetch_protein()  # doctest: +SKIP
    """
    (table,) = _tables(PROTEIN, ",")
    return _observed(PROTEIN, table[:, 1:], table[:, 0], _PROTEIN_FEATURES, return_X_y, as_frame)


@fetcher
def fetch_wine(*, return_X_y: bool = True, as_frame: bool = True) -> Any:
    """Quality of 6497 Portuguese wines, all observed.

    The ``time`` of the target is a whole grade from 3 to 9 [1]_, so every quantile is tied with
    many rows. The 1599 red wines come first; the colour is no feature. 1179 rows are copies of
    others; ``groups`` numbers them. `censquant.datasets.censor_uniform` puts censoring over it.

    Parameters
    ----------
    return_X_y, as_frame
        As in `censquant.datasets.load_gbsg2`.

    Returns
    -------
    X, y : DataFrame or ndarray of shape (6497, 11), and structured array of shape (6497,)
    data : RealData
        Instead of both if `return_X_y` is False.

    References
    ----------
    .. [1] P. Cortez et al. (2009). Modeling wine preferences by data mining from physicochemical
       properties. *Decision Support Systems* 47, 547-553.

    Examples
    --------
    >>> from censquant_bench.datasets import fetch_wine
    >>> X, y = fetch_wine()  # doctest: +SKIP
    """
    table = np.concatenate(_tables(WINE, ";"))
    return _observed(WINE, table[:, :-1], table[:, -1], _WINE_FEATURES, return_X_y, as_frame)


def _tables(info: DatasetInfo, delimiter: str) -> list[NDArray[np.float64]]:
    """Numbers of each file of a set, below its line of headings."""
    return [
        np.loadtxt(locate(file), delimiter=delimiter, skiprows=1, ndmin=2) for file in info.files
    ]


def _observed(
    info: DatasetInfo,
    X: NDArray[np.float64],
    target: NDArray[np.float64],
    feature_names: tuple[str, ...],
    return_X_y: bool,
    as_frame: bool,
) -> tuple[Any, NDArray[np.void]] | RealData:
    return hand_out(
        info,
        X,
        Surv.from_arrays(event=np.ones(len(X), dtype=bool), time=target),
        feature_names,
        groups=copies(X, target) if info.groups == COPIES else None,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


OBSERVED = (
    CatalogueEntry(HOUSING, fetch_housing),
    CatalogueEntry(PROTEIN, fetch_protein),
    CatalogueEntry(WINE, fetch_wine),
)
"""Fully observed tables."""
