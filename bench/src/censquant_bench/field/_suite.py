"""The suite of the field's comparison."""

import functools
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant import datasets as data
from censquant import estimators
from censquant_bench._conventions import RunConventions
from censquant_bench._curve_scores import scores_of_curves
from censquant_bench._datasets import NINE_LEVELS, BenchmarkDataset, TrainTestData
from censquant_bench._kaplan_meier import KaplanMeierBaseline
from censquant_bench._methods import RECOMMENDED, BenchmarkMethod
from censquant_bench._suites import Suite
from censquant_bench.datasets import (
    FIELD_CONFIRMATION,
    FIELD_DATASETS,
    FIELD_DEVELOPMENT,
    fetch_field,
    field_folds,
)
from censquant_bench.field._published import COX, KAPLAN_MEIER, LEARNERS, PublishedScores
from censquant_bench.reporting import Comparison, ranks_figure


class FieldConventions(RunConventions):
    """Scores each fit by the study's measures as well.

    ``cindex_restricted_mean`` is Harrell's C of the area under each predicted survival curve up to
    the last evaluation time, ``isbs`` the integrated survival Brier score, ``dcalib`` the
    statistic of D-calibration; ``log_score``, which the study does not have, needs no model of the
    censoring.

    Examples
    --------
    >>> from censquant_bench import get_dataset
    >>> from censquant_bench import KaplanMeierBaseline
    >>> from censquant_bench.field import FieldConventions
    >>> data = get_dataset("norm_linear").train_test(111)
    >>> model = KaplanMeierBaseline().fit(data.X, data.y)
    >>> FieldConventions().more_scores(model, data.X_test, data)["cindex_restricted_mean"]
    0.5
    """

    def more_scores(self, model: Any, X_test: Any, data: TrainTestData) -> dict[str, float]:
        """Return the study's measures on the test rows.

        Parameters
        ----------
        model : estimator
            Fitted, with ``predict_curve`` or anything that `censquant.adapt` takes.
        X_test : ndarray or DataFrame of shape (m, n_features)
            Features to score on, in the form that the model was fitted to.
        data : TrainTestData
            What it was fitted to and is scored on.

        Returns
        -------
        scores : dict of str to float
        """
        return scores_of_curves(model, X_test, data)


_README = {
    "dropout": 0.33,
    "max_epochs": 20,
    "level_rule": "interpolate",
    "y_star": None,
    "n_members": 5,
}


@dataclass(frozen=True)
class DefaultBuild:
    """Makes an estimator with its own defaults, whatever the data set."""

    estimator: type
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, dataset: BenchmarkDataset, options: Mapping[str, Any], seed: int) -> Any:
        known = inspect.signature(self.estimator).parameters
        settings = {**self.fixed, "random_state": seed, **options}
        return self.estimator(**{key: value for key, value in settings.items() if key in known})


def _method(name: str, title: str, build: DefaultBuild, **options: Any) -> BenchmarkMethod:
    return BenchmarkMethod(name, title, build, threadsafe=True, **options)


FIELD_METHODS = (
    _method("kaplan_meier", "Kaplan-Meier", DefaultBuild(KaplanMeierBaseline), note="no features"),
    _method("cqrnn_default", "CQRNN()", DefaultBuild(estimators.CQRNN)),
    _method(
        "cqrnn_readme",
        "CQRNN, README's settings",
        DefaultBuild(estimators.CQRNN, _README),
        note="dropout 0.33, 20 epochs, interpolated levels, no y*, 5 members",
    ),
    _method(
        "lognormal_default",
        "LogNormalNN()",
        DefaultBuild(estimators.LogNormalNN),
        positive_times=True,
    ),
    _method(
        "weibull_default", "WeibullNN()", DefaultBuild(estimators.WeibullNN), positive_times=True
    ),
)
"""Estimators as they come, and the Kaplan-Meier curve."""


_FEW = ("check_times", "child", "colrec", "hdfail", "support")
_LARGE = (
    *("aids2", "cat_adoption", "flchain", "gbsg", "metabric", "nafld1", "nwtco", "rdata"),
    "wa_churn",
)


