"""Intervals of contrasts where the truth is known, beside a Cox model and unadjusted differences.

    python bench/scripts/contrasts.py robust [--runs 200]  # doubly robust: mean and risk
    python bench/scripts/contrasts.py median [--runs 25]   # medians by bootstrap
    python bench/scripts/contrasts.py trials               # two trials with published answers

Six populations of 1,000 rows with three features and log-normal times; the treatment depends on the
first feature. "robust" gives Cox's model, which is wrong for all of them, to
`inspection.contrast(method="doubly_robust")`, and compares with lifelines' Cox by g-computation
(fewer runs, no interval) and with the unadjusted difference of Kaplan-Meier estimates. "median"
fits one log-normal regression to each value of the treatment, 100 times for each interval. Each
command prints a Markdown table. Truth is the mean of a million draws.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant import AFTRegressor, BaseQuantileRegressor, CoxQuantileRegressor
from censquant.inspection import contrast
from censquant.quantiles import QuantileCurve
from censquant.survival import kaplan_meier

Floats = NDArray[np.float64]
Asked = tuple[tuple[str, float], ...]
"""Quantities, and the times at which they are compared."""

N_ROWS, N_TRUTH, CLUSTER = 1_000, 1_000_000, 5
N_LIFELINES, N_RESAMPLES = 20, 100
NORMAL = 1.959964


@dataclass(frozen=True)
class Design:
    """A population: who is treated, what the treatment does, and who is censored."""

    name: str
    treated: Callable[[Floats], Floats]  # logit of the chance, from features
    effect: Callable[[Floats], Floats]  # on the logarithm of the time
    spread: tuple[float, float]  # standard deviation of the logarithm, untreated and treated
    censoring: Callable[[Floats], Floats]  # mean of the exponential time
    horizon: float
    clustered: bool = False

    def features(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw features and what the rows of a cluster share; the first feature is shared too."""
        x = rng.normal(size=(n, 3))
        if not self.clustered:
            return x, np.zeros(n)
        cluster = np.arange(n) // CLUSTER
        x[:, 0] = rng.normal(size=n // CLUSTER)[cluster]
        return x, 0.4 * rng.normal(size=n // CLUSTER)[cluster]

    def times(self, x: Floats, shared: Floats, arm: Any, noise: Floats) -> Floats:
        """Return times with a value of the treatment."""
        log = 1.0 + 0.5 * x[:, 0] + 0.2 * x[:, 1] + shared
        spread = np.where(arm, self.spread[1], self.spread[0])
        return np.exp(log + np.where(arm, self.effect(x), 0.0) + spread * noise)

    def draw(self, seed: int) -> tuple[Floats, tuple[Floats, NDArray[np.bool_]], Any]:
        """Return features with the treatment first, the target, and the clusters."""
        rng = np.random.default_rng([seed, 7])
        x, shared = self.features(N_ROWS, rng)
        chance = 1.0 / (1.0 + np.exp(-self.treated(x)))
        uniform = rng.uniform(size=N_ROWS)
        groups = None
        if self.clustered:
            groups = np.arange(N_ROWS) // CLUSTER
            uniform = uniform[groups * CLUSTER]  # all rows of a cluster are treated, or none
        arm = uniform < chance
        life = self.times(x, shared, arm, rng.normal(size=N_ROWS))
        end = rng.exponential(self.censoring(x))
        return np.column_stack((arm, x)), (np.minimum(life, end), life <= end), groups

    def truth(self) -> dict[str, float]:
        """Return differences of the whole population."""
        rng = np.random.default_rng(12345)
        x, shared = self.features(N_TRUTH, rng)
        noise = rng.normal(size=N_TRUTH)
        untreated, treated = (self.times(x, shared, arm, noise) for arm in (False, True))
        half = self.horizon / 2
        return {
            "restricted_mean": float(
                np.minimum(treated, self.horizon).mean()
                - np.minimum(untreated, self.horizon).mean()
            ),
            "risk": float((treated <= half).mean() - (untreated <= half).mean()),
            "median": float(np.median(treated) - np.median(untreated)),
        }


DESIGNS = (
    Design("confounded", lambda x: 0.9 * x[:, 0], lambda x: 0.4 + 0 * x[:, 0], (0.5, 0.5),
           lambda x: 9.0 + 0 * x[:, 0], 6.0),
    Design("heterogeneous", lambda x: 0.7 * x[:, 0] - 0.4 * x[:, 1], lambda x: 0.3 + 0.4 * x[:, 1],
           (0.5, 0.5), lambda x: 9.0 * np.exp(0.5 * x[:, 0]), 6.0),
    Design("crossing hazards", lambda x: 0.8 * x[:, 0], lambda x: 0.1 + 0 * x[:, 0], (0.3, 0.9),
           lambda x: 9.0 * np.exp(0.4 * x[:, 0]), 6.0),
    Design("heavily censored", lambda x: 0.8 * x[:, 0], lambda x: 0.4 + 0 * x[:, 0], (0.5, 0.5),
           lambda x: 2.4 * np.exp(0.4 * x[:, 0]), 4.0),
    Design("clusters", lambda x: 0.8 * x[:, 0], lambda x: 0.4 + 0 * x[:, 0], (0.5, 0.5),
           lambda x: 9.0 * np.exp(0.4 * x[:, 0]), 6.0, clustered=True),
    Design("rare treatment", lambda x: 0.4 * x[:, 0] - 2.2, lambda x: 0.4 + 0 * x[:, 0], (0.5, 0.5),
           lambda x: 9.0 * np.exp(0.4 * x[:, 0]), 6.0),
)  # fmt: skip


class PerValue(BaseQuantileRegressor):
    """One log-normal regression for each value of the first feature: any effect, any spread."""

    def fit(self, X: Floats, y: Any) -> "PerValue":
        """Fit both regressions."""
        time, event = y
        self.models_ = []
        for value in (0, 1):
            own = X[:, 0] == value
            model = AFTRegressor(distribution="lognormal", penalty=0.0)
            self.models_.append(model.fit(X[own, 1:], (time[own], event[own])))
        self.follow_up_ = (float(time.min()), float(time.max()))
        return self

    def predict_curve(self, X: Floats) -> QuantileCurve:
        """Return the curve of each row by the regression of its own value."""
        treated, levels = X[:, 0] == 1, np.arange(1, 100) / 100
        curves = [model.predict_curve(X[:, 1:]).at(levels) for model in self.models_]
        return QuantileCurve(np.where(treated[:, None], curves[1], curves[0]), levels, lower=0.0)


def unadjusted(X: Floats, y: Any, what: str, at: float) -> tuple[float, float]:
    """Return the difference of Kaplan-Meier estimates, and its standard error."""
    found = []
    for value in (0, 1):
        own = X[:, 0] == value
        curve = kaplan_meier(y[0][own], y[1][own])
        times, alive = curve.time, curve.survival
        n_events, at_risk = curve.n_events, curve.n_at_risk
        used = times <= at
        left = np.maximum(at_risk - n_events, 1e-9)
        hazard = np.where(used, n_events / (at_risk * left), 0.0)
        if what == "risk":
            survived = alive[used][-1]
            found.append((1 - survived, survived**2 * hazard.sum()))
            continue
        ends = np.concatenate(([0.0], times[used], [at]))
        steps = np.concatenate(([1.0], alive[used]))
        areas = np.diff(ends) * steps
        after = areas[::-1].cumsum()[::-1][1:]
        found.append((areas.sum(), (after**2 * hazard[used]).sum()))
    (a, va), (b, vb) = found
    return b - a, float(np.sqrt(va + vb))


def cox_of_lifelines(X: Floats, y: Any, asked: Asked) -> list[float]:
    """Return differences by g-computation with lifelines' Cox model."""
    import pandas as pd
    from lifelines import CoxPHFitter

    table = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(time=y[0], event=y[1])
    model = CoxPHFitter().fit(table, "time", "event")
    rows = table[["a", "b", "c", "d"]]
    found = [
        contrast(model, rows, feature="a", to=1, from_=0, what=what, at=at) for what, at in asked
    ]
    return [one.rows[0].difference for one in found]


def print_row(*cells: str) -> None:
    """Print a line of a table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def robust(n_runs: int, names: Sequence[str]) -> None:
    """Print coverage of the doubly robust intervals, and the other estimates beside them."""
    print_row("design", "censored", "quantity", "truth", "doubly robust: mean (sd)", "mean se",
              "coverage of 95 %", "lifelines Cox: mean (sd)", "unadjusted: mean",
              "its coverage")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    for design in DESIGNS:
        if names and design.name not in names:
            continue
        asked: Asked = (("restricted_mean", design.horizon), ("risk", design.horizon / 2))
        truth = design.truth()
        exact = np.array([truth[what] for what, _ in asked])
        rows, plain, cox, censored = [], [], [], []
        for run in range(n_runs):
            X, y, groups = design.draw(run)
            censored.append(1 - y[1].mean())
            found = [
                contrast(
                    CoxQuantileRegressor(penalty=0.01), X, y, feature=0, to=1, from_=0, what=what,
                    at=at, method="doubly_robust", groups=groups, random_state=run,
                ).rows[0]
                for what, at in asked
            ]  # fmt: skip
            rows.append([(one.difference, (one.high - one.low) / 2 / NORMAL, one.low, one.high)
                         for one in found])  # fmt: skip
            plain.append([unadjusted(X, y, what, at) for what, at in asked])
            if run < N_LIFELINES:
                cox.append(cox_of_lifelines(X, y, asked))
        table, naive, theirs = np.array(rows), np.array(plain), np.array(cox)
        covered = (table[:, :, 2] <= exact) & (exact <= table[:, :, 3])
        naive_covered = np.abs(naive[:, :, 0] - exact) <= NORMAL * naive[:, :, 1]
        for k, (what, at) in enumerate(asked):
            print_row(
                design.name,
                f"{np.mean(censored):.0%}",
                f"{what.replace('_', ' ')} to {at:g}",
                f"{exact[k]:.3f}",
                f"{table[:, k, 0].mean():.3f} ({table[:, k, 0].std():.3f})",
                f"{table[:, k, 1].mean():.3f}",
                f"{covered[:, k].mean():.3f}",
                f"{theirs[:, k].mean():.3f} ({theirs[:, k].std():.3f})",
                f"{naive[:, k, 0].mean():.3f}",
                f"{naive_covered[:, k].mean():.2f}",
            )


def median(n_runs: int, names: Sequence[str]) -> None:
    """Print coverage of intervals of differences of medians by bootstrap."""
    print("| design | truth | mean (sd) | coverage of 95 % |")
    print("|---|---|---|---|")
    covered = []
    for design in DESIGNS:
        if names and design.name not in names:
            continue
        truth, rows = design.truth()["median"], []
        for run in range(n_runs):
            X, y, groups = design.draw(run)
            found = contrast(
                PerValue().fit(X, y), X, y, feature=0, to=1, from_=0, what="median", groups=groups,
                n_resamples=N_RESAMPLES, random_state=run,
            ).rows[0]  # fmt: skip
            rows.append((found.difference, found.low <= truth <= found.high))
        table = np.array(rows, float)
        covered.append(table[:, 1])
        estimates = f"{table[:, 0].mean():.3f} ({table[:, 0].std():.3f})"
        print_row(design.name, f"{truth:.3f}", estimates, f"{table[:, 1].mean():.3f}")
    together = np.concatenate(covered)
    print(f"| all, {len(together)} runs | | | {together.mean():.3f} |")


def trials() -> None:
    """Print doubly robust risks of two randomised trials beside their published results."""
    from lifelines.datasets import load_rossi
    from sksurv.datasets import load_aids

    X, target = load_aids()
    X = X.drop(columns="txgrp").astype(float)
    rossi = load_rossi()
    studies = (
        ("ACTG 320: AIDS or death by 48 weeks", X, (target["time"], target["censor"]), "tx", 336,
         "6 % and 11 %, hazard ratio 0.50 (0.33 to 0.76)"),
        ("Rossi: arrest within 52 weeks", rossi.drop(columns=["week", "arrest"]),
         (rossi["week"].to_numpy(float), rossi["arrest"].to_numpy(bool)), "fin", 52,
         "22.2 % and 30.6 %, all followed"),
    )  # fmt: skip
    print("| trial | treated | control | difference | ratio | published |")
    print("|---|---|---|---|---|---|")
    for name, features, y, feature, at, published in studies:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = CoxQuantileRegressor().fit(features, y)
            row = contrast(
                model, features, y, feature=feature, to=1, from_=0, what="risk", at=at,
                method="doubly_robust",
            ).rows[0]  # fmt: skip
        print_row(
            name,
            f"{row.to:.1%}",
            f"{row.from_:.1%}",
            f"{row.difference:.1%} ({row.low:.1%} to {row.high:.1%})",
            f"{row.ratio:.2f} ({row.ratio_low:.2f} to {row.ratio_high:.2f})",
            published,
        )


def main() -> None:
    """Read the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("robust", "median", "trials"))
    parser.add_argument("--runs", type=int)
    parser.add_argument("--designs", nargs="*", default=())
    given = parser.parse_args()
    began = time.process_time()
    if given.what == "trials":
        trials()
    elif given.what == "robust":
        robust(given.runs or 200, given.designs)
    else:
        median(given.runs or 25, given.designs)
    print(f"\n{time.process_time() - began:.0f} s of processor time")


if __name__ == "__main__":
    main()
