"""Whole numbers that only number rows."""

import numpy as np
from numpy.typing import NDArray

# Below it whole numbers may well be distinct by chance.
_FEWEST_ROWS = 20


def are_row_numbers(values: NDArray[np.float64]) -> bool:
    """Say whether whole numbers are distinct by design, as identifiers are.

    Among ``n`` values drawn from ``span`` whole numbers about ``n**2 / (2 * span)`` pairs are
    equal: where three or more are expected, no equal pair at all happens by chance in fewer than
    one of twenty columns.
    """
    n_rows = len(values)
    if n_rows < _FEWEST_ROWS or not (values == np.floor(values)).all():
        return False
    with np.errstate(over="ignore"):
        span = values.max() - values.min()
    if not n_rows - 1 <= span < n_rows * (n_rows - 1) / 6.0:
        return False
    return bool((np.diff(np.sort(values)) > 0).all())
