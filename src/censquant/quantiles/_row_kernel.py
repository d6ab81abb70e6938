"""Compiled sorting of short rows; a file of its own, since loading it loads numba."""

from typing import Any

from censquant._compile import compiled


@compiled
def sort_rows(values: Any) -> None:
    """Sort every row in place; fast where rows are in order or nearly so."""
    for i in range(values.shape[0]):
        for k in range(1, values.shape[1]):
            value = values[i, k]
            place = k
            while place > 0 and values[i, place - 1] > value:
                values[i, place] = values[i, place - 1]
                place -= 1
            values[i, place] = value
