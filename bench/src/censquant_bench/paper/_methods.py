"""The paper's methods with the settings that were tuned for the published numbers."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from censquant import estimators
from censquant_bench._datasets import BenchmarkDataset
from censquant_bench._methods import BenchmarkMethod
from censquant_bench.paper._as_published import EventCurveDeepQuantReg, MixedUpLogNormalNN
from censquant_bench.paper._image_network import cnn_as_run, trained_cnn
from censquant_bench.paper._published import PUBLISHED_COLUMNS

# The same for all networks of the paper, whatever an estimator's own defaults are.
_NETWORK: Mapping[str, Any] = {
    "hidden_layer_sizes": (100, 100),
    "activation": "relu",
    "dropout": 0.0,
    "learning_rate": 0.01,
    "weight_decay": 1e-4,
    "batch_size": 128,
    "max_epochs": 100,
}
_DROPOUT = 0.333
_USUAL_EPOCHS = 50

# Epochs by set, d for dropout: tuned by the authors on three splits outside the published runs.
_COLUMNS = ("cqrnn", "excl_censor", "deepquantreg", "lognorm")
TUNED: Mapping[str, Mapping[str, str]] = {
    name: dict(zip(_COLUMNS, cells.split(), strict=True))
    for name, cells in {
        "housing": "10 50d 100 10d",
        "protein": "50 50 100 100",
        "wine": "20 10 20d 100",
        "phm2008": "10 20 10d 10",
        "survmnist": "10d 20d 20d 10d",
        "metabric": "20d 20d 10d 10d",
        "whas": "100 10d 10d 50",
        "support": "10 10d 10d 20d",
        "gbsg": "20d 10d 10d 10d",
        "tmb_immuno": "50 100d 20d 50d",
        "breast_msk": "100 10d 20d 50",
        "lgggbm": "50d 50d 50d 20d",
    }.items()
}
"""Tuned settings of the four methods by set."""


@dataclass(frozen=True)
class PaperBuild:
    """Makes an estimator of this package under the paper's settings."""

    estimator: type
    tuned: str
    """Column of `TUNED`."""
    always_relu: bool = False
    as_run: bool = True
    """Whether the last layer for images stays untrained."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Settings that no data set changes."""

    def __call__(self, dataset: BenchmarkDataset, options: Mapping[str, Any], seed: int) -> Any:
        settings: dict[str, Any] = {
            **_NETWORK,
            "quantiles": dataset.taus,
            "random_state": seed,
        }
        if dataset.prepared:
            settings |= {"standardize": False, "time_transform": None, "max_epochs": _USUAL_EPOCHS}
        if dataset.name in TUNED and dataset.prepared:
            cell = TUNED[dataset.name][self.tuned]
            # An image network brings dropout of its own.
            dropped = cell.endswith("d") and not dataset.heavy
            settings |= {"max_epochs": int(cell.removesuffix("d")), "dropout": _DROPOUT * dropped}
        settings |= dataset.settings
        if settings.get("network") is cnn_as_run and not self.as_run:
            settings["network"] = trained_cnn
        if self.always_relu:
            settings["activation"] = "relu"
        settings |= {**self.fixed, **options}
        known = inspect.signature(self.estimator).parameters
        return self.estimator(**{key: value for key, value in settings.items() if key in known})


def _method(
    name: str, title: str, build: PaperBuild, *, positive_times: bool = False
) -> BenchmarkMethod:
    column = PUBLISHED_COLUMNS.get(name)
    return BenchmarkMethod(
        name,
        title,
        build,
        note=f"column {column} of the paper" if column else "",
        positive_times=positive_times,
        threadsafe=True,
    )


PAPER_METHODS = (
    _method("cqrnn", "CQRNN", PaperBuild(estimators.CQRNN, "cqrnn")),
    _method(
        "sequential_grid",
        "Sequential grid",
        PaperBuild(
            estimators.SequentialGridNN, "cqrnn", always_relu=True, fixed={"crossed": "upper"}
        ),
    ),
    _method("excl_censor", "Excl. censor", PaperBuild(estimators.UncensoredOnlyNN, "excl_censor")),
    _method(
        "deepquantreg_as_run",
        "DeepQuantReg, event curve (as run)",
        PaperBuild(EventCurveDeepQuantReg, "deepquantreg"),
    ),
    _method(
        "lognorm_as_run",
        "LogNorm MLE, mixed up (as run)",
        PaperBuild(MixedUpLogNormalNN, "lognorm", always_relu=True),
        positive_times=True,
    ),
    _method(
        "cqrnn_interpolated",
        "CQRNN, interpolated, no y*",
        PaperBuild(
            estimators.CQRNN,
            "cqrnn",
            as_run=False,
            fixed={"level_rule": "interpolate", "y_star": None},
        ),
    ),
    _method(
        "deepquantreg",
        "DeepQuantReg",
        PaperBuild(estimators.DeepQuantReg, "deepquantreg", as_run=False),
    ),
    _method(
        "lognorm",
        "LogNorm MLE",
        PaperBuild(estimators.LogNormalNN, "lognorm", always_relu=True, as_run=False),
        positive_times=True,
    ),
    _method(
        "weibull",
        "Weibull MLE",
        # Not the paper's, so with the package's own scaling: without it one fit in a few diverges.
        PaperBuild(
            estimators.WeibullNN,
            "lognorm",
            always_relu=True,
            as_run=False,
            fixed={"standardize": True, "time_transform": "standardize"},
        ),
        positive_times=True,
    ),
)
"""The paper's five methods as they were run, and the ones to use instead."""
