"""The figures of a report."""

import textwrap
from typing import Any

import numpy as np

from censquant._typing import Floats
from censquant.estimators.meta import CoverageTable
from censquant.plotting import (
    plot_calibration,
    plot_coverage,
    plot_fans,
    plot_importance,
    plot_reliability,
    plot_survival,
)
from censquant.report._facts import ReportFacts, scored_study
from censquant.report._numbers import percent, round_times
from censquant.report._study import LEVELS, Study
from censquant.report._svg import inline_svg

_MOST_FANS = 30
_WIDEST = 4.6  # inches
_WIDEST_FANS = 5.4  # their legend has more entries
_HEIGHT = 4.0
_N_STEPS = 150  # of the Kaplan-Meier curve
# Characters that such a figure has room for: below its axis, and in the table of numbers at risk.
_MOST_CHARACTERS, _TABLE_CHARACTERS = 46, 54


def figures_of(study: Study, facts: ReportFacts) -> dict[str, str]:
    """Return the figures of a page as SVG elements, by name."""
    unit = facts.settings.unit
    end = facts.cohort.end or float(study.target.time.max())
    y, values, judged = study.y, study.curve.at(LEVELS), study.judged_levels
    scored = scored_study(study, facts.settings)
    drawn: dict[str, tuple[Any, str]] = {}
    drawn["survival"] = (
        plot_survival(
            y,
            model=_Predicted(study),
            X=np.arange(len(study))[:, None],
            at=_table_times(study, end),
            # Ticks, and steps at the times of the rows, would tell of individuals.
            mark_censored=False,
            grid=np.linspace(0.0, end, _N_STEPS + 1)[1:],
            unit=unit,
        ),
        "Kaplan-Meier curve with its 95 % band, the mean predicted curve dashed, and the numbers "
        "at risk and of events below. The table has the numbers.",
    )
    drawn["levels"] = (
        plot_reliability(y, values, LEVELS),
        "Observed share of events by each predicted quantile against its level, with a 95 % band; "
        "on the diagonal predictions are right.",
    )
    drawn["calibration"] = (
        plot_calibration(scored.curve.at(judged), y=scored.y, taus=judged, kind="a"),
        "Observed over expected events by predicted level, with the band of calibrated models.",
    )
    drawn["coverage"] = (
        plot_coverage(
            [(row.estimate, row.low, row.high) for row in facts.coverage],
            nominal=[row.promised for row in facts.coverage],
            labels=[f"{row.kind} {percent(row.promised)}" for row in facts.coverage],
        ),
        "Estimated coverage of bounds and intervals with its interval beside what was promised; "
        "the table has the numbers.",
    )
    if facts.model.promises:
        drawn["promises"] = (
            plot_coverage(CoverageTable(facts.model.promises)),
            "Coverage of lower bounds on rows held out of the fit, before and after calibration, "
            "beside what was promised.",
        )
    if facts.importance is not None:
        drawn["importance"] = (
            plot_importance(facts.importance, unit=unit, max_features=15),
            "Importance of the features as bars, the most important on top; the table has the "
            "numbers.",
        )
    fans = _fans(study, facts, unit)
    if fans is not None:
        drawn["fans"] = fans
    for name in ("survival", "levels", "calibration"):
        drawn[name][0].figure.set_figheight(_HEIGHT)
    return {
        name: inline_svg(_narrowed(ax, name), name, words) for name, (ax, words) in drawn.items()
    }


def _narrowed(ax: Any, name: str) -> Any:
    """Return axes whose figure can be read on a phone, where a wide one would be shrunk."""
    width, height = ax.figure.get_size_inches()
    ax.figure.set_size_inches(min(width, _WIDEST_FANS if name == "fans" else _WIDEST), height)
    ax.set_xlabel(textwrap.fill(ax.get_xlabel(), _MOST_CHARACTERS))
    return ax


def _table_times(study: Study, end: float) -> Floats:
    """Return times at which the numbers at risk have room beside each other below a figure."""
    longest = len(f"{len(study)} ({study.target.n_events})")
    n_columns = max(2, _TABLE_CHARACTERS // (longest + 2))
    return np.array([0.0, *round_times(end, n_columns - 1)])


class _Predicted:
    """Predictions that were made already, by the number of their row."""

    def __init__(self, study: Study) -> None:
        self._curve = study.curve

    def predict_quantiles(self, X: Any, quantiles: Any) -> Any:
        """Return quantiles of rows."""
        return self._curve.take(X[:, 0]).at(quantiles)


def _fans(study: Study, facts: ReportFacts, unit: str) -> tuple[Any, str] | None:
    """Return the fans of the individuals that were asked for."""
    rows = [one.row for one in facts.individuals]
    names = [one.label for one in facts.individuals]
    if not rows:
        return None
    rows, names = rows[:_MOST_FANS], names[:_MOST_FANS]
    curve, target = study.curve.take(np.array(rows)), study.target.take(rows)
    ax = plot_fans(
        curve.at(LEVELS),
        taus=LEVELS,
        labels=names,
        identified=np.minimum(curve.reach, 1.0),
        unit=unit,
        y=(target.time, target.event),
        # The individuals were asked for, and what was observed of them is shown.
        until=max(facts.cohort.end, float(target.time.max())),
    )
    return ax, (
        "Predicted quantiles of each individual as a horizontal fan, with what was observed; an "
        "arrow at the edge means longer than follow-up. The table has the numbers."
    )
