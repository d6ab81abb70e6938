"""The only reader of ``random_state``: the global generators are neither read nor moved."""

from typing import Any

import numpy as np

from censquant._validation import check_integer

RandomState = int | np.random.Generator | np.random.RandomState | None
"""What a user may pass as ``random_state``."""


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return the source of all randomness of a fit; a generator is drawn from once."""
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    return np.random.SeedSequence(check_integer("random_state", random_state, minimum=0))


def generator(random_state: RandomState) -> np.random.Generator | np.random.RandomState:
    """Return the generator that is meant; one that is passed is used itself and moves on."""
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return random_state
    return np.random.default_rng(seed_sequence(random_state))
