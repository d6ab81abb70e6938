"""Rows of runs summarized as means and standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame, Series

CELL = ("dataset", "method", "split", "variant")
"""Columns that say which runs belong together."""

SCORES = (
    "tqmse",
    "uql",
    "undcal",
    "cindex",
    "censdcal",
    "tqmse_all",
    "tqmse_identified",
    "tqmse_beyond",
    "beyond_share",
    "crossing",
    "cindex_ipcw",
    "cindex_restricted_mean",
    "isbs",
    "dcalib",
    "log_score",
    "eval_c",
    "eval_mae",
    "eval_ibs",
    "eval_dcalib",
    "hazardous_ibs",
    "eval_km_calibration",
    "eval_x_calibration",
    "pinball",
    "pinball_ipcw",
    "crps",
    "pit_deviation",
    "a_calibration_p",
    "mae_margin",
    "coverage",
    "nominal_coverage",
)
"""Columns with one number per run that says how good the predictions were."""

HIGHER_IS_BETTER = frozenset({"cindex", "cindex_ipcw", "cindex_restricted_mean", "eval_c"})
"""Scores where more is better; of all others that are ranked, less is better."""


@dataclass(frozen=True)
class Labels:
    """Titles of datasets and methods.

    Unknown names stand for themselves, so a user's own data and methods need no entry. The order
    of the entries is the order of the tables' rows; names without one follow, sorted.

    Parameters
    ----------
    datasets : mapping of str to str
        Name in the rows to title.
    methods : mapping of str to str
        Name in the rows to title.

    Examples
    --------
    >>> from censquant_bench.reporting import Labels
    >>> labels = Labels({"norm_medium": "Norm med."}, {"cqrnn": "CQRNN"})
    >>> labels.dataset("norm_medium"), labels.dataset("mine")
    ('Norm med.', 'mine')
    >>> labels.ordered_methods(["b", "cqrnn"])
    ['cqrnn', 'b']
    """

    datasets: Mapping[str, str] = field(default_factory=dict)
    methods: Mapping[str, str] = field(default_factory=dict)

    def dataset(self, name: str) -> str:
        """Title of a dataset."""
        return self.datasets.get(name, name)

    def method(self, name: str) -> str:
        """Title of a method."""
        return self.methods.get(name, name)

    def ordered_datasets(self, names: Iterable[str]) -> list[str]:
        """Each name once, in the order of the entries."""
        return _ordered(names, self.datasets)

    def ordered_methods(self, names: Iterable[str]) -> list[str]:
        """Each name once, in the order of the entries."""
        return _ordered(names, self.methods)


def _ordered(names: Iterable[str], known: Mapping[str, str]) -> list[str]:
    place = {name: rank for rank, name in enumerate(known)}
    return sorted(set(names), key=lambda name: (place.get(name, len(place)), name))


def tidy(frame: DataFrame) -> DataFrame:
    """Return the rows in one order whatever the order they finished in, or raise one sentence.

    Sums of floats depend on their order, so the same runs give the same digits only from here on.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting import tidy
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "a", "method": "m", "split": "random",
    ...                      "variant": "", "seed": [2, 1], "cindex": [0.7, 0.6]})
    >>> tidy(rows)["cindex"].tolist()
    [0.6, 0.7]
    """
    key = ["suite", *CELL, "seed"]
    if not len(frame):
        raise ValueError("frame must have at least one run, got no rows; run the suite first.")
    missing = [name for name in key if name not in frame.columns]
    if missing:
        raise ValueError(
            f"frame must have the columns {', '.join(key)}, got none named {missing[0]!r}; "
            "pass the rows as the benchmark wrote them."
        )
    rows = frame.assign(variant=frame["variant"].fillna(""))
    rows["error"] = frame["error"].fillna("") if "error" in frame.columns else ""
    suites = sorted(rows["suite"].unique())
    if len(suites) > 1:
        raise ValueError(f"frame must hold one suite, got {', '.join(suites)}; select one of them.")
    doubled = rows.duplicated(key)
    if doubled.any():
        run = ", ".join(str(value) for value in rows.loc[doubled, key].iloc[0])
        raise ValueError(f"frame must have every run once, got {run} twice; drop one of the rows.")
    return rows.sort_values(key, kind="stable", ignore_index=True)


def fine(frame: DataFrame) -> DataFrame:
    """Return tidy rows of the runs that did not fail.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting import fine
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "a", "method": "m", "split": "random",
    ...                      "variant": "", "seed": [1, 2], "error": ["", "NaN loss"]})
    >>> fine(rows)["seed"].tolist()
    [1]
    """
    rows = tidy(frame)
    return rows[rows["error"] == ""].reset_index(drop=True)


def random_split(frame: DataFrame) -> DataFrame:
    """Return tidy rows of the runs on the random split that did not fail.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting import random_split
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "a", "method": "m", "variant": "",
    ...                      "split": ["random", "grouped"], "seed": 1})
    >>> len(random_split(rows))
    1
    """
    return first_split(fine(frame)).reset_index(drop=True)


def first_split(rows: DataFrame) -> DataFrame:
    """Return rows of the random split, and of the grouped one of sets that have no other.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting import first_split
    >>> rows = pd.DataFrame({"dataset": ["a", "a", "b"], "split": ["random", "grouped", "grouped"]})
    >>> first_split(rows)["dataset"].tolist()
    ['a', 'b']
    """
    has_random = rows["dataset"].isin(rows.loc[rows["split"] == "random", "dataset"])
    return rows[(rows["split"] == "random") | ~has_random]


def mean_and_error(values: Series | Sequence[float]) -> tuple[float, float, int]:
    """Mean, standard error of the mean (ddof 1) and number of the values that are there.

    The standard error of a single value is not known: NaN.

    Examples
    --------
    >>> from censquant_bench.reporting import mean_and_error
    >>> mean_and_error([1.0, 3.0, float("nan")])
    (2.0, 1.0, 2)
    """
    array = np.asarray(values, dtype=np.float64)
    there = array[~np.isnan(array)]
    if not there.size:
        return math.nan, math.nan, 0
    # An infinite score makes the mean infinite and its error unknown, and is no cause for alarm.
    # Squares of scores above 1e154 would overflow; dividing by a power of two rounds nothing.
    largest = float(np.abs(there).max())
    unit = 2.0 ** math.floor(math.log2(largest)) if 1.0 < largest < math.inf else 1.0
    with np.errstate(invalid="ignore"):
        spread = unit * (there / unit).std(ddof=1) if there.size > 1 else math.nan
        error = spread / math.sqrt(there.size)
        return float(there.mean()), float(error), int(there.size)


def summarize(frame: DataFrame, metrics: Sequence[str] = SCORES) -> DataFrame:
    """Mean, standard error, number of runs and of failed runs of every cell and metric.

    A metric that no run of a cell has is left out, unless all its runs failed: then the cell is
    there with NaN, so that no failure is silent.

    Parameters
    ----------
    frame : DataFrame
        One row per run.
    metrics : sequence of str
        Columns to summarize; those that the frame has not are left out.

    Returns
    -------
    summary : DataFrame
        Columns ``dataset``, ``method``, ``split``, ``variant``, ``metric``, ``mean``, ``se``,
        ``n_runs`` (with the score), ``n_failed``.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting import summarize
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "a", "method": "m", "split": "random",
    ...                      "variant": "", "seed": [1, 2], "cindex": [0.6, 0.7]})
    >>> summarize(rows)[["metric", "n_runs", "n_failed"]].values.tolist()
    [['cindex', 2, 0]]
    """
    import pandas as pd

    rows = tidy(frame)
    present = [name for name in metrics if name in rows.columns]
    lines = []
    for cell, runs in rows.groupby(list(CELL), sort=True):
        good = runs[runs["error"] == ""]
        for metric in present:
            mean, error, count = mean_and_error(good[metric])
            if count or good.empty:
                lines.append((*cell, metric, mean, error, count, len(runs) - len(good)))
    return pd.DataFrame(lines, columns=[*CELL, "metric", "mean", "se", "n_runs", "n_failed"])
