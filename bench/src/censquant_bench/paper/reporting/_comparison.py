"""Distances of our means from the paper's."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from censquant_bench.paper._published import (
    PAPER_METRICS,
    PRINTED_ROUNDING,
    PUBLISHED_COLUMNS,
    joint_distance,
    published_table,
)
from censquant_bench.reporting import Labels, plus_minus, signed, summarize

if TYPE_CHECKING:
    from pandas import DataFrame, Series


_PAPER_RUNS = 10


def preferred_metrics(metrics: Iterable[str]) -> tuple[str, ...]:
    """Scores by which the paper judges a dataset, out of those that are known for it.

    The distance to the true quantiles where they are known; else the loss on uncensored test rows;
    else, with real censoring, order and calibration.

    Examples
    --------
    >>> from censquant_bench.paper.reporting import preferred_metrics
    >>> preferred_metrics(["cindex", "uql", "tqmse"]), preferred_metrics(["censdcal", "cindex"])
    (('tqmse',), ('cindex', 'censdcal'))
    """
    known = set(metrics)
    for best in ("tqmse", "uql"):
        if best in known:
            return (best,)
    return tuple(name for name in ("cindex", "censdcal") if name in known)


def compare(frame: DataFrame, labels: Labels) -> DataFrame:
    """Scores beside the paper's, one row per dataset, method and metric that the paper has too.

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
        One row per run.
    labels : Labels
        Titles of the datasets.

    Returns
    -------
    comparison : DataFrame
        Columns ``dataset``, ``method``, ``metric``, ``mean``, ``se``, ``n_runs``, ``n_failed``,
        ``published_mean``, ``published_se``, ``difference`` (ours minus the paper's), and that in
        joint standard errors, ``joint_distance``, and in the paper's, ``published_distance``.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.paper import compare
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "main", "dataset": "gbsg", "method": "cqrnn", "variant": "",
    ...                      "split": "random", "seed": [1, 2], "cindex": [0.684, 0.69]})
    >>> table = compare(rows, Labels({"gbsg": "GBSG"}))
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
        place = labels.dataset(row.dataset), PUBLISHED_COLUMNS.get(row.method), row.metric
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
        One row per method and a last one named ``all``: ``method``; ``within`` of ``cells`` near in
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
    >>> from censquant_bench.paper import agreement
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
    the paper's ten scatter more than its standard errors: the rule is harder on them.

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
    >>> from censquant_bench.paper import agreement
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


ROUNDING_NOTE = (
    "The paper prints three decimals, so half a unit of the last one counts as part of its error."
)
"""Printed below every table with a distance in standard errors."""


def with_distance(text: str, away: float) -> str:
    """Text of a printed number, with how far ours lies from it in brackets where that is known."""
    return text if math.isnan(away) else f"{text} ({signed(away)})"


def printed_beside(
    mean: float,
    error: float,
    printed_mean: float,
    printed_error: float,
    *,
    width: float | None = None,
) -> str:
    """Text of the paper's number, with the distance of ours in brackets where it is known.

    Parameters
    ----------
    mean, error : float
        Ours, with its standard error.
    printed_mean, printed_error : float
        The paper's, the error as one standard error.
    width : float, optional
        What the paper prints behind ±, if not the standard error; NaN where it prints nothing.

    Returns
    -------
    text : str

    Examples
    --------
    >>> from censquant_bench.paper.reporting._comparison import printed_beside
    >>> printed_beside(0.687, 0.003, 0.683, 0.005)
    '0.683 ± 0.005 (+0.7)'
    """
    text = plus_minus(printed_mean, printed_error if width is None else width)
    return with_distance(text, joint_distance(mean, error, printed_mean, printed_error))
