"""Fits and predictions that need all kernels which the main estimators need.

The command ``censquant warm-up`` runs them before an image of a container is shipped, and the build
of a wheel, whose files of machine code are what this compiled (``hatch_build.py``). Which kernels
there are, and for which types, is therefore written down nowhere.
"""

import os
import time
import warnings
from typing import Any, NamedTuple

from censquant._compile import account
from censquant._progress import Bar
from censquant.datasets import load_gbsg2
from censquant.estimators import (
    CQRNN,
    BoostedQuantileRegressor,
    CensoredQuantileForest,
    CensoredQuantileRegressor,
    ConformalSurvivalRegressor,
    CoxQuantileRegressor,
    LinearQuantileRegressor,
    ShapeNN,
    WeibullNN,
)
from censquant.metrics import evaluate
from censquant.survival import Surv

_LEVELS = (0.1, 0.5, 0.9)


class WarmUp(NamedTuple):
    """What was done: kernels compiled and loaded, seconds, and the folder of what was compiled."""

    n_compiled: int
    n_loaded: int
    seconds: float
    folder: str | None


def warm_up() -> WarmUp:
    """Compile, or load, what the main estimators need; show a bar meanwhile."""
    models = _models()
    begin = time.perf_counter()
    n_compiled, n_loaded = account.n_compiled, account.n_loaded
    with Bar("warm-up", len(models), unit="estimators") as bar, warnings.catch_warnings():
        # The models are for nothing but their kernels: that they are bad ones is of no interest.
        warnings.simplefilter("ignore")
        for model in models:
            _use(model)
            bar.advance(1)
    return WarmUp(
        account.n_compiled - n_compiled,
        account.n_loaded - n_loaded,
        time.perf_counter() - begin,
        os.path.commonpath(account.folders) if account.folders else None,
    )


def _models() -> list[Any]:
    return [
        CensoredQuantileRegressor(random_state=0),
        ConformalSurvivalRegressor(CoxQuantileRegressor(), random_state=0),
        BoostedQuantileRegressor(random_state=0),
        CensoredQuantileForest(n_estimators=4, random_state=0),
        LinearQuantileRegressor(_LEVELS),
        CQRNN(max_epochs=1, random_state=0),
        WeibullNN(max_epochs=1, random_state=0),
        ShapeNN(max_steps=2, random_state=0),
    ]


def _use(model: Any) -> None:
    """Fit a model to bundled data and ask it what kernels answer."""
    X, y = load_gbsg2(as_frame=False)
    model.fit(X, y)
    model.predict_quantiles(X, _LEVELS)
    model.predict_remaining(X, 365.0, _LEVELS)
    model.predict_survival_function(X, times=[365.0, 1825.0])
    evaluate(model, y, X, y, n_resamples=2)
    if "interval" in model._accepts and not isinstance(model, CensoredQuantileRegressor):
        model.fit(X, Surv.from_arrays(y["event"], y["time"], entry=y["time"] / 2))
