"""What the benchmark looks at in a fitted estimator beyond its predictions."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant.estimators.neural._neural import NeuralRegressor


def unordered_quantiles(
    model: Any, X: NDArray[Any], taus: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return the networks' outputs at ``taus`` as they are, crossing and all; None without any."""
    if not isinstance(model, NeuralRegressor) or not np.array_equal(model.quantiles_, taus):
        return None
    levels = model.time_transform_.levels(model.quantiles_)
    x = model._feature_scale.apply(model._read_features(X))
    values = [model._objective.quantiles(network.predict(x), levels) for network in model._networks]
    times: NDArray[np.float64] = model.time_transform_.inverse(np.mean(values, axis=0))
    return times[:, ::-1] if model._left_censored else times


def n_parameters(model: Any) -> float:
    """Return the number of trained weights; not a number for models that are no networks."""
    if not isinstance(model, NeuralRegressor):
        return math.nan
    return float(sum(_sizes(model._networks)))


def _sizes(networks: Any) -> Iterator[int]:
    for network in networks:
        inner = getattr(network, "networks", None) or getattr(network, "network", None)
        if inner is not None:
            yield from _sizes(inner if isinstance(inner, list) else [inner])
        elif hasattr(network, "module"):
            yield sum(p.numel() for p in network.module.parameters() if p.requires_grad)
        else:
            yield network.parameters.size


def follow_up_seconds(model: Any) -> float:
    """Return what the model of follow-up took of a fit; every network of the package brings one."""
    if not isinstance(model, NeuralRegressor) or model._follow_up is None:
        return 0.0
    return float(model._follow_up.train_seconds)


def n_steps(model: Any, n_rows: int) -> float:
    """Return the number of optimiser steps of all members and levels."""
    if not isinstance(model, NeuralRegressor):
        return math.nan
    return float(len(model.history_) * math.ceil(n_rows / model.batch_size))
