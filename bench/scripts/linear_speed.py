"""Speed of the linear estimators beside HiGHS and, if asked, R's quantreg.

Times one fit of 19 levels with default settings, in which the path of 10,000 rows passes through
as many levels as R's would, and a fit with replications. "HiGHS" is the same fit with every level
solved by ``scipy.optimize.linprog`` from scratch. With ``--r`` and R with quantreg installed, the
same data go through ``crq`` as well.

    python bench/scripts/linear_speed.py [--rows 10000] [--features 10] [--replications 20] [--r]
"""

import argparse
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy

from censquant import LinearQuantileRegressor
from censquant.estimators.linear._programme import Programme

R_SCRIPT = """
suppressMessages({library(quantreg); library(survival)})
data <- read.csv(commandArgs(TRUE)[1])
for (method in c("Portnoy", "PengHuang"))
  cat(method, system.time(crq(Surv(time, event) ~ ., data = data, method = method))[3], "\\n")
"""


def make_data(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, times and events of a linear model with about a third censored."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    spread = 1.0 + 0.2 * np.abs(X[:, 0])
    time_of_event = X @ np.linspace(1.0, 2.0, n_features) + spread * rng.normal(size=n_rows)
    end = 3.0 + 6.0 * rng.normal(size=n_rows)
    return X, np.minimum(time_of_event, end), time_of_event <= end


def seconds(run: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    """Time everything in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--r", action="store_true", help="time R's crq too")
    options = parser.parse_args()
    X, times, event = make_data(options.rows, options.features)
    print(
        f"{options.rows} rows, {options.features} features, {1 - event.mean():.0%} censored; "
        f"{platform.machine()}, Python {platform.python_version()}, scipy {scipy.__version__}"
    )
    LinearQuantileRegressor([0.5]).fit(X[:100], (times[:100], event[:100]))  # compiles
    for method in ("portnoy", "peng-huang"):
        model = LinearQuantileRegressor(method=method)
        print(f"{method:12s} {seconds(lambda m=model: m.fit(X, (times, event))):8.2f} s")
        if method == "portnoy":
            pivots, Programme.solve = Programme.solve, Programme._by_highs
            print(f"  HiGHS      {seconds(lambda m=model: m.fit(X, (times, event))):8.2f} s")
            Programme.solve = pivots
        for n_jobs in (1, 2):
            model = LinearQuantileRegressor(
                method=method, n_bootstrap=options.replications, n_jobs=n_jobs, random_state=0
            )
            taken = seconds(lambda m=model: m.fit(X, (times, event)))
            print(f"  with {options.replications} replications, n_jobs={n_jobs} {taken:8.2f} s")
    if options.r:
        with tempfile.TemporaryDirectory() as folder:
            table, script = Path(folder) / "data.csv", Path(folder) / "crq.R"
            header = ["time", "event", *(f"x{k}" for k in range(X.shape[1]))]
            rows = np.column_stack((times, event, X))
            np.savetxt(table, rows, delimiter=",", header=",".join(header), comments="")
            script.write_text(R_SCRIPT, encoding="utf-8")
            subprocess.run(["Rscript", str(script), str(table)], check=True)


if __name__ == "__main__":
    main()
