"""Linear methods against known truth, and two searches of Powell's loss against each other.

`recovery` simulates linear quantiles under random censoring and reports bias, standard deviation
and standard error of each method's median coefficients, all methods on the same draws. `powell`
compares the objective that the two searches reach on random data sets, and on small ones with that
of all fits through as many rows as there are coefficients, among which the minimum is.

    python bench/scripts/linear_methods.py recovery > bench/results/linear_recovery.md
    python bench/scripts/linear_methods.py powell > bench/results/powell_searches.md
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from itertools import combinations

import numpy as np
from versions import versions

from censquant import LinearQuantileRegressor
from censquant.estimators.linear._powell import (
    edge_descent,
    powell_loss,
    powell_path,
    repeated_regressions,
)
from censquant.exceptions import IdentifiabilityWarning

N_SIMULATIONS, N_ROWS = 200, 200
UNIFORM_SPREAD = np.sqrt(1 / 12)

Draw = tuple[np.ndarray, np.ndarray, np.ndarray]


def authors_design(rng: np.random.Generator, last: float) -> Draw:
    """Draw from the design in Wang and Wang's program, censored uniformly on (0, last)."""
    x = rng.uniform(size=N_ROWS)
    return x[:, None], 3 + 5 * x + rng.normal(size=N_ROWS), rng.uniform(0, last, N_ROWS)


def bent_design(rng: np.random.Generator) -> Draw:
    """Draw times whose median is linear, and no level below it."""
    x = rng.uniform(size=N_ROWS)
    time_ = 3 + 5 * x + (0.2 + 8 * (x - 0.5) ** 2) * rng.normal(size=N_ROWS)
    return x[:, None], time_, rng.uniform(0, 14, N_ROWS)


def two_features(rng: np.random.Generator) -> Draw:
    """Draw times that are linear at all levels, with censoring that depends on a feature."""
    x = rng.uniform(size=(N_ROWS, 2))
    time_ = 1 + x[:, 0] + x[:, 1] + (0.5 + 0.5 * x[:, 1]) * rng.normal(size=N_ROWS)
    return x, time_, rng.uniform(0, 4 + 2 * x[:, 0])


DESIGNS: dict[str, tuple[Callable[[np.random.Generator], Draw], tuple[float, ...]]] = {
    "Wang and Wang's program, C on (0, 26)": (lambda rng: authors_design(rng, 26.0), (3, 5)),
    "the same, C on (0, 14)": (lambda rng: authors_design(rng, 14.0), (3, 5)),
    "linear at the median alone": (bent_design, (3, 5)),
    "two features": (two_features, (1, 1, 1)),
}
METHODS = {
    "Portnoy": {},
    "Peng and Huang": {"method": "peng-huang"},
    "Wang and Wang, h = 0.05": {"method": "wang-wang", "bandwidth": 0.05 / UNIFORM_SPREAD},
    "Wang and Wang, chosen h": {"method": "wang-wang"},
    "Data augmentation": {"method": "data-augmentation", "n_bootstrap": 100},
}


def recovery() -> None:
    """Print bias and precision of the coefficients of the median."""
    print(
        "| design | events | method | bias | standard deviation | mean standard error | covered |"
    )
    print("|:--|--:|:--|--:|--:|--:|--:|")
    for title, (draw, truth) in DESIGNS.items():
        found: dict[str, list[np.ndarray]] = {name: [] for name in METHODS}
        errors: list[np.ndarray] = []
        covered: list[np.ndarray] = []
        events = []
        for seed in range(N_SIMULATIONS):
            X, event_time, end = draw(np.random.default_rng(seed))
            y = (np.minimum(event_time, end), event_time <= end)
            events.append(y[1].mean())
            for name, options in METHODS.items():
                model = LinearQuantileRegressor([0.5], random_state=seed, **options).fit(X, y)
                found[name].append(np.append(model.intercept_, model.coef_[0]))
                if model.standard_errors_ is not None:
                    errors.append(model.standard_errors_[0])
                    low, high = model.confidence_intervals_[0].T
                    covered.append((low <= truth) & (truth <= high))
        for name, values in found.items():
            bias, spread = np.mean(values, axis=0) - truth, np.std(values, axis=0, ddof=1)
            own = name == "Data augmentation"
            columns = (
                bias,
                spread,
                np.mean(errors, axis=0) if own else None,
                np.mean(covered, axis=0) if own else None,
            )
            print(
                f"| {title} | {np.mean(events):.0%} | {name} | {' | '.join(map(text, columns))} |"
            )


