"""Training speed: censquant's engine beside a plain torch loop, in one process and in turn.

Every contender makes the same optimiser steps on the same data: 8 features, two hidden layers of
100 ReLU units, 19 quantiles, batches of 128 rows, Adam with L2 decay. The shape head is timed with
what ShapeNN trains: its head, linear term and loss, and GELU units. The machine may be busy, so
rounds alternate between contenders and the table shows medians and ratios of them; compare ratios,
not times.

    python bench/scripts/train_speed.py [--rounds 5] [--steps 512]
"""

import argparse
import platform
import statistics
import time
from collections.abc import Callable

import numba
import numpy as np
import torch
from numba import njit

from censquant._engine.networks._combined import HeadedNetwork, LinearSkip, ShapeHead
from censquant._engine.networks._dense import DenseNetwork
from censquant._engine.objectives._grid import Portnoy
from censquant._engine.objectives._likelihoods import ShapeLikelihood, shape_knots
from censquant._engine.training._loop import TrainingConfig, train
from censquant._engine.training._parallel import side_by_side
from censquant._engine.training._rows import Rows
from censquant.torch import TorchNetwork
from censquant_bench._plain_torch import plain_module, plain_portnoy, plain_training

N_ROWS, N_FEATURES, HIDDEN, BATCH = 4096, 8, 100, 128
TAUS = tuple(round(0.05 * k, 2) for k in range(1, 20))


def make_rows(seed: int = 0) -> Rows:
    """Log-normal times, about half of them censored."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 2, size=(N_ROWS, N_FEATURES))
    time_to_event = np.exp(x @ np.linspace(-0.5, 0.8, N_FEATURES) + rng.normal(size=N_ROWS)) / 10
    censoring = rng.uniform(0, 1, size=N_ROWS)
    return Rows.from_arrays(
        x, time=np.minimum(time_to_event, censoring), event=time_to_event <= censoring
    )


def torch_module(input_shape: tuple[int, ...], n_outputs: int) -> torch.nn.Module:
    """Return the dense network as torch users write it."""
    return plain_module(input_shape[0], n_outputs, n_hidden=HIDDEN)


def plain_torch_loop(rows: Rows, y_star: float, n_steps: int) -> None:
    """Algorithm 2 as the paper describes it: autograd, unfused Adam, indexing batch by batch."""
    module = torch_module((N_FEATURES,), len(TAUS))
    arrays = rows.x, rows.time, rows.event
    plain_training(module, plain_portnoy(TAUS, y_star), arrays, n_steps, batch_size=BATCH)


@njit(nogil=True)
def _products(x, w1, w2, w3, h1, h2, out, g1, g2, g3, d1, d2, n_steps):
    for _ in range(n_steps):
        np.dot(x, w1, h1)
        np.dot(h1, w2, h2)
        np.dot(h2, w3, out)
        np.dot(h2.T, out, g3)
        np.dot(out, w3.T, d2)
        np.dot(h1.T, d2, g2)
        np.dot(d2, w2.T, d1)
        np.dot(x.T, d1, g1)


def matrix_products(n_steps: int) -> None:
    """Only the matrix products of a step, forward and backward: the floor for any engine."""
    rng = np.random.default_rng(0)
    f, h, k = N_FEATURES, HIDDEN, len(TAUS)
    shapes = [(BATCH, f), (f, h), (h, h), (h, k), (BATCH, h), (BATCH, h), (BATCH, k)]
    shapes += [(f, h), (h, h), (h, k), (BATCH, h), (BATCH, h)]
    arrays = [(0.01 * rng.normal(size=shape)).astype(np.float32) for shape in shapes]
    side_by_side([lambda stopping: _products(*arrays, n_steps)])


def engine(
    rows: Rows, y_star: float, n_steps: int, *, members: int, threads: int, use_torch: bool
) -> None:
    """Train members side by side by censquant's loop."""
    objective = Portnoy(TAUS, y_star=y_star)
    config = TrainingConfig(max_epochs=n_steps, max_steps=n_steps)

    def task(seed: int):
        def run(stopping):
            rng = np.random.default_rng(seed)
            if use_torch:
                network = TorchNetwork.from_factory(torch_module, (N_FEATURES,), len(TAUS), rng=rng)
            else:
                network = DenseNetwork([N_FEATURES, HIDDEN, HIDDEN, len(TAUS)], rng=rng)
            train(network, objective, rows, config, rng, stopping=stopping)

        return run

    side_by_side([task(seed) for seed in range(members)], threads)


def shape_head(rows: Rows, n_steps: int) -> None:
    """Train the same network with ShapeNN's head, linear term, activation and loss."""
    rng = np.random.default_rng(0)
    head = ShapeHead(tuple(shape_knots("normal", len(TAUS)).tolist()), n_rows=len(rows))
    sizes = [N_FEATURES, HIDDEN, HIDDEN, head.n_raw]
    network = LinearSkip(DenseNetwork(sizes, activation="gelu", rng=rng), N_FEATURES)
    objective = ShapeLikelihood("normal", len(TAUS), limit=float(rows.time.max()))
    config = TrainingConfig(max_epochs=n_steps, max_steps=n_steps)
    side_by_side(
        [lambda stopping: train(HeadedNetwork(network, head), objective, rows, config, rng)]
    )


def main() -> None:
    """Time all contenders in turn and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=512)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = make_rows()
    y_star, steps = 1.2 * float(rows.time.max()), options.steps

    def ours(members: int = 1, threads: int = 1, use_torch: bool = False) -> Callable[[], None]:
        return lambda: engine(
            rows, y_star, steps, members=members, threads=threads, use_torch=use_torch
        )

    contenders: dict[str, tuple[int, Callable[[], None]]] = {
        "plain torch loop": (1, lambda: plain_torch_loop(rows, y_star, steps)),
        "engine, 1 member, 1 thread": (1, ours()),
        "engine, 10 members, 1 thread": (10, ours(10)),
        "engine, 10 members, 2 threads": (10, ours(10, 2)),
        "engine, shape head and loss": (1, lambda: shape_head(rows, steps)),
        "engine, torch network": (1, ours(use_torch=True)),
        "matrix products alone": (1, lambda: matrix_products(steps)),
    }
    for _, run in contenders.values():  # compile and warm up
        run()
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(options.rounds):
        for name, (members, run) in contenders.items():
            start = time.perf_counter()
            run()
            times[name].append((time.perf_counter() - start) / (members * steps) * 1e6)
    plain = times["plain torch loop"]
    print(
        f"{steps} steps, {options.rounds} rounds, Python {platform.python_version()}, "
        f"numpy {np.__version__}, numba {numba.__version__}, torch {torch.__version__}"
    )
    print(f"{'':32s}{'us per network and step':>24s}{'speed-up per network':>22s}")
    for name, values in times.items():
        # Ratios within a round: what slows the machine for a while slows both.
        ratio = statistics.median(p / v for p, v in zip(plain, values, strict=True))
        print(f"{name:32s}{statistics.median(values):24.1f}{ratio:22.2f}")


if __name__ == "__main__":
    main()
