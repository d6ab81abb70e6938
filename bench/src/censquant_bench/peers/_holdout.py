"""Rows held out of a fit."""

import numpy as np
from numpy.typing import NDArray

_SHARE = 5


def held_out(event: NDArray[np.bool_], seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of the rows to train on, and of the fifth held out: a fifth of the events too."""
    order = np.random.default_rng(seed).permutation(event.size)
    order = order[np.argsort(event[order], kind="stable")]
    # Counted from the middle of a five, so that the last, an event, stays with the training rows.
    out = np.arange(event.size) % _SHARE == _SHARE // 2
    return order[~out], order[out]
