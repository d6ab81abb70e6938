"""Rows of runs brought down to means, standard errors and distances from the paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from censquant.benchmark.reporting._published import (
    PAPER_METRICS,
    PRINTED_ROUNDING,
    joint_distance,
    published_table,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_PAPER_RUNS = 10

CELL = ("dataset", "method", "split", "variant")
"""Columns that say which runs belong together."""

SCORES = (
    *PAPER_METRICS,
    "tqmse_all",
    "crossing",
    "cindex_ipcw",
    "pinball",
    "pinball_ipcw",
    "crps",
    "pit_deviation",
    "a_calibration_p",
    "mae_margin",
    "coverage",
    "nominal_coverage",
)
"""Columns with one number a run that says how good the predictions were."""

HIGHER_IS_BETTER = frozenset({"cindex", "cindex_ipcw"})
"""Scores where more is better; of all others that are ranked, less is better."""

METRIC_TITLES = {
    "tqmse": "TQMSE",
    "uql": "UQL",
    "undcal": "UnDCal",
    "cindex": "C-index",
    "censdcal": "CensDCal",
}
"""How the paper calls its five scores."""


@dataclass(frozen=True)
class Labels:
    """Titles of datasets and methods, and the paper's name of each method it has.

    Unknown names stand for themselves, so a user's own data and methods need no entry. The order
    of the entries is the order of the tables' rows; names without one follow, sorted.

    Parameters
    ----------
    datasets : mapping of str to str
        Name in the rows to title.
    methods : mapping of str to str
        Name in the rows to title.
    published : mapping of str to str
        Name of a method in the rows to the paper's name of it, where it has one.

    Examples
    --------
    >>> from censquant.benchmark.reporting._summary import Labels
    >>> labels = Labels({"norm_medium": "Norm med."}, {"cqrnn": "CQRNN"}, {"cqrnn": "CQRNN"})
    >>> labels.dataset("norm_medium"), labels.dataset("mine")
    ('Norm med.', 'mine')
    >>> labels.ordered_methods(["b", "cqrnn"])
    ['cqrnn', 'b']
    """

    datasets: Mapping[str, str] = field(default_factory=dict)
    methods: Mapping[str, str] = field(default_factory=dict)
    published: Mapping[str, str] = field(default_factory=dict)

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


def preferred_metrics(metrics: Iterable[str]) -> tuple[str, ...]:
    """Scores by which the paper judges a dataset, out of those that are known for it.

    The distance to the true quantiles where they are known; else the loss on uncensored test rows;
    else, with real censoring, order and calibration.

    Examples
    --------
    >>> from censquant.benchmark.reporting._summary import preferred_metrics
    >>> preferred_metrics(["cindex", "uql", "tqmse"]), preferred_metrics(["censdcal", "cindex"])
    (('tqmse',), ('cindex', 'censdcal'))
    """
    known = set(metrics)
    for best in ("tqmse", "uql"):
        if best in known:
            return (best,)
    return tuple(name for name in ("cindex", "censdcal") if name in known)


def _ordered(names: Iterable[str], known: Mapping[str, str]) -> list[str]:
    place = {name: rank for rank, name in enumerate(known)}
    return sorted(set(names), key=lambda name: (place.get(name, len(place)), name))


def tidy(frame: DataFrame) -> DataFrame:
    """Return the rows in one order whatever the order they finished in, or raise one sentence.

    Sums of floats depend on their order, so the same runs give the same digits only from here on.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant.benchmark.reporting._summary import tidy
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
    """Tidy rows of the runs that did not fail."""
    rows = tidy(frame)
    return rows[rows["error"] == ""].reset_index(drop=True)


def random_split(frame: DataFrame) -> DataFrame:
    """Tidy rows of the runs on the paper's random split that did not fail."""
    return first_split(fine(frame)).reset_index(drop=True)


def first_split(rows: DataFrame) -> DataFrame:
    """Rows of the random split, and of the grouped one of sets that have no other."""
    has_random = rows["dataset"].isin(rows.loc[rows["split"] == "random", "dataset"])
    return rows[(rows["split"] == "random") | ~has_random]


