"""Real data that come with the package."""

from __future__ import annotations

import csv
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from censquant.datasets._info import CatalogueEntry, DatasetInfo, RealData, hand_out
from censquant.survival import Surv

GBSG2 = DatasetInfo(
    "gbsg2",
    "GBSG2",
    "bundled",
    686,
    8,
    387 / 686,
    "German Breast Cancer Study Group, trial 2 (Schumacher et al. 1994): recurrence-free "
    "survival in days of 686 women with node-positive breast cancer, 299 of them with a "
    "recurrence or death.",
    "Schumacher et al. (1994), Journal of Clinical Oncology 12, 2086-2093; the copy in "
    "lifelines 0.30.3",
    "MIT for the copy in lifelines",
)

_GBSG2_FEATURES = ("horTh", "age", "menostat", "tsize", "tgrade", "pnodes", "progrec", "estrec")

_GBSG2_CODES = {
    "horTh": {"no": 0.0, "yes": 1.0},
    "menostat": {"Pre": 0.0, "Post": 1.0},
    "tgrade": {"I": 1.0, "II": 2.0, "III": 3.0},
}


@overload
def load_gbsg2(
    *, return_X_y: Literal[True] = ..., as_frame: bool | Literal["auto"] = ...
) -> tuple[Any, NDArray[np.void]]: ...


@overload
def load_gbsg2(
    *, return_X_y: Literal[False], as_frame: bool | Literal["auto"] = ...
) -> RealData: ...


def load_gbsg2(
    *, return_X_y: bool = True, as_frame: bool | Literal["auto"] = "auto"
) -> tuple[Any, NDArray[np.void]] | RealData:
    """Recurrence-free survival of 686 women with breast cancer, 56 % of them censored.

    The second trial of the German Breast Cancer Study Group [1]_. Times are in days, up to 2659;
    the event is a recurrence or death. Follow-up ends while about a third are still free of it, so
    the highest quantiles of most women are not identified.

    All features are numbers and none is missing: ``horTh`` hormonal therapy (0 no, 1 yes), ``age``
    in years, ``menostat`` menopausal status (0 pre, 1 post), ``tsize`` tumour size in mm,
    ``tgrade`` tumour grade (1, 2, 3), ``pnodes`` number of positive nodes, ``progrec`` and
    ``estrec`` progesterone and oestrogen receptors in fmol.

    Parameters
    ----------
    return_X_y : bool
        Whether to return ``(X, y)`` only.
    as_frame : bool or "auto"
        Whether the features are a pandas DataFrame or an array with the same columns in the same
        order. "auto" gives a DataFrame if pandas is installed and an array otherwise; slices of
        rows, ``X[:500]``, work with both.

    Returns
    -------
    X : DataFrame or ndarray of shape (686, 8)
        Features, float64.
    y : structured array of shape (686,)
        ``event``, True where it was observed, and ``time``.
    data : RealData
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
    X = np.array([[_number(name, row[name]) for name in _GBSG2_FEATURES] for row in rows])
    y = Surv.from_arrays(
        event=np.array([row["cens"] == "1" for row in rows]),
        time=np.array([float(row["time"]) for row in rows]),
    )
    wanted = _wants_frame(as_frame)
    return hand_out(GBSG2, X, y, _GBSG2_FEATURES, return_X_y=return_X_y, as_frame=wanted)


def _wants_frame(as_frame: object) -> bool:
    """Whether to return a DataFrame, decided by what is installed where the caller left it open."""
    if isinstance(as_frame, str) and as_frame == "auto":
        return find_spec("pandas") is not None
    if not isinstance(as_frame, bool | np.bool_):
        raise TypeError(f"as_frame must be True, False or 'auto', got {as_frame!r}.")
    return bool(as_frame)


def _number(name: str, text: str) -> float:
    """Value of a cell, by its code where the column holds words."""
    return _GBSG2_CODES[name][text] if name in _GBSG2_CODES else float(text)


BUNDLED = (CatalogueEntry(GBSG2, load_gbsg2),)
"""Real data sets inside the package."""