@dataclass(frozen=True)
class FieldDraw:
    """Training and test rows of one of the study's iterations, which stands in a seed's place."""

    name: str

    def __call__(self, seed: int, split: str, n_train: int | None) -> TrainTestData:
        frame, X, y, feature_names = _rows(self.name, data.fetch_files(f"field_{self.name}"))
        folds = field_folds(self.name)
        folds = folds[folds["iteration"] == seed]
        if folds.empty:
            raise ValueError(
                f"The data set field_{self.name} has no iteration {seed}; run it in the suite "
                "'field', whose runs are the study's iterations."
            )
        train, test = (_row_numbers(folds, part) for part in ("train", "test"))
        return TrainTestData(
            X[train],
            y[train],
            X[test],
            y[test],
            feature_names=feature_names,
            frames=(frame.iloc[train], frame.iloc[test]),
        )


def _row_numbers(folds: Any, part: str) -> NDArray[np.intp]:
    rows: NDArray[np.intp] = folds.loc[folds["set"] == part, "row_id"].to_numpy(np.intp) - 1
    return rows


@functools.lru_cache(maxsize=4)
def _rows(
    name: str, files: tuple[Path, ...]
) -> tuple[Any, NDArray[np.float64], NDArray[np.void], tuple[str, ...]]:
    """Return a set as a frame and as numbers; the files say when it must be read anew."""
    frame, y = fetch_field(name)
    plain = fetch_field(name, return_X_y=False, as_frame=False)
    return frame, plain.data, y, plain.feature_names


def _field(name: str) -> BenchmarkDataset:
    info = data.describe(f"field_{name}")
    most_runs = 3 if name in _FEW else 15 if name in _LARGE else 30
    return BenchmarkDataset(
        info.name, info.title, "field", NINE_LEVELS, FieldDraw(name), most_runs=most_runs
    )


FIELD_BENCHMARK_DATASETS = tuple(_field(name) for name in FIELD_DATASETS)
"""The study's sets; their runs are its iterations."""


def _names(part: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"field_{name}" for name in part)


FIELD_GROUPS = {
    "field": _names(FIELD_DATASETS),
    "field-development": _names(FIELD_DEVELOPMENT),
    "field-confirmation": _names(FIELD_CONFIRMATION),
}
"""All sets of the study, those that methods are developed on, and those that only confirm."""

FIELD_COMPARISON = Comparison(
    {
        "cindex_restricted_mean": "C",
        "cindex": "C of the median",
        "isbs": "ISBS",
        "dcalib": "D-calibration",
    },
    PublishedScores.read,
    {COX: "Cox", KAPLAN_MEIER: "Kaplan-Meier"},
    (
        "C: Harrell's C of the restricted mean, up to the last evaluation time. ISBS: integrated "
        "survival Brier score at the distinct test times up to the first by which more than 80 % "
        "are no longer at risk, weighted by the censoring curve of the training rows. "
        "D-calibration: chi-squared statistic in ten bins.",
        "Published scores are of Burk et al. (2026): learners tuned by nested resampling for the "
        "score shown, for ISBS in the table of D-calibration, means over the same iterations. "
        "Bold: better than all of them.",
    ),
    "field/published_scores.csv is not in the folder that CENSQUANT_DATA names, so nothing is "
    "compared.",
    LEARNERS,
    runs="Iterations",
    digits={"isbs": 4, "dcalib": 2},
    beside={"cindex_restricted_mean": ("cindex",)},
)
"""What methods are compared with, and how."""


FIELD_SUITE = Suite(
    "field",
    "Estimators as they come on the 34 sets of Burk et al., ranked among their 21 tuned learners.",
    tuple(dataset.name for dataset in FIELD_BENCHMARK_DATASETS),
    (RECOMMENDED.name, *(method.name for method in FIELD_METHODS)),
    n_runs={"field": 3},
    conventions=FieldConventions(),
    tables=FIELD_COMPARISON.tables,
    figure=functools.partial(ranks_figure, [FIELD_COMPARISON]),
    first_seed=1,
)
"""The field's comparison; a run is one of its iterations."""
