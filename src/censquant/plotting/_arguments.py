"""Arguments of the figures, read as arrays or refused in one sentence."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


def read_observed(y: object, n_rows: int, *, name: str) -> Target:
    """Return the times of the rows drawn, in any form that `read_target` takes."""
    target = read_target(y)
    if len(target) != n_rows:
        raise ValueError(f"y must have one row for each of {name}, got {len(target)} and {n_rows}.")
    return target
