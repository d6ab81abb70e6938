"""Time per step of a plain torch loop: the yardstick for training times."""

import importlib.util
import math
from typing import Any

import numpy as np

from censquant.estimators import CQRNN, NeuralRegressor, ParametricRegressor, SequentialGridNN
from censquant_bench._train_test import TrainTestData


def plain_step_seconds(model: Any, data: TrainTestData) -> float:
    """Return the seconds per step that a plain torch loop takes for this fit on one core.

    Measured beside the fits themselves, so that a busy machine slows both. Not a number where
    torch is not installed or the model is not the paper's dense network.
    """
    if not _is_the_papers(model) or importlib.util.find_spec("torch") is None:
        return math.nan
    from censquant_bench import _plain_torch as plain

    taus = [float(tau) for tau in model.quantiles]
    far = 1.2 * float(data.y["time"].max())
    if isinstance(model, ParametricRegressor):
        n_outputs, loss = 2, plain.plain_lognormal()
    elif isinstance(model, SequentialGridNN):
        n_outputs, loss = 1, plain.plain_portnoy([0.5], far)
    elif isinstance(model, CQRNN):
        n_outputs, loss = len(taus), plain.plain_portnoy(taus, far)
    else:
        n_outputs, loss = len(taus), plain.plain_pinball(taus)
    numbers = data.X.astype(np.float32), data.y["time"].astype(np.float32)
    rows = (*numbers, np.ascontiguousarray(data.y["event"]))
    return plain.plain_step_seconds(rows, n_outputs, loss, activation=model.activation)


def _is_the_papers(model: Any) -> bool:
    return (
        isinstance(model, NeuralRegressor)
        and model.network is None
        and model.quantiles is not None
        and tuple(np.atleast_1d(model.hidden_layer_sizes)) == (100, 100)
        and model.activation in ("relu", "gelu")
        and model.batch_size == 128
    )
