"""What whole fits cost, checks and follow-up included, beside a plain torch loop and a forest.

`network`: 4,000 rows, 8 features, 19 quantiles, 2 x 100 units, batches of 128, 10 epochs.
`recommended`: the recommended estimator, a plain loop of the paper's 100 epochs, and from 2,000
rows on scikit-survival's forest with 100 trees. Rounds alternate between the contenders in one
process; compare ratios, not times. `user_speed.py` has time and memory of many rows, and
`peer_speed.py` fits beside other libraries, with what they reach.

    python bench/scripts/fit_speed.py [--parts network recommended] [--rounds 5]
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from wave_rows import N_FEATURES, draw, observe

from censquant import CQRNN, CensoredQuantileRegressor
from censquant_bench._plain_torch import plain_module, plain_portnoy, plain_training

BATCH, EPOCHS, PAPER_EPOCHS, MEMBERS = 128, 10, 100, 10
TAUS = tuple(round(0.05 * k, 2) for k in range(1, 20))
SIZES = (500, 2_000, 5_000)
FOREST_SIZES = (2_000, 5_000)  # the forest takes minutes from there on

Data = tuple[Any, tuple[Any, Any]]


def make_data(n_rows: int, n_features: int = N_FEATURES, seed: int = 0) -> Data:
    """Return features, and times with their events."""
    rng = np.random.default_rng(seed)
    x, event_time = draw(n_rows, rng, n_features)
    return x, observe(event_time, rng)


def plain(data: Data, epochs: int) -> None:
    """Train the paper's network by a loop as torch users write it."""
    x, (times, event) = data
    module = plain_module(x.shape[1], len(TAUS), n_hidden=100)
    loss = plain_portnoy(TAUS, 1.2 * float(times.max()))
    n_steps = epochs * -(-len(x) // BATCH)
    plain_training(module, loss, (x, times.astype(np.float32), event), n_steps, batch_size=BATCH)


def recommended(data: Data) -> CensoredQuantileRegressor:
    """Fit the recommended estimator on two cores."""
    return CensoredQuantileRegressor(random_state=0, n_jobs=2).fit(*data)


def forest(data: Data) -> None:
    """Fit scikit-survival's forest on two cores."""
    from sksurv.ensemble import RandomSurvivalForest
    from sksurv.util import Surv

    x, (times, event) = data
    RandomSurvivalForest(n_jobs=2, random_state=0).fit(x, Surv.from_arrays(event, times))


def medians(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the median seconds of contenders that are run in turn; the first round compiles."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for round_number in range(rounds + 1):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            if round_number:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in seconds.items()}


def compare_networks(rounds: int) -> None:
    """Print a whole short fit of the paper's network beside a plain loop."""
    data = make_data(4_000, 8)

    def fit(**options: int) -> Callable[[], Any]:
        return lambda: CQRNN(max_epochs=EPOCHS, random_state=0, **options).fit(*data)

    n_networks = {
        "plain torch loop": 1,
        "CQRNN().fit": 1,
        "CQRNN(n_members=10, n_jobs=2).fit": MEMBERS,
    }
    runs = (lambda: plain(data, EPOCHS), fit(), fit(n_members=MEMBERS, n_jobs=2))
    seconds = medians(dict(zip(n_networks, runs, strict=True)), rounds)
    print("| | ms | speed-up per network |\n|---|---|---|")
    for name, count in n_networks.items():
        ratio = seconds["plain torch loop"] * count / seconds[name]
        print(f"| {name} | {1e3 * seconds[name]:.0f} | {ratio:.1f} |")


def compare_recommended(rounds: int) -> None:
    """Print the recommended estimator beside a plain loop and a forest."""
    print("| rows | plain loop s | recommended s | ratio | forest s | ratio |\n|--|--|--|--|--|--|")
    for n_rows in SIZES:
        data = make_data(n_rows)
        contenders: dict[str, Callable[[], Any]] = {
            "plain": lambda data=data: plain(data, PAPER_EPOCHS),
            "recommended": lambda data=data: recommended(data),
        }
        seconds = medians(contenders, rounds)
        own = seconds["recommended"]
        row = f"| {n_rows:,} | {seconds['plain']:.2f} | {own:.2f} | {own / seconds['plain']:.2f} |"
        if n_rows in FOREST_SIZES:
            start = time.perf_counter()
            forest(data)
            other = time.perf_counter() - start
            row += f" {other:.1f} | {own / other:.2f} |"
        print(row if row.count("|") > 5 else f"{row} | |", flush=True)


PARTS = {"network": compare_networks, "recommended": compare_recommended}


def main() -> None:
    """Print one table per part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for name in asked.parts:
        print(f"\n{name}\n")
        PARTS[name](asked.rounds)


if __name__ == "__main__":
    main()
