"""Tables of the field's comparison: scores by set, mean ranks, tests against Cox."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from censquant_bench.field._published import (
    COX,
    KAPLAN_MEIER,
    LEARNERS,
    PublishedScores,
    value_of,
)
from censquant_bench.field._standing import OURS, Standing, standing
from censquant_bench.reporting import (
    HIGHER_IS_BETTER,
    Labels,
    Table,
    TableCell,
    fine,
    mean_and_error,
    number,
    signed,
)

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_TITLES = {
    "cindex_restricted_mean": "C",
    "cindex": "C of the median",
    "isbs": "ISBS",
}
_DIGITS = {"isbs": 4}

_SCORE_NOTE = (
    "C: Harrell's C of the restricted mean, up to the last evaluation time. ISBS: integrated "
    "survival Brier score at the distinct test times up to the first by which more than 80 % are "
    "no longer at risk, weighted by the censoring curve of the training rows."
)
_PUBLISHED_NOTE = (
    "Published scores are of Burk et al. (2026): learners tuned by nested resampling for the score "
    "shown, means over the same iterations. Bold: better than all of them."
)
_RANK_NOTE = (
    "Mean rank over the data sets among the published learners and the method alone, 1 the best, "
    "ties averaged; in brackets its place by mean rank."
)
_TEST_NOTE = (
    "Lead: Cox's mean rank minus the method's, significant at 5 % by Bonferroni and Dunn if above "
    "the critical difference. p: two-sided signed-rank test of the sets' means."
)
_NO_SCORES_NOTE = (
    "field/published_scores.csv is not in the folder that CENSQUANT_DATA names, so nothing is "
    "compared."
)


def field_tables(frame: DataFrame, labels: Labels) -> list[Table]:
    """Scores by set beside the published ones, mean ranks, and tests against Cox.

    Parameters
    ----------
    frame : DataFrame
        One row per run; its seed is the study's iteration.
    labels : Labels
        Titles.

    Returns
    -------
    tables : list of Table

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.field import field_tables
    >>> from censquant_bench.reporting import Labels
    >>> rows = pd.DataFrame({"suite": "field", "dataset": "a", "split": "random", "variant": "",
    ...     "method": "m", "seed": [1, 2], "cindex_restricted_mean": [0.6, 0.7],
    ...     "cindex": 0.6, "isbs": 0.15, "fit_seconds": 0.1})
    >>> [cell.text for cell in field_tables(rows, Labels())[0].rows[0]][:4]
    ['a', 'm', '1, 2', '0.650']
    """
    rows = fine(frame)
    rows = rows[rows["variant"] == ""]
    methods = labels.ordered_methods(rows["method"])
    published = PublishedScores.read()
    standings = _standings(rows, methods, labels, published)
    return [
        _set_table("cindex_restricted_mean", rows, standings, labels, published),
        _set_table("isbs", rows, standings, labels, published),
        _rank_table(standings, labels),
        *(_learner_table(method, standings, labels) for method in methods),
        _test_table(standings, labels),
    ]


_Standings = dict[tuple[str, str], Standing]


def _standings(
    rows: DataFrame, methods: list[str], labels: Labels, published: PublishedScores | None
) -> _Standings:
    """Return the standing of each method in each score, where there is anything to compare."""
    found: _Standings = {}
    if published is None:
        return found
    for method in methods:
        own = rows[rows["method"] == method]
        for metric in _TITLES:
            runs = {
                dataset: _by_iteration(own, dataset, metric)
                for dataset in labels.ordered_datasets(own["dataset"])
            }
            one = standing(runs, metric, published)
            if one is not None:
                found[method, metric] = one
    return found


def _by_iteration(rows: DataFrame, dataset: str, metric: str) -> Series:
    return rows[rows["dataset"] == dataset].set_index("seed")[metric]


def _set_table(
    metric: str,
    rows: DataFrame,
    standings: _Standings,
    labels: Labels,
    published: PublishedScores | None,
) -> Table:
    """One row per set and method, beside the best learner, Cox and Kaplan-Meier."""
    beside = ["cindex"] if metric == "cindex_restricted_mean" else []
    columns = ["Dataset", "Method", "Iterations"]
    columns += [_TITLES[name] for name in (metric, *beside)]
    columns += ["Rank", "Best published", "Cox", "Kaplan-Meier", "Fit s"]
    lines: list[tuple[TableCell, ...]] = []
    breaks = set()
    for dataset in labels.ordered_datasets(rows["dataset"]):
        breaks.add(len(lines))
        own = rows[rows["dataset"] == dataset]
        for method in labels.ordered_methods(own["method"]):
            runs = own[own["method"] == method]
            scores = _by_iteration(runs, dataset, metric)
            mean = mean_and_error(scores)[0]
            rank, theirs = _place(standings.get((method, metric)), dataset)
            texts = [labels.dataset(dataset), labels.method(method)]
            texts += [", ".join(str(one) for one in sorted(scores.dropna().index))]
            line = [TableCell(text) for text in texts]
            line.append(TableCell(_score(mean, metric), bold=_is_best(mean, theirs, metric)))
            line += [TableCell(_score(mean_and_error(runs[name])[0], name)) for name in beside]
            line.append(TableCell(number(rank, 1)))
            line += [TableCell(text) for text in _published(theirs, metric)]
            line.append(TableCell(f"{mean_and_error(runs['fit_seconds'])[0]:.3g}"))
            lines.append(tuple(line))
    note = _NO_SCORES_NOTE if published is None else _PUBLISHED_NOTE
    return Table(
        f"{_TITLES[metric]} by data set",
        tuple(columns),
        tuple(lines),
        (_SCORE_NOTE, note),
        n_labels=3,
        breaks=frozenset(breaks - {0}),
    )


def _place(one: Standing | None, dataset: str) -> tuple[float, Series | None]:
    """Return the method's rank on a set, and the learners' scores there."""
    if one is None or dataset not in one.scores.index:
        return math.nan, None
    return float(one.ranks.loc[dataset, OURS]), one.scores.loc[dataset].drop(OURS).dropna()


def _published(theirs: Series | None, metric: str) -> list[str]:
    if theirs is None:
        return ["–"] * 3
    best = theirs.idxmax() if metric in HIGHER_IS_BETTER else theirs.idxmin()
    texts = [f"{_score(float(theirs[best]), metric)} ({best})"]
    return texts + [_score(value_of(theirs, name), metric) for name in (COX, KAPLAN_MEIER)]


def _is_best(mean: float, theirs: Series | None, metric: str) -> bool:
    if theirs is None or math.isnan(mean):
        return False
    return bool((mean > theirs).all() if metric in HIGHER_IS_BETTER else (mean < theirs).all())


def _score(value: float, metric: str) -> str:
    return number(value, _DIGITS.get(metric, 3))


def _rank_table(standings: _Standings, labels: Labels) -> Table:
    """Mean rank and place of each method in each score."""
    lines = []
    for method in dict.fromkeys(method for method, _ in standings):
        own = [standings.get((method, metric)) for metric in _TITLES]
        counts = {len(one.scores) for one in own if one is not None}
        texts = [labels.method(method), " to ".join(str(count) for count in sorted(counts))]
        texts += ["–" if one is None else _rank_and_place(one) for one in own]
        lines.append(tuple(TableCell(text) for text in texts))
    columns = ["Method", "Data sets", *_TITLES.values()]
    return Table(
        "Mean ranks among the published learners",
        tuple(columns),
        tuple(lines),
        (_RANK_NOTE, *_missing_notes(standings)),
    )


def _rank_and_place(one: Standing) -> str:
    return f"{number(one.mean_ranks[OURS], 1)} ({one.place} of {one.scores.shape[1]})"


def _missing_notes(standings: _Standings) -> list[str]:
    """Say how many published scores are missing, and what was done about it."""
    n_missing = max((one.n_missing for one in standings.values()), default=0)
    if not standings:
        return []
    if not n_missing:
        return ["No published score is missing on these sets and iterations."]
    return [
        f"Published scores missing on these sets and iterations: {n_missing}; a learner is ranked "
        "on the sets for which it has all iterations."
    ]


def _learner_table(method: str, standings: _Standings, labels: Labels) -> Table:
    """Mean ranks of all learners with one method among them, the best in C first."""
    own = {metric: standings[method, metric] for metric in _TITLES if (method, metric) in standings}
    ranks = {metric: one.mean_ranks for metric, one in own.items()}
    first = next(iter(ranks.values()), None)
    lines = []
    for learner in [] if first is None else first.sort_values(kind="stable").index:
        title = labels.method(method) if learner == OURS else _learner_title(str(learner))
        line = [TableCell(title, bold=learner == OURS)]
        line += [TableCell(number(value_of(ranks[metric], learner), 1)) for metric in ranks]
        lines.append(tuple(line))
    columns = ("Learner", *(_TITLES[metric] for metric in ranks))
    note = (
        "Mean ranks as above, of every learner; the columns of C differ in what the method is "
        "ranked by. Learners without a rank were not tuned for that score."
    )
    return Table(
        f"All learners and {labels.method(method)}: mean ranks", columns, tuple(lines), (note,)
    )


def _learner_title(learner: str) -> str:
    title = LEARNERS.get(learner, learner)
    return title if title == learner else f"{title} ({learner})"


def _test_table(standings: _Standings, labels: Labels) -> Table:
    """Lead over Cox in mean rank, sets won, and the signed-rank test."""
    lines = []
    for (method, metric), one in standings.items():
        ranks = one.mean_ranks
        texts = [
            labels.method(method),
            _TITLES[metric],
            number(ranks[OURS], 1),
            number(value_of(ranks, COX), 1),
            signed(one.lead_over_cox, 2),
            number(one.critical_difference, 2),
            f"{one.n_better_than_cox} of {len(one.scores)}",
            number(one.wilcoxon_p, 4),
        ]
        bold = one.lead_over_cox > one.critical_difference
        lines.append(tuple(TableCell(text, bold and k == 4) for k, text in enumerate(texts)))
    columns = ["Method", "Score", "Mean rank", "Cox", "Lead", "Critical difference"]
    columns += ["Better sets", "p"]
    return Table("Against Cox's model", tuple(columns), tuple(lines), (_TEST_NOTE,), n_labels=2)
