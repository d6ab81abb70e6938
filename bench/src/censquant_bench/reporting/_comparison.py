"""A comparison with published learners: scores by set, mean ranks, tests, and a figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from censquant.cli._tables import Table, TableCell
from censquant_bench.reporting._figures import new_figure, style, unclutter
from censquant_bench.reporting._standing import OURS, Published, Standing, standing
from censquant_bench.reporting._summary import HIGHER_IS_BETTER, Labels, fine, mean_and_error
from censquant_bench.reporting._tables import number, signed

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame, Series

_RANK_NOTE = (
    "Mean rank over the data sets, among the published learners and this method: 1 is the best, "
    "and ties share their mean rank. In brackets: the place by mean rank, and the 95 % interval "
    "from resampled data sets."
)
_LEARNER_NOTE = (
    "Mean ranks as above, of every learner; a learner's rank depends on which score the method is "
    "ranked by. Learners without a rank have no such score."
)


@dataclass(frozen=True, eq=False)
class Comparison:
    """What a suite compares with: whose scores, which of ours, and what tables say of them.

    Parameters
    ----------
    metrics : mapping of str to str
        Columns of the rows that are ranked, to their titles.
    read : callable
        Returns the published scores; None where their file is not in the data folder.
    references : mapping of str to str
        Learners that tables of sets show beside the best one, to their titles; the method is
        tested against the first.
    notes : tuple of str
        Below tables of sets: how scores are made, and whose the published ones are.
    no_scores_note : str
        What stands in the place of the last note where there are no published scores.
    learners : mapping of str to str
        Titles of learners; others are called by their names.
    title : str, default ""
        What titles of tables add, where a suite has several comparisons.
    datasets : frozenset of str, optional
        Sets that belong to it; all by default.
    runs : str, default "Runs"
        What a run is called.
    digits : mapping of str to int
        Digits after the point of a score, 3 by default.
    beside : mapping of str to tuple of str
        Scores that stand in another's table instead of one of their own.

    Examples
    --------
    >>> from censquant_bench.reporting import Comparison
    >>> mine = Comparison({"cindex": "C"}, lambda: None, {"CPH": "Cox"}, ("Notes.",), "No scores.")
    >>> mine.reference
    'CPH'
    """

    metrics: Mapping[str, str]
    read: Callable[[], Published | None]
    references: Mapping[str, str]
    notes: tuple[str, ...]
    no_scores_note: str
    learners: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    datasets: frozenset[str] | None = None
    runs: str = "Runs"
    digits: Mapping[str, int] = field(default_factory=dict)
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def reference(self) -> str:
        """The learner that the method is tested against."""
        return next(iter(self.references))

    def standings(self, frame: DataFrame, labels: Labels) -> dict[tuple[str, str], Standing]:
        """Return the standing of each method in each score, where there is anything to compare.

        Parameters
        ----------
        frame : DataFrame
            One row per run.
        labels : Labels
            Titles.

        Returns
        -------
        standings : dict of (method, metric) to Standing
        """
        found: dict[tuple[str, str], Standing] = {}
        if (published := self.read()) is None:
            return found
        rows = self._rows(frame)
        for method in labels.ordered_methods(rows["method"]):
            own = rows[rows["method"] == method]
            for metric in self.metrics:
                runs = {
                    dataset: _by_run(own, dataset, metric)
                    for dataset in labels.ordered_datasets(own["dataset"])
                }
                one = standing(runs, metric, published, self.reference)
                if one is not None:
                    found[method, metric] = one
        return found

    def tables(self, frame: DataFrame, labels: Labels) -> list[Table]:
        """Scores by set beside the published ones, mean ranks, and tests against the reference.

        Parameters
        ----------
        frame : DataFrame
            One row per run.
        labels : Labels
            Titles.

        Returns
        -------
        tables : list of Table
        """
        rows, standings = self._rows(frame), self.standings(frame, labels)
        notes = self.notes if standings or self.read() else (*self.notes[:-1], self.no_scores_note)
        shown = [name for name in self.metrics if name not in self._beside()]
        methods = list(dict.fromkeys(method for method, _ in standings))
        return [
            *(self._set_table(metric, rows, standings, labels, notes) for metric in shown),
            self._rank_table(standings, labels),
            *(self._learner_table(method, standings, labels) for method in methods),
            self._test_table(standings, labels),
        ]

    def _rows(self, frame: DataFrame) -> DataFrame:
        rows = fine(frame)
        rows = rows[rows["variant"] == ""]
        if self.datasets is not None:
            rows = rows[rows["dataset"].isin(self.datasets)]
        # Scores that none of the methods has are shown as missing.
        return rows.reindex(columns=list(dict.fromkeys([*rows.columns, *self.metrics])))

    def _titled(self, title: str) -> str:
        return f"{title}, {self.title}" if self.title else title

    def _beside(self) -> set[str]:
        return {name for names in self.beside.values() for name in names}

    def _score(self, value: float, metric: str) -> str:
        return number(value, self.digits.get(metric, 3))

    def _set_table(
        self,
        metric: str,
        rows: DataFrame,
        standings: Mapping[tuple[str, str], Standing],
        labels: Labels,
        notes: tuple[str, ...],
    ) -> Table:
        """One row per set and method, beside the best learner and the references."""
        beside = self.beside.get(metric, ())
        columns = ["Dataset", "Method", self.runs, *(self.metrics[m] for m in (metric, *beside))]
        columns += ["Rank", "Best published", *self.references.values(), "Fit s"]
        lines: list[tuple[TableCell, ...]] = []
        breaks = set()
        for dataset in labels.ordered_datasets(rows["dataset"]):
            breaks.add(len(lines))
            own = rows[rows["dataset"] == dataset]
            for method in labels.ordered_methods(own["method"]):
                runs = own[own["method"] == method]
                scores = _by_run(runs, dataset, metric)
                mean = mean_and_error(scores)[0]
                rank, theirs = _place(standings.get((method, metric)), dataset)
                texts = [labels.dataset(dataset), labels.method(method)]
                texts += [", ".join(str(one) for one in sorted(scores.dropna().index))]
                line = [TableCell(text) for text in texts]
                bold = _is_best(mean, theirs, metric)
                line.append(TableCell(self._score(mean, metric), bold=bold))
                line += [
                    TableCell(self._score(mean_and_error(runs[name])[0], name)) for name in beside
                ]
                line.append(TableCell(number(rank, 1)))
                line += [TableCell(text) for text in self._published(theirs, metric)]
                line.append(TableCell(f"{mean_and_error(runs['fit_seconds'])[0]:.3g}"))
                lines.append(tuple(line))
        return Table(
            self._titled(f"{self.metrics[metric]} by data set"),
            tuple(columns),
            tuple(lines),
            notes,
            n_labels=3,
            breaks=frozenset(breaks - {0}),
        )

    def _published(self, theirs: Series | None, metric: str) -> list[str]:
        if theirs is None:
            return ["–"] * (1 + len(self.references))
        best = theirs.idxmax() if metric in HIGHER_IS_BETTER else theirs.idxmin()
        texts = [f"{self._score(float(theirs[best]), metric)} ({best})"]
        return texts + [self._score(value_of(theirs, name), metric) for name in self.references]

    def _rank_table(self, standings: Mapping[tuple[str, str], Standing], labels: Labels) -> Table:
        """Mean rank and place of each method in each score."""
        lines = []
        ranked = [one for one in self.metrics if any(metric == one for _, metric in standings)]
        for method in dict.fromkeys(method for method, _ in standings):
            own = [standings.get((method, metric)) for metric in ranked]
            counts = {len(one.scores) for one in own if one is not None}
            texts = [labels.method(method), " to ".join(str(count) for count in sorted(counts))]
            texts += ["–" if one is None else _rank_and_place(one) for one in own]
            lines.append(tuple(TableCell(text) for text in texts))
        return Table(
            self._titled("Mean ranks among the published learners"),
            ("Method", "Data sets", *(self.metrics[metric] for metric in ranked)),
            tuple(lines),
            (_RANK_NOTE, *_missing_notes(standings)),
        )

    def _learner_table(
        self, method: str, standings: Mapping[tuple[str, str], Standing], labels: Labels
    ) -> Table:
        """Mean ranks of all learners with one method among them, the best in the first score."""
        own = {m: standings[method, m] for m in self.metrics if (method, m) in standings}
        ranks = {metric: one.mean_ranks for metric, one in own.items()}
        known = dict.fromkeys(name for one in ranks.values() for name in one.index)
        first = next(iter(ranks.values())).reindex(list(known)).sort_values(kind="stable")
        lines = []
        for learner in first.index:
            ours = learner == OURS
            title = labels.method(method) if ours else self._learner_title(str(learner))
            line = [TableCell(title, bold=ours)]
            line += [TableCell(number(value_of(ranks[metric], learner), 1)) for metric in ranks]
            lines.append(tuple(line))
        return Table(
            self._titled(f"All learners and {labels.method(method)}: mean ranks"),
            ("Learner", *(self.metrics[metric] for metric in ranks)),
            tuple(lines),
            (_LEARNER_NOTE,),
        )

    def _learner_title(self, learner: str) -> str:
        title = self.learners.get(learner, learner)
        return title if title == learner else f"{title} ({learner})"

    def _test_table(self, standings: Mapping[tuple[str, str], Standing], labels: Labels) -> Table:
        """Lead over the reference in mean rank, sets won, and the signed-rank test."""
        lines = []
        for (method, metric), one in standings.items():
            ranks = one.mean_ranks
            ratio = (one.scores[OURS] / one.scores.get(self.reference, math.nan)).median()
            texts = [
                labels.method(method),
                self.metrics[metric],
                number(ranks[OURS], 1),
                number(value_of(ranks, self.reference), 1),
                signed(one.lead, 2),
                number(one.critical_difference, 2),
                f"{one.n_better} of {len(one.scores)}",
                number(float(ratio), 3),
                number(one.wilcoxon_p, 4),
            ]
            bold = one.lead > one.critical_difference
            lines.append(tuple(TableCell(text, bold and k == 4) for k, text in enumerate(texts)))
        title = self.references[self.reference]
        columns = ["Method", "Score", "Mean rank", title, "Lead", "Critical difference"]
        columns += ["Better sets", "Median ratio", "p"]
        note = (
            f"Lead: mean rank of {title} minus the method's, significant at 5 % by Bonferroni and "
            "Dunn if above the critical difference. Median ratio: of the method's score to that "
            f"of {title}, over sets. p: two-sided signed-rank test of the sets' means."
        )
        return Table(
            self._titled(f"Against {title}"), tuple(columns), tuple(lines), (note,), n_labels=2
        )


def ranks_figure(comparisons: Sequence[Comparison], frame: DataFrame, labels: Labels) -> Figure:
    """Mean ranks of all learners and the first method, with intervals; one panel per score.

    The band is what Bonferroni's and Dunn's test does not tell from the method: learners outside
    it differ. Each score has the learners in the order of its own ranks.

    Parameters
    ----------
    comparisons : sequence of Comparison
        A column of panels each.
    frame : DataFrame
        One row per run.
    labels : Labels
        Titles.

    Returns
    -------
    figure : matplotlib Figure

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting import Comparison, Labels, ranks_figure
    >>> empty = Comparison({"cindex": "C"}, lambda: None, {"CPH": "Cox"}, ("Notes.",), "No scores.")
    >>> rows = pd.DataFrame({"suite": "mine", "dataset": "a", "split": "random", "variant": "",
    ...     "method": "m", "seed": [1, 2], "cindex": 0.6})
    >>> len(ranks_figure([empty], rows, Labels()).axes)
    0
    """
    panels = []
    for comparison in comparisons:
        standings = comparison.standings(frame, labels)
        first = next((method for method, _ in standings), None)
        panels += [
            (comparison, labels.method(method), metric, one)
            for (method, metric), one in standings.items()
            if method == first and metric not in comparison._beside()
        ]
    longest = max((len(one.scores.columns) for *_, one in panels), default=4)
    figure = new_figure(max(4.0, 3.6 * len(panels)), 1.2 + 0.24 * longest)
    for place, (comparison, title, metric, one) in enumerate(panels, start=1):
        ax = figure.add_subplot(1, len(panels), place)
        ranks = one.mean_ranks.dropna().sort_values(kind="stable")
        ends = one.rank_intervals.loc[ranks.index]
        ours = ranks[OURS]
        ax.axvspan(
            ours - one.critical_difference, ours + one.critical_difference, color="0.92", zorder=0
        )
        for row, learner in enumerate(ranks.index):
            look = style(1 if learner == OURS else 0)
            ax.hlines(row, *ends.loc[learner], color=look["color"], linewidth=1.4)
            ax.plot(ranks[learner], row, markersize=5, linestyle="", **look)
        names = [
            title if name == OURS else comparison.learners.get(name, name) for name in ranks.index
        ]
        ax.set_yticks(range(len(ranks)), names)
        ax.set_ylim(len(ranks) - 0.4, -0.6)
        ax.set_xlim(left=0.0)
        titled = comparison._titled(comparison.metrics[metric])
        ax.set_title(titled.replace(", ", "\n", 1), fontsize="medium")
        ax.set_xlabel(f"mean rank\n{len(one.scores)} data sets")
        unclutter(ax)
    return figure


def ratios_figure(comparison: Comparison, frame: DataFrame, labels: Labels) -> Figure:
    """Ratio of the first method's score to the reference's on each data set; a panel per score.

    Parameters
    ----------
    comparison : Comparison
        With one learner, or with several of which the first reference is taken.
    frame : DataFrame
        One row per run.
    labels : Labels
        Titles.

    Returns
    -------
    figure : matplotlib Figure

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting import Comparison, Labels, ratios_figure
    >>> empty = Comparison({"cindex": "C"}, lambda: None, {"CPH": "Cox"}, ("Notes.",), "No scores.")
    >>> rows = pd.DataFrame({"suite": "mine", "dataset": "a", "split": "random", "variant": "",
    ...     "method": "m", "seed": [1, 2], "cindex": 0.6})
    >>> len(ratios_figure(empty, rows, Labels()).axes)
    0
    """
    standings = comparison.standings(frame, labels)
    first = next((method for method, _ in standings), None)
    panels = {metric: one for (method, metric), one in standings.items() if method == first}
    n_sets = max((len(one.scores) for one in panels.values()), default=4)
    figure = new_figure(max(4.0, 2.9 * len(panels)), 1.2 + 0.2 * n_sets)
    for place, (metric, one) in enumerate(panels.items(), start=1):
        ax = figure.add_subplot(1, len(panels), place)
        ratio = (one.scores[OURS] / one.scores[one.reference]).dropna()
        is_high = metric in HIGHER_IS_BETTER
        ratio = ratio.sort_values(ascending=not is_high)
        is_better = (ratio > 1.0) == is_high
        for row, (value, better) in enumerate(zip(ratio, is_better, strict=True)):
            ax.plot(value, row, markersize=5, linestyle="", **style(1 if better else 0))
        ax.axvline(1.0, color="0.6", linewidth=1.0)
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter("")
        names = [labels.dataset(name).partition(" (")[0] for name in ratio.index]
        ax.set_yticks(range(len(ratio)), names, fontsize="x-small")
        ax.set_ylim(len(ratio) - 0.4, -0.6)
        title = comparison.metrics[metric]
        ax.set_title(f"{title}\nbetter on {one.n_better} of {len(ratio)}", fontsize="medium")
        ax.set_xlabel(f"ratio to {comparison.references[one.reference]}")
        unclutter(ax)
    return figure


def value_of(means: Series, learner: str) -> float:
    """Return a learner's mean; NaN where it has none.

    Examples
    --------
    >>> import pandas as pd
    >>> from censquant_bench.reporting._comparison import value_of
    >>> value_of(pd.Series({"CPH": 0.6}), "KM")
    nan
    """
    return float(means.get(learner, math.nan))


def _by_run(rows: DataFrame, dataset: str, metric: str) -> Series:
    return rows[rows["dataset"] == dataset].set_index("seed")[metric]


def _place(one: Standing | None, dataset: str) -> tuple[float, Series | None]:
    """Return the method's rank on a set, and the learners' scores there."""
    if one is None or dataset not in one.scores.index:
        return math.nan, None
    return float(one.ranks.loc[dataset, OURS]), one.scores.loc[dataset].drop(OURS).dropna()


def _is_best(mean: float, theirs: Series | None, metric: str) -> bool:
    if theirs is None or math.isnan(mean):
        return False
    return bool((mean > theirs).all() if metric in HIGHER_IS_BETTER else (mean < theirs).all())


def _rank_and_place(one: Standing) -> str:
    lower, upper = one.rank_intervals.loc[OURS]
    return (
        f"{number(one.mean_ranks[OURS], 1)} ({one.place} of {one.scores.shape[1]}; "
        f"{number(lower, 1)} to {number(upper, 1)})"
    )


def _missing_notes(standings: Mapping[tuple[str, str], Standing]) -> list[str]:
    """Say how many published scores are missing, and what was done about it."""
    n_missing = max((one.n_missing for one in standings.values()), default=0)
    if not standings:
        return []
    if not n_missing:
        return ["No published score is missing on these sets and runs."]
    return [
        f"Published scores missing on these sets and runs: {n_missing}; a learner is ranked on the "
        "sets for which it has all runs."
    ]
