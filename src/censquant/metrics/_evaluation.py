"""The outcome of an evaluation: a table of scores and a verdict in words."""

from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from censquant._calibration_gap import SMALL_GAP
from censquant._frames import pandas_for
from censquant._html import html_table

# Below this many events a test of calibration finds little fault with any model.
_FEW_EVENTS = 50
_SIGNIFICANT = 0.05


class Gap(NamedTuple):
    """The level at which predicted and observed shares of events differ most."""

    level: float
    observed: float

    @property
    def size(self) -> float:
        """How far they are apart; NaN where follow-up reaches no level."""
        return abs(self.observed - self.level)

    @property
    def words(self) -> str:
        """What was observed at that level."""
        predicted, observed = _share(self.level), _share(self.observed)
        return f"by the {predicted} quantile, where they are furthest off, {observed} had the event"


class EvaluationRow(NamedTuple):
    """One line of an `Evaluation`.

    Parameters
    ----------
    metric : str
    value : float
        NaN where the score has none.
    lower, upper : float
        Ends of its 95 % bootstrap interval; NaN where there is none.
    direction : {"higher", "lower"}
        Which is better.
    note : str
        How to read it, or why it has no value.

    Examples
    --------
    >>> from censquant.metrics import EvaluationRow
    >>> EvaluationRow("concordance_index", 0.7, 0.65, 0.75, "higher", "0.5 is chance").value
    0.7
    """

    metric: str
    value: float
    lower: float
    upper: float
    direction: str
    note: str


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of a model on held-out rows, with intervals, and a verdict in words.

    Made by `evaluate`.

    Parameters
    ----------
    rows : tuple of EvaluationRow
        The table: ``metric``, ``value``, ``lower`` and ``upper`` end of its 95 % bootstrap
        interval, ``direction`` ("higher" or "lower" is better) and a ``note`` that says how to
        read it. A score that has no value is NaN, and its note says why.
    identified : float in [0, 1]
        Share of the predicted quantiles that the training rows can speak for.
    verdict : str
        Two sentences on the ranking, the calibration and the reach of the predictions.
    n_rows, n_events : int
        Number of rows that were scored, and of events among them.
    ranking, calibration : str
        The two halves of the first sentence of the verdict.
    is_calibrated : bool
        Whether the test of calibration finds no error, or only a small one: no predicted share of
        events is off by 3 percentage points or more.

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
        return f"{counts}{table}<p>{escape(self.verdict)}</p>"

    def __str__(self) -> str:
        width = max(len(row.metric) for row in self.rows)
        lines = [f"{self.n_rows} rows, {self.n_events} events", ""]
        lines.append(f"{'metric':{width}}{'value':>10}{'95 % interval':>22}  better  note")
        for row in self.rows:
            number = f"{row.metric:{width}}{row.value:>10.4g}{_interval(row):>22}"
            lines.append(f"{number}  {row.direction:6}  {row.note}")
        return "\n".join([*lines, "", self.verdict])

    def to_frame(self) -> Any:
        """Return the table as a DataFrame, one row per metric.

        Returns
        -------
        frame : DataFrame
            With the columns ``metric``, ``value``, ``lower``, ``upper``, ``direction``, ``note``.
        """
        pd = pandas_for("to_frame")
        return pd.DataFrame(list(self.rows), columns=list(EvaluationRow._fields))


def _interval(row: EvaluationRow) -> str:
    return "" if np.isnan(row.lower) else f"{row.lower:.4g} to {row.upper:.4g}"


def verdict_of(
    order: EvaluationRow,
    p_value: float,
    gap: Gap,
    error: tuple[str, ...],
    n_events: int,
    identified: float,
) -> dict[str, Any]:
    """Return two sentences on order, calibration and reach, and the parts of the first."""
    ranking = _order(order)
    is_calibrated = bool(p_value >= _SIGNIFICANT or gap.size < SMALL_GAP)
    calibration = _calibrated(p_value, gap, error, n_events)
    share = f"{100 * identified:.0f} % of the predicted quantiles lie within the follow-up of the"
    return {
        "verdict": f"{ranking}, {calibration}. {share} training data.",
        "ranking": ranking,
        "calibration": calibration,
        "is_calibrated": is_calibrated,
    }


def _order(row: EvaluationRow) -> str:
    """Return what the interval of the concordance index says."""
    if np.isnan(row.value):
        return "The ranking of the individuals could not be judged"
    known = f"(concordance {row.value:.2f}, 95 % interval {row.lower:.2f} to {row.upper:.2f})"
    if row.lower > 0.5:
        return f"The individuals are ranked better than chance {known}"
    if row.upper < 0.5:
        return f"The individuals are ranked worse than chance {known}"
    return f"The ranking of the individuals cannot be distinguished from chance {known}"


def _calibrated(p_value: float, gap: Gap, error: tuple[str, ...], n_events: int) -> str:
    """Return what test and largest gap say of the calibration, and which way quantiles miss.

    With very many events the test rejects every model, so that the size of the gap decides.
    """
    shown = f"p = {p_value:.2g}" if p_value >= 0.001 else "p < 0.001"
    if p_value >= _SIGNIFICANT:
        text = f"and the predicted quantiles show no sign of miscalibration ({shown})"
        if n_events < _FEW_EVENTS:
            text += f", although the test has little power with {n_events} events"
        return text
    if gap.size < SMALL_GAP:
        return (
            f"and the predicted quantiles are close to calibrated: {gap.words}. An error of "
            f"{100 * gap.size:.1f} percentage points is small, although {n_events:,} events are "
            f"enough to detect it ({shown})"
        )
    way = f"they are {' and '.join(error)}" if error else "the shape of their distribution is wrong"
    text = f"but the predicted quantiles are not calibrated ({shown}): {way}"
    return text if np.isnan(gap.size) else f"{text}; {gap.words}"


def _share(level: float) -> str:
    return f"{100 * level:.3g} %"
