"""SurvivalPFN's protocol: ten random splits of SurvSet's data sets, scored by SurvivalEVAL."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from censquant.estimators import adapt
from censquant_bench._conventions import RunConventions
from censquant_bench._datasets import NINE_LEVELS, BenchmarkDataset, TrainTestData
from censquant_bench._methods import RECOMMENDED
from censquant_bench._suites import Suite
from censquant_bench.comparisons._tools import (
    PublishedMeans,
    published,
    survset,
    tool,
    train_test,
)
from censquant_bench.reporting import Comparison, ratios_figure

_NAMES = (
    *("Bergamaschi", "Dialysis", "FRTCS", "GBSG2", "LeukSurv", "Melanoma", "Unemployment"),
    *("acath", "actg", "burn", "cancer", "cgd", "cost", "dataOvarian1", "diabetes", "divorce"),
    *("e1684", "hdfail", "hepatoCellular", "micro.censure", "nki70", "scania", "stagec", "whas500"),
)
_PREFIX = "survivalpfn_"
_TRAINING_SHARE = 0.7
_METRICS = {"eval_c": "CI", "eval_mae": "MAE", "eval_ibs": "IBS", "eval_dcalib": "Dcal(stats)"}


@dataclass(frozen=True)
class SurvivalPFNDraw:
    """A random 70 % of the rows with a positive time for training; categories as numbers."""

    name: str

    def __call__(self, seed: int, split: str, n_train: int | None) -> TrainTestData:
        import pandas as pd

        tool("SurvivalEVAL")  # rather now than after the fit
        frame = survset(self.name)
        frame = frame[frame["time"] > 0]
        factors = [name for name in frame if name.startswith("fac_")]
        frame = pd.get_dummies(frame, columns=factors, drop_first=True, dtype=float)
        frame = frame.sample(frac=1, random_state=seed)
        n = int(_TRAINING_SHARE * len(frame))
        return train_test(frame, np.arange(n), np.arange(n, len(frame)), ())


class SurvivalPFNConventions(RunConventions):
    """Scores each fit by SurvivalEVAL as the study did.

    ``eval_c`` is the concordance of the median, ``eval_mae`` its mean absolute error with weighted
    pseudo-observations for censored rows, ``eval_ibs`` the integrated Brier score at ten times,
    ``eval_dcalib`` the statistic of D-calibration.
    """

    def more_scores(self, model: Any, X_test: Any, data: TrainTestData) -> dict[str, float]:
        """Return the study's scores on the test rows.

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
        evaluators = tool("SurvivalEVAL")
        curves = (model if hasattr(model, "predict_curve") else adapt(model)).predict_curve(X_test)
        times = np.unique(np.append(data.y["time"], 0.0))
        median = np.asarray(model.predict_quantiles(X_test, [0.5]), dtype=np.float64)[:, 0]
        rows = [one[name] for one in (data.y_test, data.y) for name in ("time", "event")]
        whole = evaluators.SurvivalEvaluator(curves.survival(times), times, *rows)
        point = evaluators.PointEvaluator(median, *rows)
        counts = np.asarray(whole.d_calibration()[1], dtype=np.float64)
        expected = counts.mean()
        return {
            "eval_c": float(whole.concordance(ties="Risk")[0]),
            "eval_mae": float(point.mae(method="Pseudo_obs", weighted=True)),
            "eval_ibs": float(whole.integrated_brier_score(num_points=10)),
            "eval_dcalib": float(((counts - expected) ** 2).sum() / expected),
        }


def _dataset(name: str) -> BenchmarkDataset:
    title = f"{name} (SurvivalPFN)"
    draw = SurvivalPFNDraw(name)
    return BenchmarkDataset(f"{_PREFIX}{name}", title, "field", NINE_LEVELS, draw)


def _read() -> PublishedMeans | None:
    table = published("survivalpfn_published.csv", "rgklab/SurvivalPFN on GitHub")
    return None if table is None else PublishedMeans(table, _PREFIX, _METRICS)


SURVIVALPFN_DATASETS = tuple(_dataset(name) for name in _NAMES)
"""Sets of the study; their runs are its splits."""

SURVIVALPFN_COMPARISON = Comparison(
    {"eval_c": "C", "eval_mae": "MAE", "eval_ibs": "IBS", "eval_dcalib": "D-calibration"},
    _read,
    {"SurvivalPFN": "SurvivalPFN"},
    (
        "By SurvivalEVAL 0.6.1. C: of the median. MAE: of the median, with weighted "
        "pseudo-observations for censored rows. IBS: at ten times, the last of which is the end of "
        "follow-up, where one weight can dominate. D-calibration: chi-squared statistic in ten "
        "bins.",
        "Published scores are the means of all ten splits. Bold: better.",
    ),
    "survhub/survivalpfn_published.csv is not in the folder that CENSQUANT_DATA names, so nothing "
    "is compared.",
    runs="Splits",
    digits={"eval_mae": 2, "eval_ibs": 4, "eval_dcalib": 2},
)
"""What methods are compared with."""

SURVIVALPFN_SUITE = Suite(
    "survivalpfn",
    "The recommended estimator on 24 sets by the protocol of SurvivalPFN, a foundation model.",
    tuple(one.name for one in SURVIVALPFN_DATASETS),
    (RECOMMENDED.name,),
    conventions=SurvivalPFNConventions(),
    tables=SURVIVALPFN_COMPARISON.tables,
    figure=partial(ratios_figure, SURVIVALPFN_COMPARISON),
    first_seed=0,
)
"""SurvivalPFN's comparison; a run is one of its splits."""
