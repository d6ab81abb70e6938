"""Calibrated levels, intervals and bounds where the truth is known, on real data, and their cost.

    python benchmarks/calibration_checks.py levels  [--runs 20]  # quantiles and intervals
    python benchmarks/calibration_checks.py robust  [--runs 20]  # wrong censoring or event model
    python benchmarks/calibration_checks.py groups  [--runs 20]  # two groups, two miscalibrations
    python benchmarks/calibration_checks.py elapsed [--runs 20]  # individuals who are of some age
    python benchmarks/calibration_checks.py real                 # needs CENSQUANT_DATA
    python benchmarks/calibration_checks.py cost    [--rounds 3]

The population of the first four has three features, a log-normal event whose spread depends on the
third, and exponential censoring that depends on the first. Shares of events are exact given the
features: no noise of drawn test events. Each command prints a Markdown table; "ok" is within 0.02
of what is promised.
"""

import argparse
import math
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from known_population import (
    KnownModel,
    MarginalModel,
    Population,
    features,
    in_second_group,
    lognormal_quantiles,
    share_by,
)
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold

from censquant import BoostedQuantileRegressor, ConformalSurvivalRegressor
from censquant.datasets import fetch_cmapss, load
from censquant.metrics import Coverage, coverage
from censquant.survival import Surv

Floats = NDArray[np.float64]

LEVELS = np.round(np.arange(1, 10) * 0.1, 1)
SHARES = (0.30, 0.60, 0.77)
CONFIDENCE, TOLERANCE = 0.9, 0.02
N_CALIBRATION, N_TEST = 2_000, 2_000
# A level is identified where that share of individuals is under observation at its quantile.
LEAST_FOLLOWED = 0.05
REAL = ("metabric", "support", "gbsg", "field_nafld1", "engines")


BASES: dict[str, KnownModel] = {
    "good": KnownModel(),
    "levels distorted": KnownModel(power=1.8),
    "too narrow": KnownModel(widening=0.5),
    "too wide": KnownModel(widening=2.0),
}


def calibrated(base: Any, population: Population, seed: int, **options: Any) -> Any:
    """Return a fitted model calibrated on fresh rows."""
    X, y = population.draw(N_CALIBRATION, np.random.default_rng([seed, 0]))
    model = ConformalSurvivalRegressor(base, cv="prefit", random_state=seed, **options)
    return model.conformalize(X, y)


def test_rows(seed: int) -> Floats:
    """Return features of new individuals."""
    return features(N_TEST, np.random.default_rng([seed, 1]))


# The checks


def check_levels(runs: int) -> None:
    """Print observed levels of recalibrated quantiles, and coverage of intervals."""
    lines = []
    for share in SHARES:
        population = Population.with_censored(share)
        known = population.followed(test_rows(0), LEVELS) >= LEAST_FOLLOWED
        for name, base in BASES.items():
            observed, before, inside, closed = [], [], [], []
            for seed in range(runs):
                X = test_rows(seed)
                model = calibrated(base, population, seed)
                before.append(share_by(base.predict_quantiles(X, LEVELS), X).mean(axis=0))
                observed.append(share_by(model.predict_quantiles(X, LEVELS), X).mean(axis=0))
                ends = np.asarray(model.predict_interval(X, coverage=0.8))
                finite = np.isfinite(ends[:, 1])
                closed.append(float(finite.mean()))
                if finite.any():
                    low, high = share_by(ends[finite], X[finite]).T
                    inside.append(float((high - low).mean()))
            after, raw = np.mean(observed, axis=0), np.mean(before, axis=0)
            worst = float(np.abs(after - LEVELS)[known].max())
            within = statistics.mean(inside) if inside else math.nan
            fine = worst <= TOLERANCE and (not inside or abs(within - 0.8) <= TOLERANCE)
            lines.append(
                [
                    f"{100 * share:.0f} %",
                    name,
                    f"{np.abs(raw - LEVELS)[known].max():.3f}",
                    f"{worst:.3f}",
                    f"{LEVELS[known][-1]:g}",
                    f"{within:.3f} ({100 * statistics.mean(closed):.0f} %)",
                    " ".join(f"{value:.3f}" for value in after),
                    verdict(fine),
                ]
            )
    print_table(
        "Censored,Base model,Worst level before,after,Identified up to,"
        "Interval 0.8 (with an upper end),"
        "Observed at 0.1 to 0.9,",
        lines,
    )


