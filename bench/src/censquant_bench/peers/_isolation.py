"""Global generators of random numbers, seeded for a peer and restored afterwards."""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def own_generators(seed: int) -> Iterator[None]:
    """Seed the global generators inside the block and restore the caller's afterwards.

    Several peers draw from a global generator however they are called: NGBoost's trees, hazardous'
    classifier, every torch network. Torch is included where it is loaded already; nothing here
    loads it. Threads that draw from the same generators meanwhile are not protected.
    """
    torch = sys.modules.get("torch")
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002
    network = None if torch is None else torch.default_generator.get_state()
    try:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        if torch is not None:
            torch.default_generator.manual_seed(seed)
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002
        if torch is not None:
            torch.default_generator.set_state(network)
