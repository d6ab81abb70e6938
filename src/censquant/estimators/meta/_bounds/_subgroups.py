"""Subgroups within which bounds are calibrated."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from censquant._frames import unmasked

By = str | int | Callable[[Any], Any] | None


def subgroup_labels(by: By, X: Any) -> NDArray[Any]:
    """Return the label of every row: one for all where there are no subgroups."""
    n_rows = _num_samples(X)
    if by is None:
        return np.zeros(n_rows, dtype=np.int64)
    labels = np.asarray(_read(by, X))
    if labels.shape != (n_rows,):
        raise ValueError(
            f"by must give one label for each of the {n_rows} rows of X, got shape {labels.shape}."
        )
    if labels.dtype.kind in "OU":
        labels = labels.astype(str)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(
            f"by must give no missing labels, got {int(np.isnan(labels).sum())} of {n_rows}."
        )
    return labels


def _read(by: Any, X: Any) -> Any:
    if callable(by):
        return by(X)
    columns = getattr(X, "columns", None)
    if isinstance(by, str):
        if columns is None or by not in list(columns):
            has = "no names of columns" if columns is None else f"the columns {list(columns)}"
            raise ValueError(
                f"by must be a column of X, a place or a callable, got {by!r}: X has {has}."
            )
        return X[by]
    if isinstance(by, bool) or not isinstance(by, int):
        raise TypeError(f"by must be a column of X, its place or a callable, got {by!r}.")
    table = X if columns is None else X[list(columns)[by]]
    return np.asarray(unmasked(X))[:, by] if columns is None else table
