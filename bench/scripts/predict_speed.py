"""Prediction speed: a million rows beside the bare matrix products, in one process and in turn.

The model has 8 features, two hidden layers of 100 units and 19 quantiles. "Products" are the three
matrix products of the forward pass in the same blocks and the same precision (float64), with
nothing else; "quantiles" is ``predict_quantiles`` with all that belongs to it: checking the input,
scaling, activations, sorting and the way back to the user's unit of time. "Default" also looks for
predictions that the data cannot speak for. Peak memory beyond input and answer is printed too.

    python bench/scripts/predict_speed.py [--rows 1000000] [--rounds 5]
"""

import argparse
import platform
import statistics
import time
import tracemalloc

import numba
import numpy as np

from censquant import CQRNN, Surv
from censquant._engine.training._parallel import side_by_side

N_FEATURES, HIDDEN = 8, 100
BLOCK = 512


def fitted(activation: str) -> CQRNN:
    """Return a model trained briefly: its speed does not depend on how well it fits."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, N_FEATURES))
    y = Surv.from_arrays(event=rng.random(2000) < 0.6, time=rng.exponential(size=2000))
    return CQRNN(activation=activation, max_epochs=2, random_state=0).fit(X, y)


@numba.njit(nogil=True)
def _products(x, w1, w2, w3, h1, h2, out):
    for start in range(0, len(x), BLOCK):
        block = x[start : start + BLOCK]
        n = len(block)
        np.dot(block, w1, h1[:n])
        np.dot(h1[:n], w2, h2[:n])
        np.dot(h2[:n], w3, out[start : start + BLOCK])


def main() -> None:
    """Time both in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(options.rows, N_FEATURES))
    models = {name: fitted(name) for name in ("relu", "gelu")}
    n_levels = len(models["relu"].quantiles_)
    shapes = [(N_FEATURES, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, n_levels)]
    weights = [rng.normal(size=shape) for shape in shapes]
    work = [np.empty((BLOCK, HIDDEN)) for _ in range(2)]

    def products() -> None:
        # A new answer every time, as predict_quantiles gives one: fresh memory costs something too.
        out = np.empty((options.rows, n_levels))
        side_by_side([lambda stopping: _products(X, *weights, *work, out)])

    contenders = {"products": products}
    for name, model in models.items():
        contenders[f"quantiles, {name}"] = lambda model=model: model.predict_quantiles(
            X, beyond="extrapolate"
        )
    contenders["quantiles, default"] = lambda: models["relu"].predict_quantiles(X)
    contenders["median, default"] = lambda: models["relu"].predict(X)
    for run in contenders.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(options.rounds):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    print(
        f"{options.rows:,} rows, {options.rounds} rounds, one thread, "
        f"Python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}"
    )
    print(f"{'':24s}{'seconds':>10s}{'times the products':>22s}")
    for name, values in times.items():
        ratios = (v / p for v, p in zip(values, times["products"], strict=True))
        print(f"{name:24s}{statistics.median(values):10.3f}{statistics.median(ratios):22.2f}")
    tracemalloc.start()
    answer = models["relu"].predict_quantiles(X, beyond="extrapolate")
    peak = tracemalloc.get_traced_memory()[1]
    print(
        f"peak memory {peak / 2**20:.0f} MiB, of which the answer {answer.nbytes / 2**20:.0f} MiB; "
        f"the input has {X.nbytes / 2**20:.0f} MiB"
    )


if __name__ == "__main__":
    main()
