"""Arguments of the figures, read as arrays or refused in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.adapters._predictions import (
    adapted_curve,
    final_model,
    is_left_censored,
    is_supported,
)
from censquant.quantiles._grid import DEFAULT_QUANTILES, check_quantiles
from censquant.survival import Target, read_target


def read_quantiles(
    values: ArrayLike, shape: tuple[int | None, int], *, name: str
) -> NDArray[np.float64]:
    """Return quantiles with one column per level; None stands for any number of rows."""
    matrix = np.asarray(values, dtype=np.float64)
    n_rows, n_levels = shape
    fits = matrix.ndim == 2 and matrix.shape[1] == n_levels and n_rows in (None, len(matrix))
    if not fits:
        rows = "n" if n_rows is None else n_rows
        raise ValueError(
            f"{name} must have shape ({rows}, {n_levels}), with one column for each of taus, "
            f"got {matrix.shape}."
        )
    return matrix


def read_predictions(
    predicted: Any, X: Any, taus: ArrayLike | None, *, name: str, n_rows: int | None = None
) -> tuple[Floats, Floats, Floats | None]:
    """Return quantiles, given or predicted, their levels, and the reach where a model says it."""
    if is_supported(predicted):
        if X is None:
            raise ValueError(f"X must be given where {name} is a fitted model, got None.")
        curve, reach = adapted_curve(predicted, X, read_levels(predicted, taus))
        return curve.values, curve.taus, None if is_left_censored(predicted) else reach
    if taus is None:
        raise ValueError(
            f"taus must be given where {name} is an array, one level for each column, got None."
        )
    levels = check_quantiles(taus, name="taus")
    return read_quantiles(predicted, (n_rows, len(levels)), name=name), levels, None


def read_levels(model: Any, taus: ArrayLike | None) -> Floats:
    """Return the levels given, by default those that a model was fitted to."""
    if taus is None:
        taus = getattr(final_model(model, None)[0], "quantiles_", DEFAULT_QUANTILES)
    return check_quantiles(taus, name="taus")


def read_observed(y: object, n_rows: int, *, name: str) -> Target:
    """Return the times of the rows drawn, in any form that `read_target` takes."""
    target = read_target(y)
    if len(target) != n_rows:
        raise ValueError(f"y must have one row for each of {name}, got {len(target)} and {n_rows}.")
    return target


def read_labels(labels: Sequence[str] | None, X: Any, n_rows: int, *, name: str) -> list[str]:
    """Return one name per row: those given, the index of a frame, or numbers from 1."""
    if labels is None:
        if hasattr(X, "iloc") and hasattr(X, "index"):
            return [str(label) for label in X.index]
        return [str(row) for row in range(1, n_rows + 1)]
    if len(labels) != n_rows:
        raise ValueError(
            f"labels must have one name for each row of {name}, got {len(labels)} for {n_rows}."
        )
    return [str(label) for label in labels]
