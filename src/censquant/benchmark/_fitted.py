"""What the benchmark looks at in a fitted estimator beyond its predictions."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant.estimators import NeuralRegressor


def unordered_quantiles(model: Any, X: NDArray[Any], taus: NDArray[np.float64]) -> Any:
    """Return the networks' outputs at ``taus`` as they are, crossing and all; None without any."""
    if not isinstance(model, NeuralRegressor) or not np.array_equal(model.quantiles_, taus):
        return None
    return model.raw_quantiles(X)


def n_parameters(model: Any) -> float:
    """Return the number of trained weights; not a number for models that are no networks."""
    if not isinstance(model, NeuralRegressor):
        return math.nan
    return float(sum(part.n_parameters for part in model.models_))


def follow_up_seconds(model: Any) -> float:
    """Return what the model of follow-up took of a fit."""
    return 0.0


def n_steps(model: Any, n_rows: int) -> float:
    """Return the number of optimiser steps of all members and levels."""
    if not isinstance(model, NeuralRegressor):
        return math.nan
    return float(len(model.history_) * math.ceil(n_rows / model.batch_size))
