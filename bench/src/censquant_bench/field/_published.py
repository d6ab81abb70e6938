"""The scores that the study published, by learner and data set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from censquant_bench.datasets import field_scores

if TYPE_CHECKING:
    from pandas import DataFrame, Series

COX, KAPLAN_MEIER = "CPH", "KM"

LEARNERS = {
    KAPLAN_MEIER: "Kaplan-Meier",
    "NEL": "Nelson-Aalen",
    "AK": "Akritas",
    COX: "Cox",
    "GLMN": "glmnet",
    "Pen": "penalized",
    "NCV": "ncvreg",
    "AFT": "AFT",
    "Flex": "flexsurv",
    "GAM": "GAM",
    "RFSRC": "randomForestSRC",
    "RAN": "ranger",
    "CIF": "conditional forest",
    "ORSF": "oblique forest",
    "RRT": "tree",
    "MBSTCox": "mboost, Cox",
    "MBSTAFT": "mboost, AFT",
    "CoxB": "CoxBoost",
    "XGBCox": "XGBoost, Cox",
    "XGBAFT": "XGBoost, AFT",
    "SSVM": "survival SVM",
}
"""Titles of the study's learners."""

PUBLISHED_METRICS = {
    "cindex_restricted_mean": ("harrell_c", "harrell_c"),
    "cindex": ("harrell_c", "harrell_c"),
    "isbs": ("isbs", "isbs"),
    "dcalib": ("dcalib", "isbs"),
}
"""The study's name of each score of ours, and of the score that learners were tuned for."""

_PREFIX = "field_"


@dataclass(frozen=True, eq=False)
class PublishedScores:
    """The study's scores, each of the tuning for it; D-calibration of the tuning for ISBS.

    Parameters
    ----------
    table : DataFrame
        As `censquant_bench.datasets.field_scores` returns it.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.field import PublishedScores
    >>> table = pd.DataFrame({"task": "lung", "learner": "CPH", "tuned_for": "harrell_c,isbs",
    ...                       "iteration": [1, 2], "harrell_c": [0.6, 0.7], "isbs": [0.15, 0.17]})
    >>> PublishedScores(table).means("field_lung", "isbs", [1, 2]).round(3).to_dict()
    {'CPH': 0.16}
    """

    table: DataFrame

    @classmethod
    def read(cls) -> PublishedScores | None:
        """Return the scores; None where their file is not in the data folder."""
        try:
            return cls(field_scores())
        except FileNotFoundError:
            return None

    def means(self, dataset: str, metric: str, runs: Iterable[int]) -> Series:
        """Return each learner's mean over the iterations, without learners that lack one of them.

        Parameters
        ----------
        dataset : str
            Name in the rows of the benchmark.
        metric : str
            Name in the rows of the benchmark.
        runs : iterable of int
            Iterations: those that our own mean is of.

        Returns
        -------
        means : Series
            By learner; empty for sets that the study does not have.
        """
        (theirs, tuning), wanted = PUBLISHED_METRICS[metric], sorted(set(runs))
        scores = self.table[
            (self.table["task"] == dataset.removeprefix(_PREFIX))
            & self.table["tuned_for"].str.split(",").map(lambda names: tuning in names)
            & self.table["iteration"].isin(wanted)
        ]
        wide = scores.pivot(index="learner", columns="iteration", values=theirs)
        return wide.reindex(columns=wanted).mean(axis=1, skipna=False).dropna()

    def learners(self, metric: str) -> list[str]:
        """Return the learners that were tuned for a score, in the order of their titles."""
        theirs, tuning = PUBLISHED_METRICS[metric]
        tuned = self.table["tuned_for"].str.split(",").map(lambda names: tuning in names)
        known = set(self.table.loc[tuned & self.table[theirs].notna(), "learner"])
        return [name for name in LEARNERS if name in known] + sorted(known - set(LEARNERS))
