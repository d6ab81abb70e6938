"""Speed of the concordance index: up to a million rows, beside lifelines and scikit-survival.

Harrell's index of the same predictions by each package, in seconds (the best of some rounds), and
Uno's weighted index beside it. scikit-survival compares every event with all later rows, so it is
left out where it would take most of an hour. All values are checked to agree. Peak memory is what
the call allocates beyond its input.

    python bench/scripts/metric_speed.py [--rows 1000 10000 100000 1000000] [--rounds 3]
"""

import argparse
import platform
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from lifelines.utils import concordance_index as lifelines_index
from sksurv.metrics import concordance_index_censored

from censquant.metrics import concordance_index
from censquant.metrics._concordance import concordance_index_ipcw

# Largest sizes that a peer does within about a minute.
LIFELINES_ROWS, SKSURV_ROWS = 1_000_000, 100_000


def data(n: int) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Return censored times and predictions that know something of them."""
    rng = np.random.default_rng(n)
    x = rng.normal(size=n)
    latent, censoring = np.exp(x + rng.normal(size=n)), rng.exponential(3.0, size=n)
    y = np.minimum(latent, censoring), latent <= censoring
    y[1][np.argmax(y[0])] = False
    return y, x


def seconds(call: Callable[[], float], rounds: int) -> tuple[float, float]:
    """Return the value and the shortest time of some rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        value = call()
        times.append(time.perf_counter() - start)
    return value, min(times)


def megabytes(call: Callable[[], float]) -> float:
    """Return the peak of what a call allocates."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def main() -> None:
    """Time all contenders and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    y, x = data(100)
    concordance_index(y, x)
    print(
        f"seconds, best of {options.rounds} rounds, Python {platform.python_version()}, "
        f"numpy {np.__version__}"
    )
    names = ["censquant", "peak MiB", "Uno", "lifelines", "scikit-survival", "C"]
    print(f"{'rows':>10}" + "".join(f"{name:>17}" for name in names))
    for n in options.rows:
        y, x = data(n)
        value, own = seconds(lambda y=y, x=x: concordance_index(y, x), options.rounds)
        _, uno = seconds(lambda y=y, x=x: concordance_index_ipcw(y, x), options.rounds)
        cells = [f"{own:.4f}", f"{megabytes(lambda y=y, x=x: concordance_index(y, x)):.0f}"]
        cells.append(f"{uno:.4f}")
        peers = {
            LIFELINES_ROWS: lambda y=y, x=x: lifelines_index(y[0], x, y[1]),
            SKSURV_ROWS: lambda y=y, x=x: concordance_index_censored(y[1], y[0], -x)[0],
        }
        for most, call in peers.items():
            if n > most:
                cells.append("-")
                continue
            theirs, taken = seconds(call, 1 if n >= 10_000 else options.rounds)
            if abs(theirs - value) > 1e-8:
                raise SystemExit(f"the indices differ: {value} and {theirs}")
            cells.append(f"{taken:.4f}")
        print(f"{n:>10,}" + "".join(f"{cell:>17}" for cell in [*cells, f"{value:.4f}"]))


if __name__ == "__main__":
    main()
