"""Tables of calibrated bounds: coverage and size by setting, and which rules they keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from censquant_bench.coverage._settings import BOUND_SETTINGS
from censquant_bench.reporting import (
    Labels,
    Table,
    TableCell,
    fine,
    mean_and_error,
    number,
    plus_minus,
)

if TYPE_CHECKING:
    from pandas import DataFrame

LOWEST, HIGHEST = 0.89, 0.93
"""Least mean coverage, and most among bounds that follow-up does not limit."""

_FAR_BELOW, _MOST_FAR_BELOW = 0.86, 0.10
_MANY_FEATURES = 100
_LEAST_RATIO, _LEAST_RATIO_OF_MANY = 0.90, 0.50

_NOTE = (
    "Coverage: mean over test rows of the true probability that the event comes at the bound or "
    "later, mean ± one standard error over runs; the promise is 0.90. Ratio: mean bound over mean "
    "true 10 % quantile. Trivial: share of bounds of zero. Limited: share of bounds that follow-up "
    "limits; these cover more than promised by nature. Unlimited: coverage of the others. Worst "
    "fifth: coverage of the rows at the highest true risk."
)
_RULES_NOTE = (
    f"Rules: mean coverage at least {LOWEST:.2f}, and at most {HIGHEST:.2f} among bounds that "
    "follow-up does not limit; at most "
    f"{100 * _MOST_FAR_BELOW:.0f} % of runs below {_FAR_BELOW:.2f}; ratio at least "
    f"{_LEAST_RATIO:.2f} with one or ten features, {_LEAST_RATIO_OF_MANY:.2f} with "
    f"{_MANY_FEATURES}. Bold: all kept."
)


def missed_lines(
    dataset: str, coverage: float, share_below: float, ratio: float, unlimited: float | None = None
) -> list[str]:
    """Return which of the suite's rules the runs of a setting miss.

    Parameters
    ----------
    dataset : str
        Name of the setting.
    coverage : float
        Mean over runs.
    share_below : float
        Share of runs far below the promise.
    ratio : float
        Mean bound over mean true quantile, mean over runs.
    unlimited : float, optional
        Mean coverage of the bounds that follow-up does not limit; by default that of all.

    Returns
    -------
    missed : list of {"coverage", "runs", "ratio"}
        Empty if all are kept.

    Examples
    --------
    >>> from censquant_bench.coverage import missed_lines
    >>> missed_lines("gui1", 0.905, 0.02, 0.95), missed_lines("gui1", 0.905, 0.02, 0.8)
    ([], ['ratio'])
    >>> missed_lines("clr3", 0.85, 0.6, 0.8)
    ['coverage', 'runs']
    >>> missed_lines("ss7", 0.942, 0.0, 0.95), missed_lines("ss7", 0.942, 0.0, 0.95, 0.918)
    (['coverage'], [])
    """
    setting = BOUND_SETTINGS.get(dataset)
    most = coverage if unlimited is None else unlimited
    many = setting is not None and setting.n_features >= _MANY_FEATURES
    kept = {
        "coverage": coverage >= LOWEST and not most > HIGHEST,
        "runs": share_below <= _MOST_FAR_BELOW,
        "ratio": ratio >= (_LEAST_RATIO_OF_MANY if many else _LEAST_RATIO),
    }
    return [name for name, is_kept in kept.items() if not is_kept]


def coverage_tables(frame: DataFrame, labels: Labels) -> list[Table]:
    """Every method by setting, and a line per method over all settings.

    Parameters
    ----------
    frame : DataFrame
        One row per run.
    labels : Labels
        Titles.

    Returns
    -------
    tables : list of Table

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.coverage import coverage_tables
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "coverage", "dataset": "gui1", "split": "random",
    ...     "variant": "", "method": "m", "seed": [1, 2], "bound_coverage": [0.89, 0.91],
    ...     "bound_ratio": 0.95, "bound_trivial": 0.0, "bound_limited": 0.2,
    ...     "bound_unlimited_coverage": 0.9, "bound_risk_coverage": 0.88, "censored_share": 0.4})
    >>> over_all, by_setting = coverage_tables(rows, Labels())
    >>> [cell.text for cell in by_setting.rows[0]][3:]
    ['2', '0.900 ± 0.010', '0 %', '0.950', '0 %', '20 %', '0.900', '0.880', 'kept']
    >>> [cell.text for cell in over_all.rows[0]]
    ['m', '1 of 1', '0.900 to 0.900', '0.900', '0.880', '0 %', '0.950 to 0.950', '–']
    """
    rows = fine(frame)
    if rows.empty:
        return []
    summary = _summary(rows, labels)
    return [_method_table(summary, labels), _setting_table(summary, labels)]


def _summary(rows: DataFrame, labels: Labels) -> DataFrame:
    """One row per setting and method, in the order of the tables."""
    import pandas as pd

    lines = []
    for dataset in labels.ordered_datasets(rows["dataset"]):
        of_set = rows[rows["dataset"] == dataset]
        for method in labels.ordered_methods(of_set["method"]):
            runs = of_set[of_set["method"] == method]
            coverage, error, n_runs = mean_and_error(runs["bound_coverage"])
            below = float((runs["bound_coverage"] < _FAR_BELOW).mean())
            ratio = mean_and_error(runs["bound_ratio"])[0]
            unlimited = mean_and_error(runs["bound_unlimited_coverage"])[0]
            lines.append(
                {
                    "dataset": dataset,
                    "method": method,
                    "n_runs": n_runs,
                    "censored": mean_and_error(runs["censored_share"])[0],
                    "coverage": coverage,
                    "error": error,
                    "below": below,
                    "ratio": ratio,
                    "trivial": mean_and_error(runs["bound_trivial"])[0],
                    "limited": mean_and_error(runs["bound_limited"])[0],
                    "unlimited": unlimited,
                    "worst": mean_and_error(runs["bound_risk_coverage"])[0],
                    "missed": ", ".join(missed_lines(dataset, coverage, below, ratio, unlimited)),
                }
            )
    return pd.DataFrame(lines)


def _setting_table(summary: DataFrame, labels: Labels) -> Table:
    lines: list[tuple[TableCell, ...]] = []
    breaks = set()
    before = None
    for one in summary.itertuples():
        if one.dataset != before:
            breaks.add(len(lines))
            before = one.dataset
        texts = [
            labels.dataset(one.dataset),
            _percent(one.censored),
            labels.method(one.method),
            str(one.n_runs),
            plus_minus(one.coverage, one.error),
            _percent(one.below),
            number(one.ratio),
            _percent(one.trivial),
            _percent(one.limited),
            number(one.unlimited),
            number(one.worst),
            one.missed or "kept",
        ]
        bold = {4, 6, 11} if not one.missed else set()
        lines.append(tuple(TableCell(text, k in bold) for k, text in enumerate(texts)))
    columns = ("Setting", "Censored", "Method", "Runs", "Coverage", "Runs below 0.86", "Ratio")
    return Table(
        "Lower bounds with confidence 0.90, by setting",
        (*columns, "Trivial", "Limited", "Unlimited", "Worst fifth", "Rules missed"),
        tuple(lines),
        (_NOTE, _RULES_NOTE),
        n_labels=3,
        breaks=frozenset(breaks - {0}),
    )


def _method_table(summary: DataFrame, labels: Labels) -> Table:
    """How many settings each method is within the rules on, and its extremes."""
    lines = []
    for method in labels.ordered_methods(summary["method"]):
        own = summary[summary["method"] == method]
        failed = own[own["missed"] != ""]
        texts = [
            labels.method(method),
            f"{len(own) - len(failed)} of {len(own)}",
            f"{number(own['coverage'].min())} to {number(own['coverage'].max())}",
            number(own["unlimited"].max()),
            number(own["worst"].min()),
            _percent(own["below"].max()),
            f"{number(own['ratio'].min())} to {number(own['ratio'].max())}",
            ", ".join(labels.dataset(name) for name in failed["dataset"]) or "–",
        ]
        bold = not len(failed)
        lines.append(tuple(TableCell(text, bold and k == 1) for k, text in enumerate(texts)))
    columns = (
        "Method",
        "Settings within the rules",
        "Mean coverage",
        "Most unlimited",
        "Least of a worst fifth",
        "Most runs below 0.86",
    )
    return Table(
        "Lower bounds with confidence 0.90, all settings",
        (*columns, "Ratio", "Rules missed on"),
        tuple(lines),
        (_RULES_NOTE,),
    )


def _percent(share: float) -> str:
    return f"{number(100 * share, 0)} %"