def check_robustness(runs: int) -> None:
    """Print coverage of lower bounds with a wrong censoring model, event model, or both."""
    # Early events are censored soonest, so that what ignores the features comes out too late.
    population = Population.with_censored(0.6, strength=-4.0)
    lines = []
    for event_name, base in (("right", KnownModel()), ("wrong", MarginalModel())):
        for censoring_name, censoring in (("right", None), ("wrong", "kaplan-meier")):
            for method in ("aipcw", "ipcw"):
                found = []
                for seed in range(runs):
                    X, y = population.draw(N_CALIBRATION, np.random.default_rng([seed, 2]))
                    options = {"method": method, "censoring_estimator": censoring}
                    model = calibrated(base.fit(X, y), population, seed, **options)
                    found.append(bound_coverage(model, test_rows(seed)))
                fine = abs(statistics.mean(found) - CONFIDENCE) <= TOLERANCE
                lines.append([event_name, censoring_name, method, mean_error(found), verdict(fine)])
    print_table("Event model,Censoring model,Method,Coverage,", lines)


def check_groups(runs: int) -> None:
    """Print coverage in two groups whose base model errs in opposite directions."""
    population = Population.with_censored(0.6)
    base = KnownModel(power=2.0, by_group=True)
    lines = []
    for name, by in (("one calibration", None), ("by group", in_second_group)):
        found: dict[bool, list[float]] = {False: [], True: []}
        for seed in range(runs):
            X = test_rows(seed)
            model = calibrated(base, population, seed, by=by)
            for group, values in found.items():
                values.append(bound_coverage(model, X[in_second_group(X) == group]))
        means = [statistics.mean(values) for values in found.values()]
        fine = all(abs(mean - CONFIDENCE) <= TOLERANCE for mean in means)
        lines.append([name, *(mean_error(values) for values in found.values()), verdict(fine)])
    print_table("Calibration,First group,Second group,", lines)


def check_elapsed(runs: int) -> None:
    """Print coverage among those who reached an age, and how much life beyond it is promised."""
    population = Population.with_censored(0.6)
    lines = []
    for base_name, base in BASES.items():
        models = [calibrated(base, population, seed) for seed in range(runs)]
        for age in (0.0, 2.0, 5.0):
            covered, promised = [], []
            for seed, model in enumerate(models):
                X = test_rows(seed)
                alive = 1 - share_by(np.full((len(X), 1), age), X)
                bound = model.predict_lower_bound(X, confidence=CONFIDENCE, elapsed=age)[:, None]
                covered.append(float((1 - share_by(bound, X)).sum() / alive.sum()))
                oracle = lognormal_quantiles(X, 1 - CONFIDENCE * alive)
                promised.append(
                    float(((bound - age) * alive).sum() / ((oracle - age) * alive).sum())
                )
            fine = statistics.mean(covered) >= CONFIDENCE - TOLERANCE
            shown = mean_error(covered), f"{statistics.mean(promised):.2f}"
            lines.append([base_name, f"{age:g}", *shown, verdict(fine)])
    print_table("Base model,Age,Coverage among the living,Promised life / oracle's,", lines)


def bound_coverage(model: Any, X: Floats) -> float:
    """Return the true coverage of lower bounds."""
    bound = model.predict_lower_bound(X, confidence=CONFIDENCE)
    return float(1 - share_by(bound[:, None], X).mean())


def check_real() -> None:
    """Print estimated coverage of out-of-fold lower bounds, before and after calibration."""
    lines = []
    for name in REAL:
        X, y, groups, truth = engines() if name == "engines" else real_rows(name)
        split: Sequence[tuple[Any, Any]] = (
            list(GroupKFold(5).split(X, groups=groups))
            if groups is not None
            else list(KFold(5, shuffle=True, random_state=0).split(X))
        )
        before, after = np.zeros(len(X)), np.zeros(len(X))
        for train, test in split:
            base = BoostedQuantileRegressor(random_state=0)
            extra = {} if groups is None else {"groups": groups[train]}
            model = ConformalSurvivalRegressor(base, random_state=0)
            model.fit(X[train], y[train], **extra)
            after[test] = model.predict_lower_bound(X[test], confidence=CONFIDENCE)
            own = base.fit(X[train], y[train]).predict_quantiles(X[test], [1 - CONFIDENCE])
            before[test] = np.maximum(own[:, 0], 0.0)
        shown = [interval(estimated(y, bound)) for bound in (before, after)]
        mean = [f"{bound.mean():.3g}" for bound in (before, after)]
        censored = f"{100 * (1 - y['event'].mean()):.0f} %"
        true = (
            "–"
            if truth is None
            else f"{(truth >= before).mean():.3f}, {(truth >= after).mean():.3f}"
        )
        lines.append([name, str(len(X)), censored, *shown, true, *mean])
    print_table("Data,Rows,Censored,Before,After,In truth,Mean bound before,after", lines)
    print("\nIntervals count each row as an individual, cycles of one engine too.")


