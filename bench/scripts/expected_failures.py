"""How often the failures of simulated fleets lie within the limits of ``expected_failures``.

A fleet is installed at random over some years. Its history up to now is what the model learns from;
the units that still run are counted ahead. Lives have a Weibull law (shape 2) that depends on three
features, linearly or with waves and an interaction; each run draws a new fleet.

    python bench/scripts/expected_failures.py [--quarters 500] [--out bench/results]

Columns: failures that were seen, failures ahead (mean), share of runs in which the number of
failures lies within the 95 % limits, without and with the uncertainty of the model (``y_train``),
and the probability that the distribution with it gives to its own limits: more than 95 %, since
numbers of failures are discrete.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant import (
    AFTRegressor,
    BoostedQuantileRegressor,
    CensoredQuantileForest,
    CoxQuantileRegressor,
)
from censquant.inspection import expected_failures
from censquant.inspection._failures import Past, chances_of_counts
from censquant.survival import Target

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
YEARS_OF_SALES = 1_600.0  # days


@dataclass(frozen=True)
class Fleet:
    """A fleet with its history up to now, and with what happens later."""

    X: Floats
    time: Floats  # observed until now
    event: NDArray[np.bool_]
    life: Floats

    @property
    def y(self) -> tuple[Floats, NDArray[np.bool_]]:
        """The target of the history."""
        return self.time, self.event


def draw(seed: int, n_units: int, *, waves: bool) -> Fleet:
    """Return a simulated fleet."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_units, 3))
    X[:, 2] = rng.integers(0, 3, n_units)
    slope = 0.5 * X[:, 0] - 0.3 * X[:, 1] + 0.3 * (X[:, 2] == 2)
    if waves:
        slope += 0.6 * np.sin(2.0 * X[:, 0]) + 0.4 * X[:, 0] * X[:, 1]
    life = 1_000.0 * np.exp(-slope) * rng.weibull(2.0, n_units)
    age = rng.uniform(0.0, YEARS_OF_SALES, n_units)
    return Fleet(X, np.minimum(life, age), life <= age, life)


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    name: str
    make: Callable[[], Any]
    n_units: int
    days: float = 90.0
    waves: bool = False
    most: int = 1_000_000  # running units that are counted
    by_group: bool = False  # the smallest of three groups is counted instead of the fleet


CASES = (
    Case("Cox", CoxQuantileRegressor, 800),
    Case("Weibull AFT", AFTRegressor, 800),
    Case("Cox, one group of three", CoxQuantileRegressor, 800, by_group=True),
    Case("Cox, 40 of the running units", CoxQuantileRegressor, 800, most=40),
    Case("Cox, 200 units", CoxQuantileRegressor, 200),
    Case("Weibull AFT, one year", AFTRegressor, 800, days=365.0),
    Case("Cox, one year", CoxQuantileRegressor, 800, days=365.0),
    Case("boosted trees, waves", lambda: BoostedQuantileRegressor(max_iter=60), 800, waves=True),
    Case("forest, waves", lambda: CensoredQuantileForest(n_estimators=50), 800, waves=True),
)


@dataclass(frozen=True)
class Quarter:
    """What was said and what happened in one run."""

    seen: int
    failed: int
    alone: bool  # within the limits of chance
    inside: bool  # within those with the uncertainty of the model
    said: float  # probability of the limits


def run(case: Case, seed: int) -> Quarter:
    """Return one run of a case."""
    fleet = draw(seed, case.n_units, waves=case.waves)
    model = case.make().fit(fleet.X, fleet.y)
    running = np.flatnonzero(~fleet.event)[: case.most]
    group = np.where(fleet.X[:, 2] == 2, "third", "others")
    by = {"by": group[running]} if case.by_group else {}
    by_train = {"by_train": group} if case.by_group else {}
    rows = []
    for train in ({}, {"y_train": fleet.y, **by_train}):
        found = expected_failures(
            model,
            fleet.X[running],
            fleet.time[running],
            case.days,
            confidence=CONFIDENCE,
            **by,
            **train,
        )
        rows.append(found.rows[-1 if case.by_group else 0])
    name = rows[0].group
    counted = running[group[running] == name] if case.by_group else running
    failed = int((fleet.life[counted] <= fleet.time[counted] + case.days).sum())
    curve = model.predict_curve(fleet.X[counted])
    past = Past.of(Target(*fleet.y), group.tolist())
    spread = past.spread(curve, fleet.time[counted], case.days, name)
    risk = curve.risk_within(fleet.time[counted], [case.days])[:, 0]
    said = chances_of_counts(risk, spread)[rows[1].low : rows[1].high + 1].sum()
    alone, inside = (row.low <= failed <= row.high for row in rows)
    return Quarter(int(fleet.event.sum()), failed, alone, inside, float(said))


def line(case: Case, quarters: list[Quarter]) -> str:
    """Return a line of the table."""
    seen, failed = (np.mean([getattr(q, name) for q in quarters]) for name in ("seen", "failed"))
    alone, inside, said = (
        100 * np.mean([getattr(q, name) for q in quarters]) for name in ("alone", "inside", "said")
    )
    error = 100 * np.sqrt(inside / 100 * (1 - inside / 100) / len(quarters))
    return (
        f"| {case.name} | {case.n_units} | {case.days:.0f} | {seen:.0f} | {failed:.1f} | "
        f"{alone:.1f} | {inside:.1f} ± {error:.1f} | {said:.1f} |"
    )


def main() -> None:
    """Print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quarters", type=int, default=500)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        "# Failures of simulated fleets within their limits",
        "",
        f"Share of {given.quarters} simulated fleets (per cent) whose failures ahead lie within "
        "the 95 % limits of `expected_failures`.",
        "Made by `python bench/scripts/expected_failures.py`, which says how fleets are drawn.",
        "",
        "| model | units | days | failures seen | failures ahead | chance alone | with `y_train` | "
        "said |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case in CASES:
        begun = time.perf_counter()
        lines.append(line(case, [run(case, seed) for seed in range(given.quarters)]))
        print(lines[-1], f"{time.perf_counter() - begun:.0f} s", flush=True)
    lines += [
        "",
        "The last column is the probability that the distribution itself gives to its limits. It "
        "exceeds 95 %",
        "because numbers of failures are discrete, the more so the fewer failures are expected.",
        "",
    ]
    if given.out is not None:
        (given.out / "expected_failures.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
