"""Real data that come with the package."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from censquant.survival import Surv

_GBSG2_FEATURES = ("horTh", "age", "menostat", "tsize", "tgrade", "pnodes", "progrec", "estrec")

_GBSG2_CODES = {
    "horTh": {"no": 0.0, "yes": 1.0},
    "menostat": {"Pre": 0.0, "Post": 1.0},
    "tgrade": {"I": 1.0, "II": 2.0, "III": 3.0},
}

_GBSG2_DESCRIPTION = (
    "German Breast Cancer Study Group, trial 2 (Schumacher et al. 1994): recurrence-free survival "
    "in days of 686 women with node-positive breast cancer, 299 of them with a recurrence or death."
)


@dataclass(frozen=True, eq=False)
class BundledData:
    """A real data set with its names and a description.

    Parameters
    ----------
    data : DataFrame or ndarray of shape (n_samples, n_features)
        Features as numbers.
    target : structured array of shape (n_samples,)
        ``event`` and ``time``.
    feature_names : tuple of str
        Names of the columns of `data`.
    description : str
        What was measured, and by whom.

    Examples
    --------
    >>> from censquant.datasets import load_gbsg2
    >>> load_gbsg2(return_X_y=False, as_frame=False).feature_names[:3]
    ('horTh', 'age', 'menostat')
    """

    data: Any
    target: NDArray[np.void]
    feature_names: tuple[str, ...]
    description: str


@overload
def load_gbsg2(
    *, return_X_y: Literal[True] = ..., as_frame: bool = ...
) -> tuple[Any, NDArray[np.void]]: ...


@overload
def load_gbsg2(*, return_X_y: Literal[False], as_frame: bool = ...) -> BundledData: ...


def load_gbsg2(
    *, return_X_y: bool = True, as_frame: bool = True
) -> tuple[Any, NDArray[np.void]] | BundledData:
    """Recurrence-free survival of 686 women with breast cancer, 56 % of them censored.

    The second trial of the German Breast Cancer Study Group [1]_. Times are in days, up to 2659;
    the event is a recurrence or death. Follow-up ends while about a third are still free of it, so
    the data cannot speak for the highest quantiles of most women.

    All features are numbers and none is missing: ``horTh`` hormonal therapy (0 no, 1 yes), ``age``
    in years, ``menostat`` menopausal status (0 pre, 1 post), ``tsize`` tumour size in mm,
    ``tgrade`` tumour grade (1, 2, 3), ``pnodes`` number of positive nodes, ``progrec`` and
    ``estrec`` progesterone and oestrogen receptors in fmol.

    Parameters
    ----------
    return_X_y : bool
        Whether to return ``(X, y)`` only.
    as_frame : bool
        Whether the features are a pandas DataFrame; with False they are an array, and pandas is
        not needed.

    Returns
    -------
    X : DataFrame or ndarray of shape (686, 8)
        Features, float64.
    y : structured array of shape (686,)
        ``event``, True where it was seen, and ``time``.
    data : BundledData
        Instead of both if `return_X_y` is False.

    References
    ----------
    .. [1] M. Schumacher et al. (1994). Randomized 2 x 2 trial evaluating hormonal treatment and the
       duration of chemotherapy in node-positive breast cancer patients. *Journal of Clinical
       Oncology* 12, 2086-2093.

    Examples
    --------
    >>> from censquant.datasets import load_gbsg2
    >>> X, y = load_gbsg2(as_frame=False)
    >>> X.shape, int(y["event"].sum())
    ((686, 8), 299)
    """
    resource = files("censquant.datasets") / "data" / "gbsg2.csv"
    rows = list(csv.DictReader(resource.read_text(encoding="utf-8").splitlines()))
    X: Any = np.array([[_number(name, row[name]) for name in _GBSG2_FEATURES] for row in rows])
    y = Surv.from_arrays(
        event=np.array([row["cens"] == "1" for row in rows]),
        time=np.array([float(row["time"]) for row in rows]),
    )
    if as_frame:
        X = _as_frame(X, _GBSG2_FEATURES)
    if return_X_y:
        return X, y
    return BundledData(X, y, _GBSG2_FEATURES, _GBSG2_DESCRIPTION)


def _number(name: str, text: str) -> float:
    """Value of a cell, by its code where the column is in words."""
    return _GBSG2_CODES[name][text] if name in _GBSG2_CODES else float(text)


def _as_frame(X: NDArray[np.float64], names: tuple[str, ...]) -> Any:
    """Features as a pandas DataFrame."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            "as_frame=True needs pandas; pass as_frame=False or install it with: "
            'pip install "censquant[pandas]"'
        ) from None
    return pd.DataFrame(X, columns=list(names))
