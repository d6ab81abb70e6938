"""Errors of predicted incidences where the truth is known, beside other libraries' models.

    python bench/scripts/competing_risks.py [--seeds 3] [--methods censquant,aalen-johansen,...]

Three laws of 1,000 or 2,000 rows with four features: two and three kinds with Weibull hazards that
features move, and a law whose subdistribution hazard of the first kind is proportional (Fine and
Gray). For each law and method it prints, for the first kind on 500 new rows: the integrated squared
error of the incidence times 1,000, the mean error in per cent, and processor seconds of fit and
prediction, means over seeds. Methods of hazardous and comprisk run where these are installed
(`pip install --no-deps hazardous comprisk`); "one kind alone" is 1 - S of a model to which other
kinds are censored.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant import CensoredQuantileRegressor, CompetingRisksRegressor
from censquant.survival import aalen_johansen

Floats = NDArray[np.float64]
LAWS = ("two kinds", "three kinds", "subdistribution")
N_NEW, N_TIMES, N_STEPS = 500, 50, 1_500
SHARE = 0.35  # of the first kind at the origin of the features, in the law of Fine and Gray


def hazards(x: Floats, law: str) -> list[tuple[float, Floats]]:
    """Return shape and scales of the Weibull hazard of each kind."""
    if law == "two kinds":
        first = np.exp(1 + 0.8 * np.sin(2 * x[:, 0]) - 0.4 * x[:, 1])
        return [(1.5, first), (1.0, np.exp(1.3 + 0.5 * x[:, 1] ** 2 + 0.3 * x[:, 2]))]
    return [
        (0.7, np.exp(2.2 + 0.7 * x[:, 0])),
        (1.5, np.exp(1.4 - 0.8 * np.abs(x[:, 0]) + 0.5 * x[:, 1])),
        (3.0, np.exp(1.6 + 0.4 * x[:, 2] * x[:, 0])),
    ]


def risk(x: Floats) -> Floats:
    """Return the logarithm of the subdistribution hazard ratio."""
    return np.asarray(1.2 * np.sin(2 * x[:, 0]) + 0.5 * x[:, 1])


def drawn(law: str, rng: np.random.Generator) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return features, times and kinds of rows, 0 where they are censored."""
    n = 2_000 if law == "three kinds" else 1_000
    x = rng.uniform(-1.5, 1.5, size=(n, 4))
    if law == "subdistribution":
        ratio = risk(x)
        most = 1 - (1 - SHARE) ** np.exp(ratio)
        is_first = rng.uniform(size=n) < most
        level = 1 - (1 - rng.uniform(size=n) * most) ** np.exp(-ratio)
        first = -np.log(1 - level / SHARE)
        times = np.where(is_first, first, rng.exponential(np.exp(0.3 * x[:, 2]), n))
        kind = np.where(is_first, 1, 2)
    else:
        every = [s * rng.exponential(size=n) ** (1 / a) for a, s in hazards(x, law)]
        times, kind = np.min(every, axis=0), np.argmin(every, axis=0) + 1
    mean = {"two kinds": 4.0, "subdistribution": 1.5}.get(law, 5.0 * np.exp(0.4 * x[:, 3]))
    end = rng.exponential(mean, n)
    return x, np.minimum(times, end), np.where(times <= end, kind, 0)


def truth(law: str, x: Floats, grid: Floats) -> Floats:
    """Return the incidence of the first kind at some times."""
    if law == "subdistribution":
        return np.asarray(1 - (1 - SHARE * -np.expm1(-grid)) ** np.exp(risk(x))[:, None])
    fine = np.union1d(np.linspace(0, grid[-1], N_STEPS), grid)
    every = np.stack([(fine / s[:, None]) ** a for a, s in hazards(x, law)])
    steps = np.diff(every, axis=2, prepend=0)
    lost = -np.diff(np.exp(-every.sum(axis=0)), axis=1, prepend=1)
    share = steps[0] / np.maximum(steps.sum(axis=0), 1e-15)
    return np.asarray(np.cumsum(lost * share, axis=1)[:, np.searchsorted(fine, grid)])


def by_censquant(x: Floats, y: Any, new: Floats, grid: Floats) -> Floats:
    """Return incidences by one recommended model for each kind."""
    model = CompetingRisksRegressor(random_state=0).fit(x, y)
    return model.predict_cumulative_incidence(new, grid, 1, beyond="extrapolate")


def by_one_kind(x: Floats, y: Any, new: Floats, grid: Floats) -> Floats:
    """Return 1 - S of a model to which other kinds are censored."""
    model = CensoredQuantileRegressor(random_state=0).fit(x, (y[0], y[1] == 1))
    return 1 - model.predict_survival_function(new, grid, True, beyond="extrapolate")


def by_aalen_johansen(x: Floats, y: Any, new: Floats, grid: Floats) -> Floats:
    """Return the same incidence for all rows."""
    return np.tile(aalen_johansen(*y)(grid)[0], (len(new), 1))


def by_comprisk(x: Floats, y: Any, new: Floats, grid: Floats) -> Floats:
    """Return incidences by a forest of competing risks."""
    from comprisk import CompetingRiskForest

    model = CompetingRiskForest(n_estimators=100, random_state=0).fit(x, *y)
    return np.asarray(model.predict_cif(new, times=grid))[:, 0]


def by_hazardous(x: Floats, y: Any, new: Floats, grid: Floats) -> Floats:
    """Return incidences by boosted trees."""
    import pandas as pd
    from hazardous import SurvivalBoost

    model = SurvivalBoost(show_progressbar=False, random_state=0, n_iter=100)
    model.fit(pd.DataFrame(x), pd.DataFrame({"event": y[1], "duration": y[0]}))
    return np.asarray(model.predict_cumulative_incidence(pd.DataFrame(new), times=grid))[:, 1]


METHODS: dict[str, Callable[[Floats, Any, Floats, Floats], Floats]] = {
    "censquant": by_censquant,
    "one kind alone": by_one_kind,
    "aalen-johansen": by_aalen_johansen,
    "comprisk": by_comprisk,
    "hazardous": by_hazardous,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--methods", default=",".join(METHODS))
    asked = parser.parse_args()
    print("| law | method | squared error x 1000 | mean error, % | CPU seconds |")
    print("|---|---|---|---|---|")
    warnings.simplefilter("ignore")
    for law in LAWS:
        for name in asked.methods.split(","):
            found = []
            for seed in range(asked.seeds):
                rng = np.random.default_rng([seed, 5])
                x, observed, kind = drawn(law, rng)
                new = rng.uniform(-1.5, 1.5, size=(N_NEW, 4))
                grid = np.quantile(observed, np.linspace(0.02, 0.95, N_TIMES))
                width = np.gradient(grid)
                start = time.process_time()
                try:
                    incidence = METHODS[name](x, (observed, kind), new, grid)
                except ImportError:
                    break
                spent = time.process_time() - start
                error = incidence - truth(law, new, grid)
                squared = float((error**2 @ width).mean() / width.sum())
                found.append((1_000 * squared, 100 * float(np.abs(error).mean()), spent))
            if found:
                cells = " | ".join(f"{value:.1f}" for value in np.mean(found, axis=0))
                print(f"| {law} | {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
