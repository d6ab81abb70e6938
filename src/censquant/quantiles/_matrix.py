"""Matrices of predicted quantiles: read as floats, and refused where no distribution fits them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def read_matrix(values: ArrayLike) -> NDArray[np.float64]:
    """Return finite predictions as a float matrix, or raise one sentence that says why not."""
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"values must have shape (n_samples, n_levels), got {matrix.shape}.")
    finite = np.isfinite(matrix)
    if not finite.all():
        rows = ~finite.all(axis=1)
        raise ValueError(
            f"values must be finite, got NaN or infinity in {rows.sum()} of {len(matrix)} rows, "
            f"first in row {int(np.argmax(rows))}."
        )
    return matrix


def crossed(values: NDArray[np.float64]) -> bool:
    """Whether some row decreases somewhere."""
    return bool(np.any(values[:, 1:] < values[:, :-1]))


def sorted_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows in increasing order; the array itself where all of them already are.

    Sorting is the rearrangement of crossed quantiles: it never moves them away from the true ones.
    """
    if not crossed(values):
        return values
    from censquant.quantiles._row_kernels import sort_rows

    result = values.copy()
    sort_rows(result)
    return result


def starts_below(values: NDArray[np.float64], lower: float) -> bool:
    """Whether some row of a matrix in order begins below the smallest possible time."""
    return values.size > 0 and bool(values[:, 0].min() < lower)


def require_distribution(values: NDArray[np.float64], n_levels: int, lower: float) -> None:
    """Raise one sentence unless each row holds `n_levels` quantiles in order and above `lower`."""
    if values.shape[1] != n_levels:
        raise ValueError(
            f"values must have one column for each of the {n_levels} taus, "
            f"got {values.shape[1]} columns."
        )
    if not lower < np.inf:
        raise ValueError(f"lower must be a number or minus infinity, got {lower}.")
    if crossed(values):
        row = int(np.argmax(np.any(values[:, 1:] < values[:, :-1], axis=1)))
        raise ValueError(
            f"values must not decrease along a row, but row {row} does; "
            "use QuantileCurve.from_predictions to sort them."
        )
    if starts_below(values, lower):
        raise ValueError(
            f"values must not be below lower={lower}, got a minimum of {values[:, 0].min()}; "
            "use QuantileCurve.from_predictions to clip them."
        )
