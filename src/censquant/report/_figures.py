"""Figures of a report as SVG with colours that follow the page."""

import io
import re
import textwrap
from typing import Any

import numpy as np

from censquant._calibration._coverage import CoverageTable
from censquant._typing import Floats
from censquant.plotting import (
    plot_calibration,
    plot_calibration_at,
    plot_contrast,
    plot_coverage,
    plot_fans,
    plot_importance,
    plot_incidence,
    plot_reliability,
    plot_survival,
)
from censquant.report._facts import ReportFacts, scored_study
from censquant.report._numbers import percent, round_times, time_text
from censquant.report._study import LEVELS, Study

# Colours of the figures that a dark page must change, by the variable of the style sheet.
_COLORS = {
    "#000000": "--ink",
    "#ffffff": "--paper",
    "#08306b": "--deep",
    "#0072b2": "--blue",
    "#2171b5": "--after",
    "#a6cde3": "--wide",
    "#f3f8fb": "--pale",
    "#e5e5e5": "--grid",
    "#e6e6e6": "--grid",
    "#e0e0e0": "--band",
    "#595959": "--soft",
    "#404040": "--soft",
    "#737373": "--soft",
    "#262626": "--ink",
}
# Pixels per point on a wide screen, where text is then a little smaller than that of the page.
_SCALE = 1.45
_TAG = re.compile(r"<[^>]*>")
_NUMBER = re.compile(r"(\d+\.\d{2})\d+")
_STYLE = re.compile(r'style="([^"]*)"')
# The shorthand of fonts is no attribute; the family is that of the page.
_FONT_SIZE = re.compile(r"([\d.]+)px")


def inline_svg(ax: Any, name: str, description: str) -> str:
    """Return the figure of some axes as an SVG element.

    Text stays text, sizes follow the page, and every name inside begins with ``name``, since the
    page has other figures. Screen readers are given the description.
    """
    import matplotlib as mpl
    from markupsafe import escape

    stream = io.StringIO()
    # The salt makes the names the same in every run.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        ax.figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', text)
    for color, variable in _COLORS.items():
        text = text.replace(color, f"var({variable})")
    # Numbers of drawings need no more than hundredths; those that are read stay as they are.
    text = _TAG.sub(lambda tag: _NUMBER.sub(r"\1", tag[0]), text)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    text = _STYLE.sub(_attributes, text)
    text = re.sub(r"\n\s*", "\n", text)
    opening = re.search(r"<svg[^>]*>", text)
    box = re.search(r'viewBox="([^"]+)"', text)
    assert opening is not None
    assert box is not None
    width = float(box[1].split()[2])
    label = escape(description)
    start = (
        f'<svg class="figure" viewBox="{box[1]}" width="{width * _SCALE:.0f}" '
        f'role="img" aria-label="{label}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    return start + text[opening.end() :].strip()


def _attributes(style: re.Match[str]) -> str:
    """Return a style as attributes of its own, which the policy of the page allows."""
    found = {}
    for entry in filter(None, (part.strip() for part in style[1].split(";"))):
        name, value = (part.strip() for part in entry.split(":", 1))
        if name in ("font", "font-size"):
            size = _FONT_SIZE.search(value)
            if size is not None:
                found["font-size"] = size[1]
            if "bold" in value:
                found["font-weight"] = "bold"
        elif name != "font-family":
            found[name] = value
    return " ".join(f'{name}="{value}"' for name, value in found.items())


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
    if facts.calibration:
        last = facts.calibration[-1]
        drawn["risks"] = (
            plot_calibration_at(last, unit=unit),
            f"Observed against predicted risk by {time_text(last.time, unit)} with a band, and "
            "groups by predicted risk with their intervals; on the diagonal predictions are right.",
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
    if facts.contrast is not None:
        drawn["effect"] = (
            plot_contrast(facts.contrast, unit=unit),
            "Difference with its interval for all rows and each subgroup; the table has the "
            "numbers.",
        )
    if facts.kinds:
        drawn["kinds"] = (
            plot_incidence(
                study.causes,
                model=study.model,
                X=study.table.X,
                times=np.linspace(0.0, end, _N_STEPS + 1),
                unit=unit,
            ),
            "Mean predicted probability of each kind of event as stacked areas, with the observed "
            "shares by Aalen and Johansen as lines; the table has the numbers.",
        )
    fans = _fans(study, facts, unit)
    if fans is not None:
        drawn["fans"] = fans
    for name in ("survival", "levels", "calibration", "risks"):
        if name in drawn:
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