def text(values: np.ndarray | None) -> str:
    """Return numbers for a table."""
    return "–" if values is None else ", ".join(f"{value:.3f}" for value in values)


def powell() -> None:
    """Print how often each search reached the lower objective."""
    searches = {"repeated regressions": repeated_regressions, "Fitzenberger": edge_descent}
    levels = np.array([0.25, 0.5, 0.75])
    print(
        "| rows | coefficients | fits | Fitzenberger lower | equal | higher | global minimum: "
        "repeated regressions | Fitzenberger | seconds per fit: repeated regressions | "
        "Fitzenberger |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for place, (n, p) in enumerate(((30, 2), (100, 2), (200, 4))):
        counts, reached, spent = [0, 0, 0], [0, 0], [0.0, 0.0]
        for seed in range(place, 50, 3):
            X, y, limit = powell_data(np.random.default_rng(seed), n, p, seed % 2 == 1)
            ones, losses = np.ones(n), []
            for number, descent in enumerate(searches.values()):
                begun = time.perf_counter()
                path = powell_path(
                    X, y, limit, levels, ones, np.random.default_rng(0), None, descent
                )
                spent[number] += time.perf_counter() - begun
                pairs = zip(path.coefficients, path.taus.tolist(), strict=True)
                losses.append([powell_loss(X, y, limit, b, tau, ones) for b, tau in pairs])
            for level, (old, new) in enumerate(zip(*losses, strict=False)):
                counts[0 if new < old - 1e-9 else 2 if new > old + 1e-9 else 1] += 1
                if n == 30:
                    best = global_minimum(X, y, limit, float(levels[level]))
                    reached[0] += old < best + 1e-9
                    reached[1] += new < best + 1e-9
        fits = sum(counts)
        known = " | ".join(f"{r} of {fits}" for r in reached) if n == 30 else "– | –"
        took = " | ".join(f"{s / fits:.3f}" for s in spent)
        print(f"| {n} | {p} | {fits} | {' | '.join(map(str, counts))} | {known} | {took} |")


def powell_data(rng: np.random.Generator, n: int, p: int, varies: bool) -> Draw:
    """Return design, times and known censoring times, one for all or different ones."""
    X = np.column_stack((np.ones(n), rng.normal(size=(n, p - 1))))
    event_time = X @ np.append(0.25, 0.5 * rng.normal(size=p - 1)) + 0.5 * rng.standard_t(3, size=n)
    limit = rng.uniform(-0.5, 1.5, n) if varies else np.full(n, 0.5)
    return X, np.minimum(event_time, limit), limit


def global_minimum(X: np.ndarray, y: np.ndarray, limit: np.ndarray, tau: float) -> float:
    """Return the lowest of Powell's losses of all fits through as many rows as coefficients."""
    ones = np.ones(len(y))
    return min(
        powell_loss(X, y, limit, np.linalg.solve(X[list(rows)], y[list(rows)]), tau, ones)
        for rows in combinations(range(len(y)), X.shape[1])
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("recovery", "powell"))
    what = parser.parse_args().what
    warnings.simplefilter("ignore", IdentifiabilityWarning)
    print(f"`python bench/scripts/linear_methods.py {what}` ({versions()})\n")
    {"recovery": recovery, "powell": powell}[what]()
    sys.stdout.flush()
