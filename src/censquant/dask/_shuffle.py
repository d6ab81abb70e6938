"""A random order of rows of which any part can be computed by itself."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant._compile import compiled

_FEWEST_BITS = 1
_ROUNDS = 4


@compiled
def _permuted(first: Any, n_rows: Any, half: Any, key: Any, out: Any) -> None:
    mask = (np.uint64(1) << half) - np.uint64(1)
    for i in range(out.size):
        value = first + np.uint64(i)
        while True:
            left, right = value >> half, value & mask
            for stage in range(_ROUNDS):
                word = (right + key) ^ (np.uint64(stage) * np.uint64(0x9E3779B97F4A7C15))
                word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                word ^= word >> np.uint64(31)
                left, right = right, left ^ (word & mask)
            value = (left << half) | right
            if value < n_rows:
                break
        out[i] = value


def shuffled(start: int, stop: int, n_rows: int, key: int) -> NDArray[np.intp]:
    """Return the rows at the places ``start`` to ``stop`` of a random order of ``n_rows`` rows.

    A task trains on one part of an order and must give the same result wherever it runs, and the
    part before it may have run elsewhere: no generator is carried on, and an order of all rows is
    never made. A Feistel network with four stages permutes the numbers of the next even power of 2;
    those beyond the last row are permuted again until they are rows.
    """
    out = np.empty(stop - start, dtype=np.intp)
    half = max(_FEWEST_BITS, -(-max(n_rows - 1, 1).bit_length() // 2))
    _permuted(np.uint64(start), np.uint64(n_rows), np.uint64(half), np.uint64(key % 2**64), out)
    return out
