"""Fully observed tables whose target stands in the place of a time."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from censquant.datasets._info import COPIES, REAL
from censquant.datasets._real import RealData, copies, hand_out
from censquant.datasets._store import locate
from censquant.survival import Surv

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


@overload
def fetch_housing(
    *, return_X_y: Literal[True] = ..., as_frame: bool = ...
) -> tuple[Any, NDArray[np.void]]: ...


@overload
def fetch_housing(*, return_X_y: Literal[False], as_frame: bool = ...) -> RealData: ...


def fetch_housing(
    *, return_X_y: bool = True, as_frame: bool = True
) -> tuple[Any, NDArray[np.void]] | RealData:
    """Median house values of 20640 districts of California in 1990, all observed.

    The ``time`` of the target is a value in 100,000 dollars [1]_. Features and their order are
    those of scikit-learn's set of this name: ``AveRooms``, ``AveBedrms`` and ``AveOccup`` are means
    by household. Values above 5 were recorded as 5.00001, so the highest quantiles are those of the
    cap. `censor_uniform` puts censoring over it.

    Parameters
    ----------
    return_X_y, as_frame
        As in `load_gbsg2`.

    Returns
    -------
    X : DataFrame or ndarray of shape (20640, 8)
        Features, float64.
    y : structured array of shape (20640,)
        ``event``, True where it was seen, and ``time``.
    data : RealData
        Instead of both if `return_X_y` is False.

    References
    ----------
    .. [1] R. K. Pace and R. Barry (1997). Sparse spatial autoregressions. *Statistics and
       Probability Letters* 33, 291-297.

    Examples
    --------
    >>> from censquant.datasets import describe, fetch_housing
    >>> info = describe("housing")
    >>> info.n_samples, info.n_features
    (20640, 8)
    >>> X, y = fetch_housing()  # doctest: +SKIP
    """
    (table,) = _tables("housing", ",")
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
    return _observed("housing", X, value / 100_000.0, _HOUSING_FEATURES, return_X_y, as_frame)


@overload
def fetch_protein(
    *, return_X_y: Literal[True] = ..., as_frame: bool = ...
) -> tuple[Any, NDArray[np.void]]: ...


@overload
def fetch_protein(*, return_X_y: Literal[False], as_frame: bool = ...) -> RealData: ...


def fetch_protein(
    *, return_X_y: bool = True, as_frame: bool = True
) -> tuple[Any, NDArray[np.void]] | RealData:
    """Deviations of 45730 predicted protein structures from the true ones, all observed.

    The ``time`` of the target is the root mean squared deviation, from 0 to 21 angstrom. Features
    F1 to F9 are physical and chemical properties of the structure. 1711 rows are copies of others;
    ``groups`` numbers them. `censor_uniform` puts censoring over it.

    Parameters
    ----------
    return_X_y, as_frame
        As in `load_gbsg2`.

    Returns
    -------
    X : DataFrame or ndarray of shape (45730, 9)
        Features, float64.
    y : structured array of shape (45730,)
        ``event``, True where it was seen, and ``time``.
    data : RealData
        Instead of both if `return_X_y` is False.

    Examples
    --------
    >>> from censquant.datasets import describe, fetch_protein
    >>> info = describe("protein")
    >>> info.n_samples, info.n_features
    (45730, 9)
    >>> X, y = fetch_protein()  # doctest: +SKIP
    """
    (table,) = _tables("protein", ",")
    return _observed("protein", table[:, 1:], table[:, 0], _PROTEIN_FEATURES, return_X_y, as_frame)


@overload
def fetch_wine(
    *, return_X_y: Literal[True] = ..., as_frame: bool = ...
) -> tuple[Any, NDArray[np.void]]: ...


@overload
def fetch_wine(*, return_X_y: Literal[False], as_frame: bool = ...) -> RealData: ...


def fetch_wine(
    *, return_X_y: bool = True, as_frame: bool = True
) -> tuple[Any, NDArray[np.void]] | RealData:
    """Quality of 6497 Portuguese wines, all observed.

    The ``time`` of the target is a whole grade from 3 to 9 [1]_, so every quantile is tied with
    many rows. The 1599 red wines come first; the colour is no feature. 1179 rows are copies of
    others; ``groups`` numbers them. `censor_uniform` puts censoring over it.

    Parameters
    ----------
    return_X_y, as_frame
        As in `load_gbsg2`.

    Returns
    -------
    X : DataFrame or ndarray of shape (6497, 11)
        Features, float64.
    y : structured array of shape (6497,)
        ``event``, True where it was seen, and ``time``.
    data : RealData
        Instead of both if `return_X_y` is False.

    References
    ----------
    .. [1] P. Cortez et al. (2009). Modeling wine preferences by data mining from physicochemical
       properties. *Decision Support Systems* 47, 547-553.

    Examples
    --------
    >>> from censquant.datasets import describe, fetch_wine
    >>> info = describe("wine")
    >>> info.n_samples, info.n_features
    (6497, 11)
    >>> X, y = fetch_wine()  # doctest: +SKIP
    """
    table = np.concatenate(_tables("wine", ";"))
    return _observed("wine", table[:, :-1], table[:, -1], _WINE_FEATURES, return_X_y, as_frame)


def _tables(name: str, delimiter: str) -> list[NDArray[np.float64]]:
    """Numbers of each file of a set, below its line of headings."""
    return [
        np.loadtxt(locate(file.path), delimiter=delimiter, skiprows=1, ndmin=2)
        for file in REAL[name].files
    ]


def _observed(
    name: str,
    X: NDArray[np.float64],
    target: NDArray[np.float64],
    feature_names: tuple[str, ...],
    return_X_y: bool,
    as_frame: bool,
) -> tuple[Any, NDArray[np.void]] | RealData:
    return hand_out(
        name,
        X,
        Surv.from_arrays(event=np.ones(len(X), dtype=bool), time=target),
        feature_names,
        groups=copies(X, target) if REAL[name].groups == COPIES else None,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )
