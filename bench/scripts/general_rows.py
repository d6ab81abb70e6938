"""How far levels are off where rows have delayed entry or intervals and the law is known.

    python bench/scripts/general_rows.py [--seeds 10-12]

An error of 5 % means: the quantile that is said to be reached with a probability of 25 % is reached
with 20 or 30 %. The mean is over the levels 0.1, 0.25, 0.5, 0.75 and 0.9 and 1,000 new rows.
"ignored" is the same estimator without the entries, or with the middle of each interval as an exact
time; "all exact" is it on as many rows of the population, followed until their events. lifelines'
Weibull regression is given entries and intervals. Prints two Markdown tables.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit

from censquant import CensoredQuantileRegressor, Surv

Floats = NDArray[np.float64]
TAUS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
INF = np.inf


class Law(NamedTuple):
    """A distribution of scipy with parameters that depend on features."""

    n_features: int
    frozen: Callable[[Floats], Any]

    def features(self, n_rows: int, rng: np.random.Generator) -> Floats:
        """Return uniform features."""
        return rng.uniform(-1.5, 1.5, size=(n_rows, self.n_features))

    def times(self, x: Floats, rng: np.random.Generator) -> Floats:
        """Return one time per row."""
        return np.asarray(self.frozen(x).ppf(rng.uniform(size=(len(x), 1))))[:, 0]


def _log_normal(x: Floats) -> Any:
    center = 1 + 0.8 * np.sin(2 * x[:, 0]) + 0.4 * x[:, 1] ** 2 - 0.3 * x[:, 2]
    return stats.lognorm((0.25 + 0.4 * expit(2 * x[:, 0]))[:, None], scale=np.exp(center)[:, None])


def _gamma(x: Floats) -> Any:
    shape = 1 + 3 * expit(2 * x[:, 0])
    mean = np.exp(0.5 + 0.6 * x[:, 1] + 0.5 * np.abs(x[:, 0]))
    return stats.gamma(shape[:, None], scale=(mean / shape)[:, None])


def _weibull(x: Floats) -> Any:
    scale = np.exp(1.5 + 0.5 * x[:, 0] - 0.4 * x[:, 1] + 0.3 * x[:, 2])
    return stats.weibull_min(1.6, scale=scale[:, None])


def _crossing(x: Floats) -> Any:
    scale = np.exp(1 + 0.4 * np.abs(x[:, 1]) - 0.3 * x[:, 2])
    return stats.weibull_min(1.6 * np.exp(0.6 * x[:, :1]), scale=scale[:, None])


LOG_NORMAL, GAMMA = Law(4, _log_normal), Law(4, _gamma)
WEIBULL, CROSSING = Law(3, _weibull), Law(3, _crossing)

LATE = {
    "length bias": (LOG_NORMAL, 1_000),
    "entry by features": (GAMMA, 1_000),
    "late, proportional": (WEIBULL, 500),
    "late, crossing": (CROSSING, 2_000),
    "nobody early": (LOG_NORMAL, 1_000),
}
INSIDE = {
    "annual": (WEIBULL, 500),
    "visits": (LOG_NORMAL, 1_000),
    "current status": (LOG_NORMAL, 2_000),
    "half exact": (GAMMA, 1_000),
    "wide, crossing": (CROSSING, 1_500),
}


def late_rows(name: str, seed: int) -> tuple[Law, Floats, Any, Any, tuple[Floats, Any]]:
    """Return features and rows with entries, the same without, and exact rows of all."""
    rng = np.random.default_rng([seed, 78])
    law, n_rows = LATE[name]
    most = 40 * n_rows
    x = law.features(most, rng)
    times = law.times(x, rng)
    if name == "length bias":
        entry = rng.uniform(0, 15, most)
    elif name == "entry by features":
        entry = rng.exponential(1, most) * np.exp(0.8 * x[:, 1] - 0.6 * x[:, 0])
    elif name == "late, proportional":
        entry = rng.exponential(4.0, most)
    elif name == "nobody early":
        entry = 2 + rng.exponential(1.5, most)
    else:
        entry = rng.uniform(0, 8, most)
    seen = np.flatnonzero(times > entry)[:n_rows]
    whole = x[:n_rows], times[:n_rows]
    x, times, entry = x[seen], times[seen], entry[seen]
    end = entry + rng.exponential(6.0, n_rows)
    time_, event = np.minimum(times, end), times <= end
    known = Surv.from_arrays(event, time_, entry=entry)
    return law, x, known, (time_, event), whole


def _visits(
    times: Floats, rng: np.random.Generator, gap: float, drop: float, start: float | None = None
) -> tuple[Floats, Floats]:
    """Return the last visit without the event and the first one with it, until a drop-out."""
    n_rows = len(times)
    lower, upper = np.zeros(n_rows), np.full(n_rows, INF)
    end = rng.exponential(drop, n_rows)
    now = rng.uniform(0, 1, n_rows) * gap if start is None else np.full(n_rows, start)
    going = np.ones(n_rows, bool)
    while going.any():
        here = going & (now <= end)
        found = here & (times <= now)
        upper[found] = now[found]
        going = here & ~found
        lower[going] = now[going]
        now = now + (gap * rng.uniform(0.5, 1.5, n_rows) if start is None else gap)
    return lower, upper


def rows_inside(name: str, seed: int) -> tuple[Law, Floats, Any, Any, tuple[Floats, Any]]:
    """Return features and rows with intervals, their middles, and exact rows."""
    rng = np.random.default_rng([seed, 77])
    law, n_rows = INSIDE[name]
    x = law.features(n_rows, rng)
    times = law.times(x, rng)
    if name == "visits":
        lower, upper = _visits(times, rng, 1.5, 12.0)
    elif name == "current status":
        seen = rng.gamma(1.5, 2.5, n_rows)
        lower, upper = np.where(times <= seen, 0.0, seen), np.where(times <= seen, seen, INF)
    elif name == "annual":
        lower, upper = _visits(times, rng, 2.0, 15.0, start=2.0)
    elif name == "wide, crossing":
        lower, upper = _visits(times, rng, 4.0, 20.0)
    else:
        lower, upper = _visits(times, rng, 1.2, 8.0)
        exact, end = rng.uniform(size=n_rows) < 0.3, rng.exponential(8.0, n_rows)
        lower = np.where(exact, np.minimum(times, end), lower)
        upper = np.where(exact, np.where(times <= end, times, INF), upper)
    kept = (lower > 0) | (upper < INF)
    x, times, lower, upper = x[kept], times[kept], lower[kept], upper[kept]
    event = upper < INF
    middle = np.where(event, 0.5 * (lower + np.where(event, upper, 0.0)), lower)
    return law, x, Surv.from_intervals(lower, upper), (middle, event), (x, times)


def lifelines_weibull(x: Floats, y: Any) -> Callable[[Floats], Floats]:
    """Return the quantiles of lifelines' Weibull regression."""
    import lifelines

    names = [f"x{place}" for place in range(x.shape[1])]
    table, model = pd.DataFrame(x, columns=names), lifelines.WeibullAFTFitter(penalizer=1e-3)
    if "entry" in y.dtype.names:
        table = table.assign(time=y["time"], event=y["event"], entry=y["entry"])
        model.fit_right_censoring(table, "time", "event", entry_col="entry")
    else:
        table = table.assign(lower=np.maximum(y["lower"], 0.0), upper=y["upper"])
        model.fit_interval_censoring(table, "lower", "upper")

    def quantiles(new: Floats) -> Floats:
        frame = pd.DataFrame(new, columns=names)
        return np.column_stack([model.predict_percentile(frame, p=1 - tau) for tau in TAUS])

    return quantiles


