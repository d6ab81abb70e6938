"""The bounded simplex head of Zhou et al. (2020) beside the two heads of the package.

Quantiles are a lower end plus a positive scale times the cumulated softmax of the other outputs:
they cannot cross, and no gap can run away alone. Sets, seeds and settings are those of the suite
`crossing`, whose features and times are not scaled, or with `--scaled` the package's; differences
are paired by run.

    python bench/scripts/simplex_head.py --scaled > bench/results/simplex_head.md
"""

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning
from versions import versions

from censquant import CQRNN
from censquant._engine.networks._combined import HeadedNetwork
from censquant._engine.networks._dense import DenseNetwork
from censquant_bench import SUITES, get_dataset, get_method

FIRST_SEED = 111
SCALED = {"standardize": True, "time_transform": "standardize"}
LEVELS = (0.1, 0.5, 0.9)
HEADS: dict[str, dict[str, str]] = {
    "free": {},
    "increasing": {"head": "increasing"},
    "simplex": {},
}


@dataclass(frozen=True)
class SimplexHead:
    """Quantiles inside an interval that the network predicts, in shares of a simplex."""

    n_outputs: int

    @property
    def n_raw(self) -> int:
        """Number of raw outputs: lower end, scale, and one logit per quantile."""
        return self.n_outputs + 2

    def describe(self) -> dict[str, Any]:
        """Return the map as plain data."""
        return {"head": "simplex"}

    def initial_parameters(self) -> np.ndarray:
        """Return no parameters."""
        return np.empty(0, dtype=np.float32)

    def forward(self, raw: np.ndarray, parameters: np.ndarray, out: np.ndarray) -> None:
        """Write the quantiles."""
        shares = np.cumsum(softmax(raw[:, 2:], axis=1), axis=1)
        out[:] = raw[:, :1] + np.logaddexp(0, raw[:, 1:2]) * shares

    def backward(
        self,
        raw: np.ndarray,
        parameters: np.ndarray,
        out_gradient: np.ndarray,
        raw_gradient: np.ndarray,
        parameter_gradient: np.ndarray,
    ) -> float:
        """Write the derivative by the raw outputs."""
        cells = softmax(raw[:, 2:], axis=1)
        shares = np.cumsum(cells, axis=1)
        raw_gradient[:, 0] = out_gradient.sum(axis=1)
        raw_gradient[:, 1] = (out_gradient * shares).sum(axis=1) * expit(raw[:, 1])
        # By the cells: each counts in all quantiles from its own on.
        above = np.cumsum(out_gradient[:, ::-1], axis=1)[:, ::-1]
        centred = above - (above * cells).sum(axis=1, keepdims=True)
        raw_gradient[:, 2:] = np.logaddexp(0, raw[:, 1:2]) * cells * centred
        return 0.0


class SimplexCQRNN(CQRNN):
    """CQRNN with the simplex head."""

    def _make_network(self, rows: Any, objective: Any, rng: np.random.Generator) -> HeadedNetwork:
        head = SimplexHead(objective.n_outputs)
        sizes = [rows.x.shape[1], *self.hidden_layer_sizes, head.n_raw]
        dense = DenseNetwork(sizes, activation=self.activation, dropout=self.dropout, rng=rng)
        return HeadedNetwork(dense, head)


def build(name: str, dataset: Any, options: Mapping[str, Any], seed: int) -> Any:
    """Return CQRNN under the paper's settings with one of the heads."""
    model = get_method("cqrnn").build(dataset, options, seed)
    return SimplexCQRNN(**model.get_params(deep=False)) if name == "simplex" else model


def check_gradient() -> None:
    """Compare the head's derivative with differences."""
    rng, head = np.random.default_rng(0), SimplexHead(4)
    raw, weight, found = rng.normal(size=(3, 6)), rng.normal(size=(3, 4)), np.empty((3, 6))
    nothing = np.empty(0)
    head.backward(raw, nothing, weight, found, nothing)
    for cell in np.ndindex(raw.shape):
        ends = []
        for sign in (-1, 1):
            moved, out = raw.copy(), np.empty((3, 4))
            moved[cell] += sign * 1e-6
            head.forward(moved, nothing, out)
            ends.append((out * weight).sum())
        assert abs((ends[1] - ends[0]) / 2e-6 - found[cell]) < 1e-6


def error(name: str, options: Mapping[str, Any], dataset: Any, seed: int) -> float:
    """Return the mean squared distance to the true quantiles of one run."""
    data = dataset.train_test(seed)
    model = build(name, dataset, options, seed).fit(data.X, data.y)
    predicted = model.predict_quantiles(data.X_known, LEVELS, beyond="extrapolate")
    return float(np.mean((predicted - data.true_quantiles(LEVELS)) ** 2))


def main(names: Sequence[str], n_runs: int, *, scaled: bool) -> None:
    """Print one row per set."""
    print(f"`python {' '.join(sys.argv)}` ({versions()})\n")
    units: dict[str, Any] = SCALED if scaled else {}
    print("| set | free | increasing − free | simplex − free | simplex − increasing |")
    print("|:--|--:|--:|--:|--:|")
    seeds = range(FIRST_SEED, FIRST_SEED + n_runs)
    for name in names:
        dataset = get_dataset(name)
        found = {
            head: np.array([error(head, {**options, **units}, dataset, seed) for seed in seeds])
            for head, options in HEADS.items()
        }
        free, increasing, simplex = found.values()
        cells = map(paired, (increasing - free, simplex - free, simplex - increasing))
        print(f"| {dataset.title} | {free.mean():.3f} | {' | '.join(cells)} |", flush=True)


def paired(differences: np.ndarray) -> str:
    """Return a mean difference and its standard error."""
    return f"{differences.mean():+.3f} ± {differences.std(ddof=1) / np.sqrt(len(differences)):.3f}"


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    check_gradient()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=SUITES["crossing"].datasets)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--scaled", action="store_true")
    chosen = parser.parse_args()
    main(chosen.datasets, chosen.runs, scaled=chosen.scaled)