def mean_and_error(values: Series | Sequence[float]) -> tuple[float, float, int]:
    """Mean, standard error of the mean (ddof 1) and number of the values that are there.

    The standard error of a single value is not known: NaN.

    Examples
    --------
    >>> from censquant.benchmark.reporting._summary import mean_and_error
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
        One row a run.
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
    >>> from censquant.benchmark.reporting._summary import summarize
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


def compare(frame: DataFrame, labels: Labels) -> DataFrame:
    """Scores beside the paper's, one row a dataset, method and metric that the paper has too.

    Only the paper's random split and runs with no variant are compared. The published error is the
    printed standard error joined with the rounding of print (half a unit of the third decimal),
    without which a printed standard error of 0.0 would make any difference infinite.

    Joint standard errors are those of independent runs. Samples and splits are the paper's own
    here, so what both sets of runs have in common makes joint errors too wide; the paper's alone
    are the stricter measure. They are those of ten runs: for fewer runs here they are widened to as
    many, by the root of ten over their number. A cell with one run has no standard error of its
    own, so it has a distance in the paper's alone.

    Parameters
    ----------
    frame : DataFrame
        One row a run.
    labels : Labels
        Titles of the datasets, and the paper's names of the methods.

    Returns
    -------
    comparison : DataFrame
        Columns ``dataset``, ``method``, ``metric``, ``mean``, ``se``, ``n_runs``, ``n_failed``,
        ``published_mean``, ``published_se``, ``difference`` (ours minus the paper's), and that in
        joint standard errors, ``joint_distance``, and in the paper's, ``published_distance``.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant.benchmark.reporting._summary import Labels, compare
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "gbsg", "method": "cqrnn", "variant": "",
    ...                      "split": "random", "seed": [1, 2], "cindex": [0.684, 0.69]})
    >>> table = compare(rows, Labels({"gbsg": "GBSG"}, {}, {"cqrnn": "CQRNN"}))
    >>> table[["difference", "joint_distance", "published_distance"]].round(2).values.tolist()
    [[0.0, 0.68, 0.36]]
    """
    import pandas as pd

    summary = summarize(frame, PAPER_METRICS)
    summary = summary[(summary["split"] == "random") & (summary["variant"] == "")]
    paper = published_table().set_index(["dataset", "method", "metric"])
    own = ["dataset", "method", "metric", "mean", "se", "n_runs", "n_failed"]
    lines = []
    for row in summary.itertuples():
        place = labels.dataset(row.dataset), labels.published.get(row.method), row.metric
        if place in paper.index:
            mean, se = (float(paper.at[place, column]) for column in ("mean", "se"))
            fewer = max(1.0, _PAPER_RUNS / max(1, row.n_runs))
            wide = math.hypot(se * math.sqrt(fewer), PRINTED_ROUNDING)
            difference = row.mean - mean
            lines.append(
                {
                    **{name: getattr(row, name) for name in own},
                    "published_mean": mean,
                    "published_se": se,
                    "difference": difference,
                    "joint_distance": joint_distance(row.mean, row.se, mean, se),
                    "published_distance": difference / wide,
                }
            )
    beside = ["published_mean", "published_se", "difference", "joint_distance"]
    return pd.DataFrame(lines, columns=[*own, *beside, "published_distance"])


@dataclass(frozen=True)
class Agreement:
    """How many cells lie near the paper's, and which do not.

    Parameters
    ----------
    shares : DataFrame
        One row a method and a last one named ``all``: ``method``; ``within`` of ``cells`` near in
        the paper's standard errors and their ``share``; ``within_joint`` of ``cells_joint`` near in
        joint ones and their ``share_joint``. Cells with one run have no joint standard error.
    outside : DataFrame
        The rows of the comparison that lie outside in the paper's standard errors, the farthest
        first.
    unjudged : int
        Cells with no distance, because every run failed.
    limit : float
        The distance, in standard errors, that was still near.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant.benchmark.reporting._summary import agreement
    >>> distances = {"published_distance": [-1.0, 4.0], "joint_distance": [-0.5, 2.0]}
    >>> near = agreement(pd.DataFrame({"method": ["a", "b"], **distances}))
    >>> near.shares["share"].tolist(), near.outside["method"].tolist()
    ([1.0, 0.0, 0.5], ['b'])
    """

    shares: DataFrame
    outside: DataFrame
    unjudged: int
    limit: float


def agreement(comparison: DataFrame, limit: float = 3.0) -> Agreement:
    """Share of cells within a distance of the paper's, by method and over all.

    A cell is judged by its distance in the paper's standard errors; the share that is near in joint
    ones, which are too wide where runs share samples and splits, stands beside it. Runs fewer than
    the paper's ten scatter more than its standard errors say: the rule is harder on them.

    Parameters
    ----------
    comparison : DataFrame
        What `compare` returned, or some of its rows.
    limit : float
        Largest distance, in standard errors, that counts as near.

    Returns
    -------
    agreement : Agreement

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant.benchmark.reporting._summary import agreement
    >>> distances = {"published_distance": [4.0], "joint_distance": [2.0]}
    >>> shares = agreement(pd.DataFrame({"method": ["a"], **distances})).shares
    >>> shares["within"].tolist(), shares["within_joint"].tolist()
    ([0, 0], [1, 1])
    """
    import pandas as pd

    judged = comparison[comparison["published_distance"].notna()]
    groups = [(str(name), cells) for name, cells in judged.groupby("method")]
    lines = [
        {
            "method": name,
            **_near("", cells["published_distance"], limit),
            **_near("_joint", cells["joint_distance"], limit),
        }
        for name, cells in [*groups, ("all", judged)]
    ]
    far = judged["published_distance"].abs().sort_values(ascending=False, kind="stable")
    return Agreement(
        pd.DataFrame(lines),
        judged.loc[far[far > limit].index].reset_index(drop=True),
        len(comparison) - len(judged),
        limit,
    )


def _near(suffix: str, distances: Series, limit: float) -> dict[str, float]:
    known = distances.dropna()
    within = int((known.abs() <= limit).sum())
    share = within / len(known) if len(known) else math.nan
    return {f"within{suffix}": within, f"cells{suffix}": len(known), f"share{suffix}": share}
