"""Whether calibration rows are like the rows that the model was trained on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._rows._features import dense
from censquant._typing import Floats

# A test of two samples needs no more rows than this.
MOST_COMPARED = 2_000


@dataclass(frozen=True)
class ShiftTest:
    """Comparison of the features of calibration rows with those of training rows.

    Parameters
    ----------
    p_value : float
        Of the feature that differs most, times the number of features.
    feature : str
        Its name.
    """

    p_value: float
    feature: str


def numbers_of(X: Any) -> NDArray[np.float64]:
    """Return rows as numbers that tell them apart: text and categories as codes."""
    if not hasattr(X, "columns"):
        array = dense(X) if hasattr(X, "toarray") else np.asarray(X)
        if array.dtype.kind in "biuf":
            return np.asarray(array, dtype=np.float64)
        table = np.asarray(array, dtype=object)
        columns = list(table.reshape(len(table), -1).T)
    else:
        columns = [np.asarray(X[name], dtype=object) for name in X.columns]
    return np.column_stack([_codes(column) for column in columns])


def _codes(column: NDArray[Any]) -> Floats:
    """Return numbers as they are, and anything else by the order of its text."""
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        text = np.array([str(value) for value in column])
        return np.unique(text, return_inverse=True)[1].astype(np.float64)


def shift_between(train: Floats, calibration: Floats, names: list[str]) -> ShiftTest | None:
    """Return the comparison of two samples, feature by feature; None if there is nothing to see.

    Every feature has a two-sample Kolmogorov-Smirnov test, corrected for their number.
    """
    from scipy.stats import ks_2samp

    if train.ndim != 2 or train.shape[1:] != calibration.shape[1:] or not len(calibration):
        return None
    p_values = []
    for old, new in zip(train.T, calibration.T, strict=True):
        old, new = old[np.isfinite(old)], new[np.isfinite(new)]
        enough = old.size and new.size
        p_values.append(float(ks_2samp(old, new, method="asymp").pvalue) if enough else 1.0)
    least = int(np.argmin(p_values))
    return ShiftTest(min(1.0, p_values[least] * len(p_values)), names[least])
