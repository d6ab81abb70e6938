"""The generator that a ``random_state`` means."""

from __future__ import annotations

import operator

import numpy as np

RandomState = int | np.random.Generator | np.random.RandomState | None


def generator(random_state: RandomState) -> np.random.Generator | np.random.RandomState:
    """Return the generator meant by the argument."""
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    try:
        seed = operator.index(random_state)
    except TypeError:
        raise TypeError(
            "random_state must be None, an integer, a numpy Generator or a numpy RandomState, "
            f"got {random_state!r}."
        ) from None
    if seed < 0:
        raise ValueError(f"random_state must not be negative, got {seed}.")
    return np.random.default_rng(seed)
