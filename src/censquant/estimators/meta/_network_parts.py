"""The networks of a fitted pool, to be trained again where all rows are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from censquant._rows._features import dense
from censquant.estimators.meta._pool import Pool
from censquant.estimators.neural import NeuralRegressor, check_splittable

_LAST_SEED = 2**31


def encoded_features(pool: Pool, X: Any) -> NDArray[np.float64]:
    """Return rows of a table as the numbers that the candidates of a fitted pool learn from."""
    return np.asarray(dense(pool._read_features(X)), dtype=np.float64)


def untrained_networks(pool: Pool, rng: np.random.Generator) -> dict[str, NeuralRegressor]:
    """Return unfitted copies of the candidates that a pool uses and a cluster can train.

    They leave follow-up and warnings to the pool, as its own do.
    """
    copies = {}
    for name, models in pool.estimators_.items():
        seed = int(rng.integers(_LAST_SEED))
        if isinstance(models[0], NeuralRegressor) and _is_splittable(models[0]):
            copies[name] = clone(models[0]).set_params(random_state=seed)
            copies[name]._stands_alone = False
    return copies


def _is_splittable(model: NeuralRegressor) -> bool:
    try:
        check_splittable(model)
    except (TypeError, ValueError):
        return False
    return True
