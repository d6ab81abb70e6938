"""What averaging costs: one network beside copies of it that are averaged after every round.

All see the same rows equally often: 200,000 rows with ten features, log-normal times with a wave
and an interaction, a third of them censored, 19 quantiles, 2 x 100 units, batches of 128, five
passes. Copies are simulated one after the other in this process by the
functions that run on workers, so that nothing but the number of copies differs. The error is the
mean squared distance from the true quantiles at levels below 0.8, in standard deviations of the
logarithm of time, on rows that were not fitted. `reset` begins every round with moments of zero;
rounds are those of this package or one per pass; batches have 128 rows or, where copies would make
few steps, fewer. The last way is what the package does.

    python bench/scripts/dask_rounds.py [--copies 1 4 16] [--seeds 2]
"""

import argparse
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.stats import norm

from censquant import CQRNN
from censquant.dask._rounds import (
    Job,
    Progress,
    Replica,
    RoundPlan,
    Window,
    average,
    batch_of_copies,
    initial_state,
    take_part,
    train_in_rounds,
    train_locally,
)
from censquant.dask._rows import Statistics
from censquant.estimators.neural._split_fit import SplitFit
from censquant.survival import Target

ROWS, TESTED, PASSES = 200_000, 5_000, 5
HIGHEST_LEVEL, SPREAD = 0.8, 0.5


def features_and_location(n_rows, rng):
    """Features, and the middle of the logarithm of each row's time."""
    x = rng.normal(size=(n_rows, 10))
    return x, 0.5 * x[:, 0] + 0.3 * np.sin(3 * x[:, 1]) + 0.2 * x[:, 2] * x[:, 3]


def training_rows(n_rows, rng):
    """Features and targets."""
    x, location = features_and_location(n_rows, rng)
    time = np.exp(location + SPREAD * rng.normal(size=n_rows))
    end = rng.exponential(3, size=n_rows)
    return x, Target(np.minimum(time, end), time <= end)


class OneRoundPerPass(RoundPlan):
    """The plain way: copies meet after every pass."""

    def windows(self):
        """Give one round per pass."""
        for start in range(0, self.total_steps, self.steps_per_pass):
            stop = start + self.steps_per_pass
            yield Window(start // self.steps_per_pass, start, stop, True)


def without_moments(state):
    """Parameters of a state, with the optimiser as it begins."""
    return {k: np.zeros_like(v) if k.startswith("optimizer.") else v for k, v in state.items()}


def simulated(n_copies, seed, *, plan_of, reset, small_batches):
    """Error of a network that so many copies trained, and the number of rounds."""
    X, target = training_rows(ROWS, np.random.default_rng(seed))
    weight = np.ones(len(X))
    model = CQRNN(
        max_epochs=PASSES, time_transform="log", level_rule="interpolate", random_state=seed
    )
    fit = SplitFit(model, Statistics.of(X, target, weight).summary())
    rows = fit.units.rows(X, target, weight)
    shares = np.array_split(np.random.default_rng(seed).permutation(len(X)), n_copies)
    replicas = [
        Replica(number, rows.take(share), rows.take(share[:0]))
        for number, share in enumerate(shares)
    ]
    size, seen = fit.config.batch_size, PASSES * len(shares[0])
    config = replace(
        fit.config, batch_size=batch_of_copies(size, n_copies, seen) if small_batches else size
    )
    steps = -(-len(shares[0]) // config.batch_size)
    plan = plan_of(steps, steps * PASSES)
    network = fit.new_network(0)
    job = Job(network, fit.objective, config, plan, seed)

    def run_round(state, window):
        begun = without_moments(state) if reset else state
        return average([train_locally(replica, job, begun, window) for replica in replicas])

    state = initial_state(network, fit.config.weight_decay)
    progress = train_in_rounds(job, Progress(state), run_round)
    network.load_state(take_part(progress.result, "network."))
    x, location = features_and_location(TESTED, np.random.default_rng(10_000 + seed))
    levels = np.array([level for level in fit.objective.taus if level < HIGHEST_LEVEL])
    outputs = network.predict(fit.units.scale.apply(x))[:, : len(levels)]
    truth = fit.units.transform.forward(np.exp(location[:, None] + SPREAD * norm.ppf(levels)))
    return float(((np.sort(outputs, axis=1) - truth) ** 2).mean()), progress.n_rounds


def way(plan_of, *, reset, small_batches=False):
    """Return a way to train, as a function of the number of copies and of a seed."""
    return partial(simulated, plan_of=plan_of, reset=reset, small_batches=small_batches)


WAYS = {
    "reset once per pass": way(OneRoundPerPass, reset=True),
    "reset in rounds": way(RoundPlan, reset=True),
    "averaged in rounds": way(RoundPlan, reset=False),
    "averaged once per pass, small batches": way(OneRoundPerPass, reset=False, small_batches=True),
    "averaged in rounds, small batches": way(RoundPlan, reset=False, small_batches=True),
}


def main():
    """Print one row per number of copies and way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    args = parser.parse_args()
    print("| copies | way | error | rounds |")
    print("|---|---|---|---|")
    for n_copies in args.copies:
        for name in args.ways:
            results = [WAYS[name](n_copies, seed) for seed in range(args.seeds)]
            errors, rounds = zip(*results, strict=True)
            print(f"| {n_copies} | {name} | {np.mean(errors):.5f} | {rounds[0]} |", flush=True)


if __name__ == "__main__":
    main()