def estimated(y: NDArray[np.void], bound: Floats) -> Coverage:
    """Return the estimated share of events at the bound or later."""
    # An event at the bound keeps the promise, while the metric's lower limit is not inside.
    return coverage(y, np.nextafter(bound, -np.inf), np.inf)


def real_rows(name: str) -> tuple[Floats, NDArray[np.void], None, None]:
    """Return features and targets of a set where times are positive; no groups and no truth."""
    data = load(name, return_X_y=False, as_frame=False)
    kept = data.target["time"] > 0
    return np.asarray(data.data, np.float64)[kept], data.target[kept], None, None


def engines() -> tuple[Floats, NDArray[np.void], NDArray[Any], Floats]:
    """Return every tenth cycle of engines whose record is cut at an age drawn for each.

    Beside features and targets: the engine of each row, and its true remaining life.
    """
    data = fetch_cmapss(return_X_y=False)
    engine, left = np.asarray(data.groups), data.target["time"]
    cycle = data.data["cycle"].to_numpy()
    numbers, place = np.unique(engine, return_inverse=True)
    end = np.random.default_rng(0).uniform(60, 360, size=len(numbers))[place]
    seen = np.minimum(left, end - cycle)
    kept = (seen > 0) & (cycle % 10 == 1)
    y = Surv.from_arrays(event=(left <= end - cycle)[kept], time=seen[kept])
    return data.data.to_numpy(np.float64)[kept], y, engine[kept], left[kept]


def check_cost(rounds: int) -> None:
    """Print what calibration costs, in turn with plain fits in one process."""
    population = Population.with_censored(0.6)
    X, y = population.draw(10_000, np.random.default_rng(0))
    fitted = BoostedQuantileRegressor(random_state=0).fit(X, y)

    def plain() -> None:
        BoostedQuantileRegressor(random_state=0).fit(X, y)

    def calibrate() -> None:
        ConformalSurvivalRegressor(fitted, cv="prefit", random_state=0).conformalize(X, y)

    def crossed() -> None:
        ConformalSurvivalRegressor(BoostedQuantileRegressor(random_state=0), random_state=0).fit(
            X, y
        )

    work: dict[str, Callable[[], None]] = {
        "plain fit": plain,
        "calibration of a fitted model": calibrate,
        "fit with cv=5": crossed,
    }
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for number in range(rounds + 1):
        for name, run in work.items():
            start = time.perf_counter()
            run()
            if number:  # the first round compiles
                seconds[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    reference = medians["plain fit"]
    lines = [
        [name, f"{median:.2f}", f"{median / reference:.1f}"] for name, median in medians.items()
    ]
    print_table("10 000 rows,Seconds,Plain fits", lines)


# Printing


def mean_error(values: Sequence[float]) -> str:
    """Return mean and standard error as text."""
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{statistics.mean(values):.3f} ± {error:.3f}"


def interval(one: Coverage) -> str:
    """Return an estimate with its interval as text."""
    return f"{one.estimate:.3f} ({one.confidence_low:.3f} to {one.confidence_high:.3f})"


def verdict(fine: bool) -> str:
    """Return whether a line is within tolerance."""
    return "ok" if fine else "off"


def print_table(columns: str, lines: Sequence[Sequence[str]]) -> None:
    """Print Markdown."""
    names = columns.split(",")
    for line in (names, ["---"] * len(names), *lines):
        print("| " + " | ".join(line) + " |")


def main() -> None:
    """Run one of the checks."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("check", choices=("levels", "robust", "groups", "elapsed", "real", "cost"))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    # What censoring hides is the subject here; the tables say it.
    warnings.simplefilter("ignore")
    checks: dict[str, Callable[[], None]] = {
        "levels": lambda: check_levels(options.runs),
        "robust": lambda: check_robustness(options.runs),
        "groups": lambda: check_groups(options.runs),
        "elapsed": lambda: check_elapsed(options.runs),
        "real": check_real,
        "cost": lambda: check_cost(options.rounds),
    }
    checks[options.check]()


if __name__ == "__main__":
    main()