def ours(x: Floats, y: Any) -> Callable[[Floats], Floats]:
    """Return the quantiles of the recommended estimator."""
    model = CensoredQuantileRegressor(random_state=0).fit(x, y)
    return lambda new: model.predict_quantiles(new, TAUS, beyond="extrapolate")


def errors(name: str, seed: int) -> list[float]:
    """Return level errors of all methods in per cent, and processor seconds of the first fit."""
    law, x, known, ignored, whole = (late_rows if name in LATE else rows_inside)(name, seed)
    new = law.features(1_000, np.random.default_rng([seed, 99]))
    found = []
    for fit, rows in (
        (ours, (x, known)),
        (ours, (x, ignored)),
        (ours, (whole[0], (whole[1], np.ones(len(whole[1]), bool)))),
        (lifelines_weibull, (x, known)),
    ):
        began = time.process_time()
        quantiles = fit(*rows)
        if not found:
            seconds = time.process_time() - began
        found.append(100.0 * np.abs(law.frozen(new).cdf(quantiles(new)) - TAUS).mean())
    return [*found, seconds]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="10-12")
    first, last = map(int, parser.parse_args().seeds.split("-"))
    warnings.simplefilter("ignore")
    for settings in (LATE, INSIDE):
        print("\n| Rows | used | ignored | all exact | lifelines Weibull | CPU seconds |")
        print("| --- | --- | --- | --- | --- | --- |")
        for name in settings:
            each = np.array([errors(name, seed) for seed in range(first, last + 1)])
            cells = [
                f"{column.mean():.1f} ({column.min():.1f} to {column.max():.1f})"
                for column in each.T[:4]
            ]
            seconds = f"{np.median(each[:, 4]):.1f}"
            print(f"| {name} | {' | '.join(cells)} | {seconds} |", flush=True)


if __name__ == "__main__":
    main()
