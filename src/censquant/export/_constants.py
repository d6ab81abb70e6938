"""Constants of a graph in the narrowest type that holds them exactly."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_INTEGERS = (np.uint8, np.uint16, np.int32)


def narrowed(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of the same values that takes the least room.

    Weights of networks and thresholds of forests have single precision, and most integers are
    small: files and pages become half as large.
    """
    if array.dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            single = array.astype(np.float32)
        return single if np.array_equal(single.astype(np.float64), array) else array
    if array.dtype.kind in "iu" and array.size:
        low, high = array.min(), array.max()
        for kind in _INTEGERS:
            if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
                return array.astype(kind)
    return array
