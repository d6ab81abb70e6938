"""Calibrated levels, intervals and bounds where the truth is known, on real data, and their cost.

    python bench/scripts/calibration_checks.py levels  [--runs 20]  # quantiles and intervals
    python bench/scripts/calibration_checks.py robust  [--runs 20]  # wrong censoring or event model
    python bench/scripts/calibration_checks.py groups  [--runs 20]  # groups, miscalibrated apart
    python bench/scripts/calibration_checks.py elapsed [--runs 20]  # individuals of some age
    python bench/scripts/calibration_checks.py risk    [--runs 4]   # those at the highest risk
    python bench/scripts/calibration_checks.py agree   [--runs 100] # contradictions, in random data
    python bench/scripts/calibration_checks.py real                 # needs CENSQUANT_DATA
    python bench/scripts/calibration_checks.py cost    [--rounds 3]

The population of the first four has three features, a log-normal event whose spread depends on the
third, and exponential censoring that depends on the first. Shares of events are exact given the
features: no noise of drawn test events. Each command prints a Markdown table; "ok" is within 0.02
of what is promised. "risk" and "agree" have data with a short follow-up, with which most bounds
end: simulated ones, and flchain, aids and gbsg2 as scikit-survival ships them.
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
    ShortFollowUp,
    features,
    in_second_group,
    lognormal_quantiles,
    share_by,
)
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold

from censquant import (
    BoostedQuantileRegressor,
    ConformalSurvivalRegressor,
    CoxQuantileRegressor,
)
from censquant._calibration._methods import METHODS
from censquant.datasets import fetch_cmapss, load
from censquant.metrics import Coverage, coverage
from censquant.survival import Surv, censoring_kaplan_meier
from censquant_bench.coverage import BOUND_SETTINGS

Floats = NDArray[np.float64]

LEVELS = np.round(np.arange(1, 10) * 0.1, 1)
SHARES = (0.30, 0.60, 0.77)
CONFIDENCE, TOLERANCE = 0.9, 0.02
N_CALIBRATION, N_TEST = 2_000, 2_000
# A level is identified where that share of individuals is under observation at its quantile.
LEAST_FOLLOWED = 0.05
CONFIDENCES = (0.5, 0.7, 0.8, 0.9)
AGREEING = (0.4, 0.5, 0.63, 0.7, 0.8, 0.9, 0.95, 0.99)
SHORT = ("admin", "hetero", "lowdep")
# Training rows of studies whose follow-up is short for most.
FOLLOWED = {"flchain": 984, "aids": 800, "gbsg2": 500}
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


def check_risk(runs: int) -> None:
    """Print coverage of all new rows, of those at risk, and of bounds that are not limited.

    It is exact for simulated rows and else estimated by weights for censoring; those at risk are
    the fifth of the rows whose predicted quantile of level 0.25 is earliest.
    """
    lines = []
    for name in (*SHORT, *FOLLOWED):
        scores: dict[float, list[list[float]]] = {confidence: [] for confidence in CONFIDENCES}
        for seed in range(runs):
            model, X, missed = at_risk(name, seed)
            early = model.predict_curve(X).at([0.25])[:, 0]
            riskiest = np.argsort(early, kind="stable")[: len(X) // 5]
            for confidence, found in scores.items():
                bounds = model.predict_lower_bound(X, confidence, output="frame")
                kept = 1 - missed(bounds["bound"].to_numpy())
                limited = bounds["limited"].to_numpy()
                others = kept[~limited].mean() if not limited.all() else math.nan
                found.append([kept.mean(), kept[riskiest].mean(), others, limited.mean()])
        for confidence, found in scores.items():
            means = np.nanmean(found, axis=0) if runs else np.full(4, math.nan)
            fine = means[1] >= confidence - 0.03
            shown = [f"{value:.3f}" for value in means[:3]]
            lines.append(
                [name, f"{confidence:g}", *shown, f"{100 * means[3]:.0f} %", verdict(fine)]
            )
    print_table("Data,Confidence,All,Fifth at highest risk,Not limited,Limited,", lines)


def at_risk(name: str, seed: int) -> tuple[Any, Any, Callable[[Floats], Floats]]:
    """Return a calibrated model, unseen rows, and what each contributes to the share missed."""
    rng = np.random.default_rng([seed, *name.encode()])
    if name in SHORT:
        law = ShortFollowUp(name)
        X, y = law.draw(1_500, rng)
        base = BoostedQuantileRegressor(random_state=seed)
        model = ConformalSurvivalRegressor(base, random_state=seed).fit(X, y)
        new = law.draw(4_000, rng)[0]
        return model, new, lambda bound: law.share_by(bound[:, None], new)[:, 0]
    frame, y = followed(name)
    is_train = np.zeros(len(frame), dtype=bool)
    is_train[rng.permutation(len(frame))[: FOLLOWED[name]]] = True
    model = ConformalSurvivalRegressor(random_state=seed).fit(frame[is_train], y[is_train])
    rest = y[~is_train]
    weight = rest["event"] / np.maximum(
        censoring_kaplan_meier(rest["time"], rest["event"])(rest["time"], side="left"), 0.02
    )
    return model, frame[~is_train], lambda bound: weight * (rest["time"] < bound)


def followed(name: str) -> tuple[Any, NDArray[np.void]]:
    """Return features and targets of a study in which most were followed to its end."""
    from sksurv import datasets

    frame, given = getattr(datasets, f"load_{name}")()
    event, time_name = given.dtype.names
    y = Surv.from_arrays(event=given[event], time=np.maximum(given[time_name], 0.5))
    # The chapter is the cause of death, which only those have who died.
    return frame.drop(columns="chapter", errors="ignore"), y


def check_agreement(runs: int) -> None:
    """Print how many rows have answers that contradict each other, which must be none."""
    lines = []
    for name, setting in BOUND_SETTINGS.items():
        sample = setting.sample(setting.n_train, random_state=0)
        base = BoostedQuantileRegressor(random_state=0)
        model = ConformalSurvivalRegressor(base, random_state=0).fit(sample.X, sample.y)
        X = setting.sample(setting.n_test, random_state=1).X
        lines.append([name, str(len(X)), *contradictions(model, X)])
    for name in FOLLOWED:
        model, X, _ = at_risk(name, 0)
        lines.append([name, str(len(X)), *contradictions(model, X)])
    total, n_rows = np.zeros(3, dtype=int), 0
    for seed in range(runs):
        model, X = random_model(seed)
        total += [int(number) for number in contradictions(model, X)]
        n_rows += len(X)
    lines.append([f"{runs} random sets", str(n_rows), *map(str, total)])
    print_table(
        "Data,Rows,Bounds against bounds,Bounds against quantiles,Intervals reversed", lines
    )


def random_model(seed: int) -> tuple[Any, Floats]:
    """Return a calibrated model of random data, by one of the methods in turn, and new rows."""
    rng = np.random.default_rng([seed, 9])
    n, k = int(rng.integers(150, 600)), int(rng.integers(1, 6))
    X = rng.normal(size=(n + 200, k))
    risk = X @ rng.normal(size=k) * rng.uniform(0, 1.5)
    event = np.exp(rng.uniform(0, 5) - risk) * rng.weibull(rng.uniform(0.6, 4), n + 200)
    end = np.quantile(event, rng.uniform(0.2, 0.95)) * rng.uniform(0.3, 1, n + 200)
    if seed % 3 == 1:
        end *= np.exp(rng.uniform(-0.5, 0.5) * risk)
    if seed % 4 == 2:  # tied times
        event, end = np.ceil(event), np.ceil(end)
    time, observed = np.minimum(event, end)[:n], (event <= end)[:n]
    method = list(METHODS)[seed % len(METHODS)]
    if METHODS[method].refuses_censoring:
        observed[:] = True
    base = CoxQuantileRegressor() if seed % 2 else BoostedQuantileRegressor(random_state=seed)
    model = ConformalSurvivalRegressor(base, method, random_state=seed)
    return model.fit(X[:n], (time, observed), censoring_time=np.maximum(end[:n], time)), X[n:]


def contradictions(model: Any, X: Any) -> list[str]:
    """Return numbers of rows with a contradiction of three kinds, at the start and at an age."""
    curve, levels = model.predict_curve(X), np.array(AGREEING)
    pairs = [(i, j) for i, a in enumerate(levels) for j, b in enumerate(levels) if a + b > 1]
    low, high = (list(places) for places in zip(*pairs, strict=True))
    found = np.zeros(3, dtype=int)
    for elapsed in (None, float(np.median(curve.at([0.2])))):
        lower, upper = (
            np.column_stack([ask(X, one, elapsed=elapsed) for one in AGREEING])
            for ask in (model.predict_lower_bound, model.predict_upper_bound)
        )
        below, above = (
            curve.at(asked) if elapsed is None else elapsed + curve.remaining(elapsed, asked)
            for asked in ((1 - levels).round(12), levels)
        )
        ends = [model.predict_interval(X, one, elapsed=elapsed) for one in (0.1, 0.5, 0.8)]
        found += [
            np.count_nonzero((lower[:, low] > upper[:, high]).any(axis=1)),
            np.count_nonzero(((lower > below) | (upper < above)).any(axis=1)),
            np.count_nonzero(np.any([one[:, 0] > one[:, 1] for one in ends], axis=0)),
        ]
    return [str(number) for number in found]


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
    names = ("levels", "robust", "groups", "elapsed", "risk", "agree", "real", "cost")
    parser.add_argument("check", choices=names)
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
        "risk": lambda: check_risk(options.runs),
        "agree": lambda: check_agreement(options.runs),
        "real": check_real,
        "cost": lambda: check_cost(options.rounds),
    }
    checks[options.check]()


if __name__ == "__main__":
    main()
