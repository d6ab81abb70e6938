"""The paper's methods on its 14 synthetic sets, beside the published errors.

Ten runs a set, the paper's settings: n = 500, 2000 or 4000 rows, 9 or 19 levels, 100, 20 or 10
epochs, no scaling of features or times. The error is the mean over 1,000 test rows and the levels
0.1, 0.5 and 0.9 of the squared distance to the true quantile. Two columns of the publication were
made by variants of their methods, which are built here from the package's parts and exist nowhere
else: DeepQuantReg with the Kaplan-Meier curve of the *event*, and a log-normal likelihood in which
every row counts both as seen and as censored.

    python benchmarks/paper_synthetic.py --table table_full_results.csv [--runs 10] [--out FILE]
"""

import argparse
import csv
import math
import platform
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr

import censquant
from censquant import CQRNN, DeepQuantReg, LogNormalNN, SequentialGridNN, UncensoredOnlyNN
from censquant import datasets as sets
from censquant.objectives import NormalLikelihood, WeightedPinball
from censquant.survival import TimeTransform, kaplan_meier

LEVELS = (0.1, 0.5, 0.9)
NINE = tuple(round(0.1 * k, 1) for k in range(1, 10))
NINETEEN = tuple(round(0.05 * k, 2) for k in range(1, 20))


@dataclass(frozen=True)
class EventCurvePinball(WeightedPinball):
    """Events weighted by 1 / (S(t) + 0.01) with the curve of the event, as the table was made."""

    def bind(self, train):
        """Take the Kaplan-Meier curve of the event."""
        return replace(self, curve=kaplan_meier(train.time, train.event, train.weight))

    def prepare(self, rows):
        """Weight the events."""
        weight = np.where(rows.event, 1.0 / (self.curve(rows.time) + 0.01), 0.0)
        return replace(rows, weight=weight.astype(np.float32))


class EventCurveDeepQuantReg(DeepQuantReg):
    """DeepQuantReg as run for the published table; not the published estimator."""

    def _make_objective(self, taus, target, transform):
        return EventCurvePinball(taus)


@dataclass(frozen=True)
class MixedUpNormalLikelihood(NormalLikelihood):
    """Log-normal likelihood as the table was made.

    Two slips of the authors' program: indicators of shape (n, 1) meet rows of shape (n,), so that
    every row counts as seen *and* as censored, by the batch's shares; and 1e-4 is added to the
    survival function before the logarithm.
    """

    def gradient(self, output, batch, out):
        """Return the loss and write its gradient."""
        mean, raw = output[:, 0].astype(float), output[:, 1].astype(float)
        scale = np.logaddexp(0.0, raw) + 1e-6
        slope = 1.0 / (1.0 + np.exp(-raw))
        u = (batch.time - mean) / scale
        survival = 1.0 - ndtr(u) + 1e-4
        seen = batch.event.mean()
        hazard = np.exp(-0.5 * u * u) / math.sqrt(2 * math.pi) / survival
        by_u = seen * u + (1 - seen) * hazard
        out[:, 0] = -by_u / scale / len(batch)
        out[:, 1] = (-by_u * u + seen) / scale * slope / len(batch)
        loss = seen * (0.5 * u * u + np.log(scale)) - (1 - seen) * np.log(survival)
        return float(loss.mean())


class MixedUpLogNormalNN(LogNormalNN):
    """LogNormalNN as run for the published table."""

    def _fit_transform(self, target, weight, *, mirror):
        # Counted as seen, rows censored soon after the start pull hard: they are not floored here.
        return TimeTransform(log=True, floor=1e-12)

    def _make_objective(self, taus, target, transform):
        return MixedUpNormalLikelihood()


