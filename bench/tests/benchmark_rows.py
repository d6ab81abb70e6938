"""Rows as the benchmark writes them, with what a test does not care about filled in."""

import pandas as pd

from censquant_bench.reporting import Labels

LABELS = Labels(
    datasets={
        "norm_linear": "Norm linear",
        "norm_light": "Norm light",
        "housing": "Housing",
        "whas": "WHAS",
        "gbsg": "GBSG",
    },
    methods={
        "cqrnn": "CQRNN",
        "sequential_grid": "Sequential grid",
        "lognorm_as_run": "LogNorm MLE (as run)",
    },
)

DEFAULTS = {
    "suite": "main",
    "dataset": "gbsg",
    "method": "cqrnn",
    "split": "random",
    "variant": "",
    "seed": 1,
    "n_train": 100,
    "n_levels": 9,
    "n_parameters": 1000,
    "n_steps": 400,
    "fit_seconds": 0.2,
    "predict_seconds": 0.01,
    "plain_step_seconds": 0.001,
    "n_slots": 2,
    "error": "",
}


def cell(scores, **common):
    """Runs with the seeds 1, 2, ...: one for each entry of the lists in `scores`."""
    n = len(next(iter(scores.values())))
    runs = [{name: values[k] for name, values in scores.items()} for k in range(n)]
    return [{**DEFAULTS, **common, "seed": k + 1, **run} for k, run in enumerate(runs)]


def frame(*cells):
    return pd.DataFrame([row for rows in cells for row in rows])


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]
