"""What the calibration penalty of the parametric networks buys, and what it costs.

Divisions of METABRIC and SUPPORT into 80 % and 20 %; log-normal times with the defaults, and with
a network as in the paper, without dropout and with little decay. Scores are those of the
held-out rows: D-calibration on deciles (times 100), the statistic of A-calibration over its degrees
of freedom (1 is perfect), minus the mean log-likelihood in model units, and concordance.
Differences are paired by division.

    CENSQUANT_DATA=... python bench/scripts/x_cal.py > bench/results/x_cal.md
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sklearn.model_selection import train_test_split
from versions import versions

from censquant import LogNormalNN
from censquant._engine.training._rows import Rows
from censquant.datasets import fetch_metabric, fetch_support
from censquant.metrics import a_calibration
from censquant.survival import read_target
from censquant_bench.metrics import censored_d_calibration

LEVELS = np.arange(1, 10) / 10
FINE = np.arange(1, 100) / 100
STRENGTHS = (0.0, 1.0, 10.0, 100.0)
SETS = {"METABRIC": fetch_metabric, "SUPPORT": fetch_support}
SETTINGS = {
    "LogNormalNN": (LogNormalNN, {}),
    "LogNormalNN, the paper's network": (
        LogNormalNN,
        {"activation": "relu", "dropout": 0.0, "weight_decay": 1e-4, "max_epochs": 20},
    ),
}


def scores(setting: str, strength: float, X: np.ndarray, y: np.ndarray, seed: int) -> list[float]:
    """Return the four scores of one division."""
    train, test = train_test_split(np.arange(len(X)), test_size=0.2, random_state=seed)
    family, options = SETTINGS[setting]
    model = family(calibration_penalty=strength, random_state=seed, **options)
    model.fit(X[train], y[train])
    held_out = read_target(y[test])
    deciles = model.predict_quantiles(X[test], LEVELS, beyond="extrapolate")
    fine = model.predict_quantiles(X[test], FINE, beyond="extrapolate")
    (trained,) = model.models_
    rows = Rows.from_arrays(
        X[test], time=trained.time_transform.forward(held_out.time), event=held_out.event
    )
    likelihood = replace(trained.objective, calibration=0.0)
    result = a_calibration(y[test], fine, FINE)
    return [
        censored_d_calibration(y[test], deciles, LEVELS),
        result.statistic / result.df,
        likelihood.validation_loss(trained.outputs(X[test]), rows),
        model.score(X[test], y[test]),
    ]


def main(names: Sequence[str], n_runs: int) -> None:
    """Print one row per set, family and strength."""
    print(f"`python {' '.join(sys.argv)}` ({versions()})\n")
    print("| set | family | strength | D-calibration | A-calibration | − log-lik. | concordance |")
    print("|:--|:--|--:|--:|--:|--:|--:|")
    for title in names:
        X, y = SETS[title](return_X_y=True, as_frame=False)
        positive = y["time"] > 0
        X, y = X[positive], y[positive]
        for setting in SETTINGS:
            plain = None
            for strength in STRENGTHS:
                found = np.array([scores(setting, strength, X, y, seed) for seed in range(n_runs)])
                plain = found if plain is None else plain
                cells = " | ".join(map(cell, found.T, (found - plain).T))
                print(f"| {title} | {setting} | {strength:g} | {cells} |", flush=True)


def cell(values: np.ndarray, differences: np.ndarray) -> str:
    """Return a mean, and the mean difference to no penalty with its standard error."""
    text = f"{values.mean():.3f}"
    if differences.any():
        error = differences.std(ddof=1) / np.sqrt(len(differences))
        text += f" ({differences.mean():+.3f} ± {error:.3f})"
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--runs", type=int, default=10)
    chosen = parser.parse_args()
    main(chosen.datasets, chosen.runs)