def _four(censoring: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def train(seed):
        return sets.make_norm_4d(2000, censoring=censoring, random_state=seed)

    def test(data, seed):
        return sets.make_norm_4d(1000, offset=data.offset, random_state=seed)

    return train, test


def _eight(censoring: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return (
        lambda seed: sets.make_lognorm_8d(4000, censoring=censoring, random_state=seed),
        lambda data, seed: sets.make_lognorm_8d(1000, random_state=seed),
    )


def _one(make: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return (
        lambda seed: make(500, random_state=seed),
        lambda data, seed: make(1000, random_state=seed),
    )


# Name in the published table: training and test sets, levels, epochs, activation of grid methods.
SETS = {
    "Norm linear": (*_one(sets.make_norm_linear), NINE, 100, "gelu"),
    "Norm non-lin": (*_one(sets.make_norm_nonlinear), NINE, 100, "gelu"),
    "Exponential": (*_one(sets.make_exponential), NINE, 100, "gelu"),
    "Weibull": (*_one(sets.make_weibull), NINE, 100, "gelu"),
    "LogNorm": (*_one(sets.make_lognorm), NINE, 100, "gelu"),
    "Norm uniform": (*_one(sets.make_norm_uniform), NINE, 100, "gelu"),
    "Norm heavy": (*_four("heavy"), NINETEEN, 20, "relu"),
    "Norm med.": (*_four("medium"), NINETEEN, 20, "relu"),
    "Norm light": (*_four("light"), NINETEEN, 20, "relu"),
    "Norm same": (*_four("same"), NINETEEN, 20, "relu"),
    "LogNorm heavy": (*_eight("heavy"), NINETEEN, 10, "relu"),
    "LogNorm med.": (*_eight("medium"), NINETEEN, 10, "relu"),
    "LogNorm light": (*_eight("light"), NINETEEN, 10, "relu"),
    "LogNorm same": (*_eight("same"), NINETEEN, 10, "relu"),
}

# Name in the published table: estimator, and whether it was run with ReLU on all sets.
METHODS = {
    "CQRNN": (CQRNN, {}, False),
    "Sequential grid": (SequentialGridNN, {"crossed": "upper"}, True),
    "Excl. censor": (UncensoredOnlyNN, {}, False),
    "DeepQuantReg": (EventCurveDeepQuantReg, {}, False),
    "LogNorm MLE": (MixedUpLogNormalNN, {}, True),
}
EXTRA = {
    "CQRNN, interpolated, no y*": (CQRNN, {"level_rule": "interpolate", "y_star": None}, False),
    "Sequential grid, interpolated": (SequentialGridNN, {"crossed": "interpolate"}, True),
    "DeepQuantReg, as published": (DeepQuantReg, {}, False),
    "LogNorm MLE, exact": (LogNormalNN, {}, True),
}


def errors(dataset: str, method: str, n_runs: int, seed: int) -> np.ndarray:
    """Return the error of every run."""
    make_train, make_test, levels, epochs, activation = SETS[dataset]
    estimator, options, always_relu = {**METHODS, **EXTRA}[method]
    found = []
    for run in range(n_runs):
        data = make_train(seed + run)
        test = make_test(data, 10_000 + seed + run)
        model = estimator(
            levels,
            activation="relu" if always_relu else activation,
            max_epochs=epochs,
            standardize=False,
            time_transform=None,
            random_state=seed + run,
            **options,
        )
        X, y = data.X, data.y
        if isinstance(model, LogNormalNN):  # a normal time may be negative; such rows are left out
            X, y = X[y["time"] > 0], y[y["time"] > 0]
        model.fit(X, y)
        predicted = model.predict_quantiles(test.X, LEVELS, beyond="extrapolate")
        found.append(float(((predicted - test.true_quantiles(LEVELS)) ** 2).mean()))
    return np.array(found)


def main() -> None:
    """Run everything and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=Path, required=True, help="the published table as CSV")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=111)
    parser.add_argument("--methods", nargs="*", default=[*METHODS, *EXTRA])
    parser.add_argument("--datasets", nargs="*", default=list(SETS))
    parser.add_argument("--out", type=Path, help="write the table here too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with options.table.open() as file:
        published = {
            (row["dataset"], row["method"]): (float(row["tqmse_mean"]), float(row["tqmse_se"]))
            for row in csv.DictReader(file)
            if row["tqmse_mean"]
        }
    lines = [
        "| set | method | error | published | distance |",
        "|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    inside: dict[str, list[bool]] = {}
    for method in options.methods:
        for dataset in options.datasets:
            values = errors(dataset, method, options.runs, options.seed)
            mean, error = values.mean(), values.std(ddof=1) / math.sqrt(len(values))
            cells = [dataset, method, f"{mean:.4g} ± {error:.2g}"]
            if (dataset, method) in published:
                target, target_error = published[dataset, method]
                distance = (mean - target) / math.hypot(error, target_error)
                inside.setdefault(method, []).append(abs(distance) <= 3)
                cells += [f"{target:g} ± {target_error:g}", f"{distance:+.1f}"]
            else:
                cells += ["", ""]
            lines.append("| " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    lines.append("")
    for method, flags in inside.items():
        lines.append(f"- {method}: {sum(flags)} of {len(flags)} sets within 3 standard errors.")
        print(lines[-1])
    if options.out is not None:
        head = (
            f"Made by `python benchmarks/paper_synthetic.py --table {options.table.name} "
            f"--runs {options.runs} --seed {options.seed}` with censquant {censquant.__version__}, "
            f"Python {platform.python_version()}, numpy {np.__version__}. Errors are means over "
            f"{options.runs} runs with their standard errors; the distance to the published mean "
            "is in joint standard errors.\n\n"
        )
        options.out.write_text(head + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
