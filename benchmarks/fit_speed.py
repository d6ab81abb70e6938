"""A whole short fit, checks and follow-up included, beside a plain torch loop of the same steps.

4,000 rows, 8 features, 19 quantiles, 2 x 100 units, batches of 128, 10 epochs. Rounds alternate
between the contenders in one process; compare ratios, not times.

    python benchmarks/fit_speed.py [--rounds 7]
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from censquant import CQRNN
from censquant.torch.plain_loop import plain_module, plain_portnoy, plain_training

N_ROWS, N_FEATURES, BATCH, EPOCHS, MEMBERS = 4_000, 8, 128, 10, 10
TAUS = tuple(round(0.05 * k, 2) for k in range(1, 20))


def main() -> None:
    """Print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2, size=(N_ROWS, N_FEATURES))
    event_time = np.exp(X @ np.linspace(-0.5, 0.8, N_FEATURES) + rng.normal(size=N_ROWS)) / 10
    censoring_time = rng.uniform(0, 1, size=N_ROWS)
    y = np.minimum(event_time, censoring_time), event_time <= censoring_time
    arrays = X.astype(np.float32), y[0].astype(np.float32), y[1]
    n_steps = EPOCHS * -(-N_ROWS // BATCH)

    def plain() -> None:
        module = plain_module(N_FEATURES, len(TAUS), n_hidden=100)
        plain_training(module, plain_portnoy(TAUS, 1.2), arrays, n_steps, batch_size=BATCH)

    def fit(**options: int) -> Callable[[], None]:
        return lambda: CQRNN(max_epochs=EPOCHS, random_state=0, **options).fit(X, y) and None

    contenders = {
        "plain torch loop": (plain, 1),
        "CQRNN().fit": (fit(), 1),
        "CQRNN(n_members=10, n_jobs=2).fit": (fit(n_members=MEMBERS, n_jobs=2), MEMBERS),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for round_number in range(rounds + 1):
        for name, (run, _) in contenders.items():
            start = time.perf_counter()
            run()
            if round_number:  # the first round compiles
                seconds[name].append(time.perf_counter() - start)
    reference = statistics.median(seconds["plain torch loop"])
    print("| | ms | speed-up per network |\n|---|---|---|")
    for name, (_, n_networks) in contenders.items():
        median = statistics.median(seconds[name])
        print(f"| {name} | {1e3 * median:.0f} | {reference * n_networks / median:.1f} |")


if __name__ == "__main__":
    main()
