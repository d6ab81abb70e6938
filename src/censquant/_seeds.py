"""The source of all randomness."""

from typing import Any

import numpy as np

from censquant._validation import check_integer


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return the source of all randomness; the global generators are neither read nor moved."""
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    return np.random.SeedSequence(check_integer("random_state", random_state, minimum=0))
