"""SurvHub: data sets of SurvSet, five times five folds, Harrell's C of 15 learners."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from censquant_bench._conventions import RunConventions
from censquant_bench._curve_scores import scores_of_curves
from censquant_bench._datasets import NINE_LEVELS, BenchmarkDataset, TrainTestData
from censquant_bench._methods import RECOMMENDED
from censquant_bench._suites import Suite
from censquant_bench.comparisons._tools import published, survset, train_test
from censquant_bench.reporting import Comparison, Labels, Table, ranks_figure

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_SMALL = (
    *("Bergamaschi", "GBSG2", "Melanoma", "Unemployment", "burn", "cancer", "cgd", "cost"),
    *("follic", "glioma", "hepatoCellular", "micro.censure", "nki70", "pharmacoSmoking", "stagec"),
    "uis",
)
_LARGE = (
    *("Aids2", "Dialysis", "LeukSurv", "UnempDur", "actg", "dataDIVAT1", "divorce", "rdata"),
    "scania",
)
_N_SEEDS, _N_FOLDS = 5, 5
_PREFIX = "survhub_"
_METRICS = ("cindex_restricted_mean", "cindex")


@dataclass(frozen=True)
class SurvHubDraw:
    """Training and test rows of a fold: runs count folds of the study's first seed, then others."""

    name: str

    def __call__(self, seed: int, split: str, n_train: int | None) -> TrainTestData:
        from sklearn.model_selection import StratifiedKFold

        if not 0 <= seed < _N_SEEDS * _N_FOLDS:
            raise ValueError(
                f"The data set {_PREFIX}{self.name} has no run {seed}; run it in the suite "
                "'survhub', whose runs are the 25 folds of the study, from 0 on."
            )
        frame = survset(self.name)
        repetition, fold = divmod(seed, _N_FOLDS)
        folds = StratifiedKFold(_N_FOLDS, shuffle=True, random_state=repetition + 1)
        event = frame["event"].to_numpy().astype(bool)
        train, test = list(folds.split(np.arange(len(frame)), event))[fold]
        return train_test(frame, train, test, [name for name in frame if name.startswith("fac_")])


class SurvHubConventions(RunConventions):
    """Scores each fit by the study's C, of the mean up to the last training time, and by others.

    Examples
    --------
    >>> from censquant_bench import KaplanMeierBaseline, get_dataset
    >>> from censquant_bench.comparisons import SurvHubConventions
    >>> data = get_dataset("norm_linear").train_test(111)
    >>> model = KaplanMeierBaseline().fit(data.X, data.y)
    >>> SurvHubConventions().more_scores(model, data.X_test, data)["cindex_restricted_mean"]
    0.5
    """

    def more_scores(self, model: Any, X_test: Any, data: TrainTestData) -> dict[str, float]:
        """Return the scores of predicted curves on the test rows.

        Parameters
        ----------
        model : estimator
            Fitted.
        X_test : ndarray or DataFrame of shape (m, n_features)
            Features to score on, in the form that the model was fitted to.
        data : TrainTestData
            What it was fitted to and is scored on.

        Returns
        -------
        scores : dict of str to float
        """
        return scores_of_curves(model, X_test, data, float(data.y["time"].max()))


@dataclass(frozen=True, eq=False)
class SurvHubScores:
    """Harrell's C of the study's learners by fold.

    Parameters
    ----------
    table : DataFrame
        Columns ``dataset``, ``fold`` and one per learner.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.comparisons import SurvHubScores
    >>> table = pd.DataFrame({"dataset": "burn", "fold": [0, 1], "rsf": [0.5, 0.75]})
    >>> SurvHubScores(table).means("survhub_burn", "cindex", [0, 1]).to_dict()
    {'rsf': 0.625}
    """

    table: DataFrame

    @classmethod
    def read(cls, size: str) -> SurvHubScores | None:
        """Return the scores on small or large sets; None where their file is not there."""
        table = published(f"published_{size}.csv", "taltstidl/survhub on GitHub")
        return None if table is None else cls(table)

    def means(self, dataset: str, metric: str, runs: Iterable[int]) -> Series:
        """Return each learner's mean over the folds, without learners that lack one of them."""
        wanted = sorted(set(runs))
        own = self.table[self.table["dataset"] == dataset.removeprefix(_PREFIX)]
        scores = own.set_index("fold")[self.learners(metric)]
        if not len(scores):
            return scores.mean().dropna()
        return scores.reindex(wanted).mean(skipna=False).dropna()

    def learners(self, metric: str) -> list[str]:
        """Return the learners; none for scores that the study does not have."""
        return list(self.table.columns[2:]) if metric in _METRICS else []


def _dataset(name: str) -> BenchmarkDataset:
    return BenchmarkDataset(
        f"{_PREFIX}{name}",
        f"{name} (SurvHub)",
        "field",
        NINE_LEVELS,
        SurvHubDraw(name),
        most_runs=_N_SEEDS * _N_FOLDS,
    )


SURVHUB_DATASETS = tuple(_dataset(name) for name in (*_SMALL, *_LARGE))
"""Sets of the study; their runs are its folds."""

SURVHUB_GROUPS = {
    "survhub-small": tuple(f"{_PREFIX}{name}" for name in _SMALL),
    "survhub-large": tuple(f"{_PREFIX}{name}" for name in _LARGE),
}
"""Sets of at most 1,000 rows, which the study gave to more learners, and the others."""

_TITLES = {
    "cindex_restricted_mean": "C",
    "cindex": "C of the median",
    "log_score": "Log score",
    "isbs": "ISBS",
    "dcalib": "D-calibration",
}


def _comparison(size: str, title: str) -> Comparison:
    return Comparison(
        _TITLES,
        partial(SurvHubScores.read, size),
        {"coxnet-tuned": "Tuned Cox", "coxnet": "Cox"},
        (
            "C: Harrell's C of the restricted mean up to the last training time. Log score: "
            "right-censored, in 40 cells; lower is better. ISBS: integrated Brier score with the "
            "training rows' censoring curve. D-calibration: chi-squared statistic in ten bins.",
            "Published scores are of SurvHub (taltstidl/survhub, 2026), means over the same folds. "
            "Bold: better than all of them.",
        ),
        f"survhub/published_{size}.csv is not in the folder that CENSQUANT_DATA names, so nothing "
        "is compared.",
        title=title,
        datasets=frozenset(SURVHUB_GROUPS[f"survhub-{size}"]),
        runs="Folds",
        digits={"isbs": 4},
        beside={"cindex_restricted_mean": ("cindex", "log_score", "isbs", "dcalib")},
    )


SURVHUB_COMPARISONS = (
    _comparison("small", "at most 1,000 rows"),
    _comparison("large", "more than 1,000 rows"),
)
"""What methods are compared with: the two collections have different learners."""


def _tables(rows: DataFrame, labels: Labels) -> list[Table]:
    return [table for one in SURVHUB_COMPARISONS for table in one.tables(rows, labels)]


SURVHUB_SUITE = Suite(
    "survhub",
    "Estimators as they come on 25 sets of SurvHub, ranked among its learners.",
    tuple(one.name for one in SURVHUB_DATASETS),
    (RECOMMENDED.name, "kaplan_meier"),
    n_runs={"field": _N_FOLDS},
    conventions=SurvHubConventions(),
    tables=_tables,
    figure=partial(ranks_figure, SURVHUB_COMPARISONS),
    first_seed=0,
)
"""SurvHub's comparison; a run is one of its folds, five of which are one repetition."""
