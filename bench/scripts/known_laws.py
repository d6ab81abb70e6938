"""How far levels are off where the law is known, under four kinds of censoring.

An error of 2 % means: the quantile that is said to be reached with a probability of 25 % is reached
with 23 or 27 %. Run it on two versions of the library with the same seeds to compare them::

    python bench/scripts/known_laws.py --seeds 0-9 --out bench/results
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

from censquant import CensoredQuantileRegressor, __version__

TAUS = np.array([0.1, 0.25, 0.5])
KINDS = ("calendar year", "healthier leave earlier", "sicker leave earlier", "independent")
SIZES = (600, 3_000)
_NEW_ROWS = 1_000


def features(n_rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return five measurements and the year of entry, as a share of the study's time."""
    X = pd.DataFrame(rng.standard_normal((n_rows, 5)), columns=list("abcde"))
    X["year"] = rng.random(n_rows)
    return X


def location_and_scale(X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of the logarithm of the time to event."""
    location = 0.5 * X["a"] - 0.4 * np.abs(X["b"]) + 0.3 * X["c"] * (X["d"] > 0) + 0.3 * X["year"]
    scale = 0.4 + 0.3 / (1.0 + np.exp(-X["b"]))
    return location.to_numpy(), scale.to_numpy()


def censoring_times(kind: str, X: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Return times at which follow-up ends; about half of the rows are censored."""
    location, _ = location_and_scale(X)
    if kind == "calendar year":
        return 2.2 * (1.0 - X["year"].to_numpy()) + 0.1
    slope = {"healthier leave earlier": -1.0, "sicker leave earlier": 2.0, "independent": 0.0}[kind]
    return np.exp(slope * location) * rng.exponential(1.6, len(X))


def level_error(kind: str, n_rows: int, seed: int) -> float:
    """Return the mean distance of levels from those that were asked for, in per cent."""
    rng = np.random.default_rng([seed, KINDS.index(kind), n_rows])
    X = features(n_rows, rng)
    location, scale = location_and_scale(X)
    time = np.exp(location + scale * rng.standard_normal(n_rows))
    end = censoring_times(kind, X, rng)
    model = CensoredQuantileRegressor(random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, (np.minimum(time, end), time <= end))
        new = features(_NEW_ROWS, rng)
        quantiles = model.predict_quantiles(new, TAUS)
    location, scale = location_and_scale(new)
    reached = norm.cdf((np.log(quantiles) - location[:, None]) / scale[:, None])
    return float(100.0 * np.abs(reached - TAUS).mean())


def main() -> None:
    """Print the table, and write it if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0-9", help="first and last seed")
    parser.add_argument("--out", type=Path, help="folder of known_laws.md")
    given = parser.parse_args()
    first, last = map(int, given.seeds.split("-"))
    rows = []
    for kind in KINDS:
        for n_rows in SIZES:
            began = time.process_time()
            errors = [level_error(kind, n_rows, seed) for seed in range(first, last + 1)]
            rows.append((kind, n_rows, errors, time.process_time() - began))
            print(kind, n_rows, np.round(errors, 2), flush=True)
    lines = [
        f"`python bench/scripts/known_laws.py --seeds {given.seeds} --out bench/results` "
        f"(censquant {__version__})",
        "",
        "| Censoring | Rows | Level error, % | Standard error | CPU s |",
        "|:--|--:|--:|--:|--:|",
    ]
    for kind, n_rows, errors, seconds in rows:
        error = np.std(errors, ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else np.nan
        lines.append(
            f"| {kind} | {n_rows:,} | {np.mean(errors):.2f} | {error:.2f} | {seconds:.0f} |"
        )
    total = np.mean([np.mean(errors) for _, _, errors, _ in rows])
    lines += ["", f"Mean of all: {total:.3f} %. Levels {', '.join(map(str, TAUS))}."]
    print("\n".join(lines))
    if given.out:
        (given.out / "known_laws.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
