"""The result of `evaluate`: a table of scores, of all rows and of levels, and a verdict."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

import numpy as np

from censquant._frames import html_table, pandas_for

# Columns of the table of levels, with and without an interval.
_BY_INTERVAL = ("concordance_restricted_mean", "log_score")
_BY_PLAIN = ("pit_deviation", "a_calibration_p_value")


class EvaluationRow(NamedTuple):
    """One line of an `Evaluation`."""

    metric: str
    value: float  # NaN where the score has none
    lower: float  # end of its 95 % bootstrap interval; NaN where there is none
    upper: float
    direction: str  # which is better, "higher" or "lower"
    note: str  # how to read it, or why it has no value


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of a model on held-out rows, with intervals, and a verdict in words.

    Made by `evaluate`.

    Parameters
    ----------
    rows : tuple of named tuples
        The table: ``metric``, ``value``, ``lower`` and ``upper`` end of its 95 % bootstrap
        interval, ``direction`` ("higher" or "lower" is better) and a ``note`` that says how to
        read it. A score that has no value is NaN, and its note says why.
    identified : float in [0, 1]
        Share of the predicted quantiles that the training rows identify.
    verdict : str
        Sentences on the ranking, the calibration and the identified share of the predictions, and
        on the scores that may be biased where censoring depends on the features.
    n_rows, n_events : int
        Number of rows that were scored, and of events among them.
    ranking, calibration : str
        The two halves of the first sentence of the verdict.
    is_calibrated : bool
        Whether the test of calibration finds no error, or only a small one: no predicted share of
        events is off by 3 percentage points or more.
    censoring_p_value : float or None
        Of the test that censoring does not depend on the features; None where nothing was tested,
        for want of features or of 20 censored rows.
    by : dict of Evaluation
        The same for the rows of each level of ``by``; empty where that was not given.
    by_name : str
        Name of the column.

    Examples
    --------
    >>> import numpy as np
    >>> from censquant.metrics import evaluate
    >>> rng = np.random.default_rng(0)
    >>> time, taus = rng.uniform(size=100), np.array([0.25, 0.5, 0.75])
    >>> result = evaluate([taus] * 100, time, None, time, taus=taus, random_state=0)
    >>> result["concordance_index"].value
    0.5
    >>> result.identified
    1.0
    """

    rows: tuple[EvaluationRow, ...]
    identified: float
    verdict: str
    n_rows: int
    n_events: int
    ranking: str = ""
    calibration: str = ""
    is_calibrated: bool = True
    censoring_p_value: float | None = None
    by: Mapping[Any, "Evaluation"] = field(default_factory=dict)
    by_name: str = ""

    def __getitem__(self, metric: str) -> EvaluationRow:
        found = [row for row in self.rows if row.metric == metric]
        if not found:
            names = ", ".join(repr(row.metric) for row in self.rows)
            raise KeyError(f"metric must be one of {names}, got {metric!r}.")
        return found[0]

    def _repr_html_(self) -> str:
        lines = [
            (row.metric, f"{row.value:.4g}", _interval(row), row.direction, row.note)
            for row in self.rows
        ]
        table = html_table(("metric", "value", "95 % interval", "better", "note"), lines)
        counts = f"<p>{self.n_rows} rows, {self.n_events} events</p>"
        found = f"{counts}{table}<p>{escape(self.verdict)}</p>"
        return found + (html_table(*self.level_table()) if self.by else "")

    def __str__(self) -> str:
        width = max(len(row.metric) for row in self.rows)
        lines = [f"{self.n_rows} rows, {self.n_events} events", ""]
        lines.append(f"{'metric':{width}}{'value':>10}{'95 % interval':>22}  better  note")
        for row in self.rows:
            number = f"{row.metric:{width}}{row.value:>10.4g}{_interval(row):>22}"
            lines.append(f"{number}  {row.direction:6}  {row.note}")
        lines += ["", self.verdict]
        if self.by:
            names, table = self.level_table()
            columns = list(zip(names, *table, strict=True))
            widths = [max(map(len, column)) for column in columns]
            lines.append("")
            for line in (names, *table):
                first, *others = (
                    text.ljust(width) if place == 0 else text.rjust(width)
                    for place, (text, width) in enumerate(zip(line, widths, strict=True))
                )
                lines.append("  ".join([first, *others]))
        return "\n".join(lines)

    def level_table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return names of columns and lines of texts: one line for each level of ``by``."""
        times = [row.metric for row in self.rows if row.metric.startswith("ici_at_")]
        names = (self.by_name, "rows", "events", "concordance", "log score", "gap", "p", *times)
        lines = []
        for label, one in self.by.items():
            scores = [f"{_number(one[m].value)} {_interval(one[m], '()')}" for m in _BY_INTERVAL]
            plain = [_number(one[metric].value) for metric in (*_BY_PLAIN, *times)]
            lines.append((f"{label}", f"{one.n_rows:,}", f"{one.n_events:,}", *scores, *plain))
        return names, lines

    def to_frame(self) -> Any:
        """Return the table as a DataFrame, one row per metric.

        Returns
        -------
        frame : DataFrame
            With the columns ``metric``, ``value``, ``lower``, ``upper``, ``direction``, ``note``.
            With ``by`` also those of each level, which the first column ``level`` names; it is
            None for all rows.
        """
        pd = pandas_for("to_frame")
        names = list(EvaluationRow._fields)
        if not self.by:
            return pd.DataFrame(list(self.rows), columns=names)
        parts = [(None, self), *self.by.items()]
        lines = [(label, *row) for label, one in parts for row in one.rows]
        return pd.DataFrame(lines, columns=["level", *names])


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3g}"


def _interval(row: EvaluationRow, brackets: str = "") -> str:
    if np.isnan(row.lower):
        return ""
    if brackets:
        return f"{brackets[0]}{row.lower:.3g} to {row.upper:.3g}{brackets[1]}"
    return f"{row.lower:.4g} to {row.upper:.4g}"
