"""Every system of the paper's section on related work that is at hand, on two synthetic sets.

Norm linear has quantiles that are linear in its feature, Norm non-linear has not. Errors are mean
squared distances to the true 0.1, 0.5 and 0.9 quantiles over three runs of the benchmark's samples;
estimators have their defaults and nine levels.

    python bench/scripts/related_work.py > bench/results/related_work.md
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from versions import versions

from censquant import (
    CQRNN,
    AsymmetricLaplaceNN,
    CoxQuantileRegressor,
    DeepQuantReg,
    LinearQuantileRegressor,
    LogNormalNN,
    SequentialGridNN,
    UncensoredOnlyNN,
    WeibullNN,
    datasets,
)
from censquant_bench.peers import make_peer

NINE = np.arange(1, 10) / 10
LEVELS = (0.1, 0.5, 0.9)
N_RUNS = 3
SETS = {"Norm linear": datasets.make_norm_linear, "Norm non-linear": datasets.make_norm_nonlinear}
BETTER = {"level_rule": "interpolate", "y_star": None}

Make = Callable[..., Any]

SYSTEMS: dict[str, tuple[Make, bool]] = {
    "Cox": (lambda random_state: CoxQuantileRegressor(NINE), False),
    "DeepSurv": (partial(make_peer, "pycox_deepsurv"), False),
    "DeepHit": (partial(make_peer, "pycox_deephit"), False),
    "Weibull network": (partial(WeibullNN, NINE), False),
    "Log-normal network": (partial(LogNormalNN, NINE), False),
    "Log-normal network, CRPS": (partial(LogNormalNN, NINE, loss="crps"), False),
    "Log-normal network, X-CAL": (partial(LogNormalNN, NINE, calibration_penalty=3.0), False),
    "Asymmetric Laplace network": (partial(AsymmetricLaplaceNN, NINE), False),
    "Events only": (partial(UncensoredOnlyNN, NINE), False),
    "DeepQuantReg": (partial(DeepQuantReg, NINE), False),
    "Sequential grid": (partial(SequentialGridNN, NINE), False),
    "CQRNN, as published": (partial(CQRNN, NINE), False),
    "CQRNN, interpolated": (partial(CQRNN, NINE, **BETTER), False),
    "CQRNN, increasing head": (partial(CQRNN, NINE, **BETTER, head="increasing"), False),
    "CQRNN, Powell's loss": (partial(CQRNN, NINE), True),
    "CQRNN, Tobit-type likelihood": (partial(CQRNN, NINE, known_censoring_loss="tobit"), True),
    "Portnoy": (partial(LinearQuantileRegressor, NINE), False),
    "Peng and Huang": (partial(LinearQuantileRegressor, NINE, method="peng-huang"), False),
    "Wang and Wang": (partial(LinearQuantileRegressor, NINE, method="wang-wang"), False),
    "Data augmentation": (
        partial(LinearQuantileRegressor, NINE, method="data-augmentation"),
        False,
    ),
    "Powell": (partial(LinearQuantileRegressor, NINE, method="powell"), True),
    "Powell by Fitzenberger": (partial(LinearQuantileRegressor, NINE, method="fitzenberger"), True),
}


def error(make: Make, known: bool, draw: Callable[..., Any], seed: int) -> float:
    """Return the mean squared error of one run."""
    train, test = draw(500, random_state=seed), draw(1000, random_state=1000 + seed)
    model = make(random_state=seed)
    times = {"censoring_time": train.censoring_time} if known else {}
    model.fit(train.X, train.y, **times)
    beyond = {"beyond": "extrapolate"} if hasattr(model, "predict_curve") else {}
    predicted = model.predict_quantiles(test.X, LEVELS, **beyond)
    return float(np.mean((predicted - test.true_quantiles(LEVELS)) ** 2))


def main() -> None:
    """Print one row per system."""
    print(f"`python bench/scripts/related_work.py` ({versions()})\n")
    print(f"| system | {' | '.join(SETS)} |\n|:--|{'--:|' * len(SETS)}")
    for name, (make, known) in SYSTEMS.items():
        cells = []
        for draw in SETS.values():
            found = np.array([error(make, known, draw, seed) for seed in range(N_RUNS)])
            cells.append(f"{found.mean():.3f} ± {found.std(ddof=1) / np.sqrt(N_RUNS):.3f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
