"""Which columns of a matrix are independent of the ones before them."""

import numpy as np
from numpy.typing import NDArray

# A part of a column that earlier ones do not explain is rounding if smaller than this share.
_NOTHING_NEW = 1e-11


def independent_columns(matrix: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the positions of the columns that are no linear combination of columns before them.

    Of collinear columns the first are kept, so that the choice follows from the order of the names.
    """
    n, p = matrix.shape
    directions = np.empty((n, min(n, p)))
    kept: list[int] = []
    for column in range(p):
        if len(kept) == min(n, p):
            break
        size = np.abs(matrix[:, column]).max()
        if size == 0.0:
            continue
        rest = matrix[:, column] / size
        rest = rest / np.linalg.norm(rest)
        # Twice is enough: the second time removes what rounding left of the first.
        for _ in range(2):
            earlier = directions[:, : len(kept)]
            rest = rest - earlier @ (earlier.T @ rest)
        length = np.linalg.norm(rest)
        if length > _NOTHING_NEW:
            directions[:, len(kept)] = rest / length
            kept.append(column)
    return np.array(kept, dtype=np.intp)
