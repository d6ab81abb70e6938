"""Tables of a page: what a cell shows, and the value that it is sorted and downloaded by."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from censquant.report._calibration import SHOWN
from censquant.report._facts import ReportFacts
from censquant.report._numbers import UNKNOWN, fixed, percent, shown

_LONG = 40  # characters
_MOST_ROWS = 20
_P_VALUE = "a_calibration_p_value"
_SCORE_NAMES = {
    "concordance_index_ipcw": "concordance index, IPCW",
    "concordance_restricted_mean": "concordance, restricted mean",
    "pinball_loss_censored": "pinball loss, censored",
    "pinball_loss_ipcw": "pinball loss, IPCW",
    "crps_censored": "CRPS, censored",
    "integrated_brier_score": "integrated Brier score",
    "mean_absolute_error_censored": "mean absolute error, censored",
    "pit_deviation": "PIT deviation",
    _P_VALUE: "A-calibration, p-value",
}


@dataclass(frozen=True)
class Cell:
    """One cell.

    Parameters
    ----------
    text : str
    value : float or str
        What it is sorted by; NaN for nothing, infinity for what lies past all numbers.
    """

    text: str
    value: float | str

    @property
    def is_number(self) -> bool:
        """Whether the cell is sorted by size."""
        return not isinstance(self.value, str)

    @property
    def style(self) -> str:
        """How the cell is set: numbers to the right, long text in several lines."""
        return "number" if self.is_number else "words" if len(self.text) > _LONG else "name"

    @property
    def raw(self) -> str:
        """The value as files have it: empty where there is none."""
        if isinstance(self.value, str):
            return self.value
        if math.isnan(self.value):
            return ""
        return (
            repr(float(self.value)) if not float(self.value).is_integer() else f"{self.value:.0f}"
        )


@dataclass(frozen=True)
class PageTable:
    """A table with a caption.

    Parameters
    ----------
    key : str
        Name of the file that it is downloaded as.
    caption : str
    columns : tuple of str
    rows : tuple of tuple of Cell
    """

    key: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def is_long(self) -> bool:
        """Whether the table is scrolled inside of the page."""
        return len(self.rows) > _MOST_ROWS

    @property
    def headings(self) -> list[tuple[str, bool]]:
        """Names of the columns, and whether they hold numbers."""
        first = self.rows[0] if self.rows else (Cell("", ""),) * len(self.columns)
        return [(name, cell.is_number) for name, cell in zip(self.columns, first, strict=True)]


def tables_of(facts: ReportFacts) -> dict[str, PageTable]:
    """Return all tables that the facts fill, by key."""
    made = [
        _cohort(facts),
        _scores(facts),
        _levels(facts),
        _coverage(facts),
        _risks(facts),
    ]
    if facts.model.candidates:
        made.append(_candidates(facts))
    if facts.model.promises:
        made.append(_promises(facts))
    if facts.importance is not None:
        made.append(_importance(facts))
    if facts.individuals:
        made += [_individuals(facts), _features(facts)]
    if facts.fleet is not None and facts.fleet.units:
        made.append(_fleet(facts))
    if facts.costs:
        made.append(_costs(facts))
    return {table.key: table for table in made}


def _text(text: str) -> Cell:
    return Cell(text, text)


def _count(value: int) -> Cell:
    return Cell(f"{value:,}", float(value))


def _number(value: float) -> Cell:
    return Cell(shown(value), value)


def _score(value: float) -> Cell:
    return Cell("" if math.isnan(value) else fixed(value), value)


def _share(value: float) -> Cell:
    return Cell(percent(value), value)


def _table(
    key: str, caption: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]
) -> PageTable:
    return PageTable(key, caption, tuple(columns), tuple(tuple(row) for row in rows))


def _in(name: str, facts: ReportFacts) -> str:
    """Return the heading of a column of times."""
    return f"{name} ({facts.settings.unit})" if facts.settings.unit else name


def _cohort(facts: ReportFacts) -> PageTable:
    columns = (_in("time", facts), "at risk", "events so far", "without event", "95 % from", "to")
    rows = [
        (_number(row.time), _count(row.at_risk), _count(row.events), *map(_share, ends))
        for row in facts.cohort.table
        for ends in [(row.survival, row.low, row.high)]
    ]
    return _table("cohort", "Kaplan-Meier estimates and numbers at risk", columns, rows)


def _candidates(facts: ReportFacts) -> PageTable:
    columns = ("candidate", "weight", "check loss", "Brier score", "concordance", "seconds", "note")
    rows = [
        (
            _text(row.name),
            _share(row.weight),
            _score(row.pinball),
            _score(row.brier),
            _score(row.concordance),
            _score(row.seconds),
            _text(row.note),
        )
        for row in facts.model.candidates
    ]
    return _table("candidates", "Candidates, scored on rows held out of the fit", columns, rows)


def _promises(facts: ReportFacts) -> PageTable:
    columns = ("side", "promised", "coverage", "standard error", "before calibration", "finite",
               "subgroup")  # fmt: skip
    rows = [
        (
            _text(row.side),
            _share(row.confidence),
            _share(row.estimate),
            _share(row.standard_error),
            _share(row.uncalibrated),
            _share(row.finite),
            _text(row.group or "all"),
        )
        for row in facts.model.promises
    ]
    caption = "Coverage of bounds, estimated on rows held out of the fit"
    return _table("promises", caption, columns, rows)


def _scores(facts: ReportFacts) -> PageTable:
    columns = ("score", "value", "95 % from", "to", "better", "what it says")
    rows = [
        (
            _text(_SCORE_NAMES.get(row.metric, row.metric.replace("_", " "))),
            _score(row.value),
            _score(row.lower),
            _score(row.upper),
            _text("" if row.metric == _P_VALUE else row.direction),
            _text(row.note),
        )
        for row in facts.evaluation.rows
    ]
    return _table("scores", "Scores on the rows of this report", columns, rows)


def _levels(facts: ReportFacts) -> PageTable:
    columns = ("predicted share with event", "observed", "95 % from", "to", "identified for")
    rows = [
        tuple(map(_share, (row.level, row.observed, row.low, row.high, row.identified)))
        for row in facts.levels
    ]
    return _table("levels", "Share of events by the predicted quantiles", columns, rows)


def _coverage(facts: ReportFacts) -> PageTable:
    columns = ("promise", "promised", "coverage", "95 % from", "to", "at least", "at most",
               "observed events", "of these kept", "with upper end")  # fmt: skip
    rows = [
        (
            _text(f"{row.kind} {percent(row.promised)}"),
            *map(_share, (row.promised, row.estimate, row.low, row.high, row.sure, row.possible)),
            _count(row.n_past),
            _count(row.n_kept),
            Cell("", math.nan) if row.kind == "lower bound" else _share(row.finite),
        )
        for row in facts.coverage
    ]
    return _table("coverage", "Coverage on the rows of this report", columns, rows)


def _risks(facts: ReportFacts) -> PageTable:
    columns = (_in("by time", facts), "group", facts.settings.who, "mean predicted risk",
               "one in ten below", "one in ten above", "observed", "95 % from", "to",
               "identified for")  # fmt: skip
    rows = [
        (
            _number(row.horizon),
            _text(row.group),
            _count(row.n_rows),
            *map(_share, (row.predicted, row.lowest, row.highest, row.observed, row.low, row.high)),
            _share(row.identified),
        )
        for row in facts.risks
    ]
    return _table("risks", "Risk of the event by the chosen times", columns, rows)


def _importance(facts: ReportFacts) -> PageTable:
    found = facts.importance
    assert found is not None
    columns = ("feature", _in("increase of the check loss", facts), "standard error")
    rows = [
        (_text(found.features[k]), _score(found.mean[k]), _score(found.standard_error[k]))
        for k in found.order
    ]
    return _table("importance", "Importance of features by shuffling", columns, rows)


def _individuals(facts: ReportFacts) -> PageTable:
    levels = [f"{percent(level)} by" for level in SHOWN]
    horizons = [f"risk by {shown(horizon)}" for horizon in facts.settings.horizons]
    bound = f"{percent(facts.settings.confidence)} lower bound"
    columns = ("individual", bound, *levels, "identified up to",
               *horizons, _in("observed", facts), "event")  # fmt: skip
    rows = [
        (
            _text(one.label),
            _number(one.lower_bound),
            *map(_number, one.quantiles),
            _share(one.identified),
            *map(_share, one.risks),
            _number(one.time),
            _text("yes" if one.event else "no, censored"),
        )
        for one in facts.individuals
    ]
    caption = "Predictions for the individuals that were asked for"
    return _table("individuals", caption, columns, rows)


def _features(facts: ReportFacts) -> PageTable:
    names = list(facts.individuals[0].features)
    rows = [
        (_text(one.label), *(_feature(one.features[name]) for name in names))
        for one in facts.individuals
    ]
    who = facts.settings.who
    caption = f"Features of the {who} that were asked for"
    return _table("features", caption, (who.removesuffix("s"), *names), rows)


def _feature(text: str) -> Cell:
    try:
        return Cell(text, float(text))
    except ValueError:
        return _text(text)


def _fleet(facts: ReportFacts) -> PageTable:
    fleet, settings = facts.fleet, facts.settings
    assert fleet is not None
    dates = ("replace by date",) if settings.as_of is not None else ()
    replace_by = f"replace by age, risk {percent(settings.risk)}"
    columns = ("unit", _in("age", facts), f"time left, {percent(fleet.confidence)} confidence",
               "10 % fail within", "50 % fail within", replace_by, *dates,
               "B10", "B10 from", "B10 to", "B50", "B50 from", "B50 to")  # fmt: skip
    rows = [
        (
            _text(one.label),
            _number(one.age),
            Cell(_bound(one.remaining_bound), one.remaining_bound),
            _number(one.remaining10),
            _number(one.remaining50),
            _number(one.replace_by),
            *([_text(one.replace_by_date or UNKNOWN)] if dates else []),
            *map(_number, (one.b10, one.b10_low, one.b10_high)),
            *map(_number, (one.b50, one.b50_low, one.b50_high)),
        )
        for one in fleet.units
    ]
    return _table("fleet", "Units of the fleet, the most urgent first", columns, rows)


def _bound(value: float) -> str:
    return "no bound" if math.isnan(value) else shown(value)


def _costs(facts: ReportFacts) -> PageTable:
    priced = facts.settings.early_cost is not None
    unit = f" (1/{facts.settings.unit})" if facts.settings.unit else ""
    extra = ("cost per unit", f"cost per time in service{unit}") if priced else ()
    columns = ("replace at a risk of", "past units that would have failed before", "95 % from",
               "to", _in("mean time in service", facts), "identified for", *extra)  # fmt: skip
    rows = [
        (
            *map(_share, (row.risk, row.late, row.late_low, row.late_high)),
            _number(row.service),
            _share(row.identified),
            *([_number(row.cost), _score(row.rate)] if priced else []),
        )
        for row in facts.costs
    ]
    return _table("costs", "Rules of replacement, from early to late", columns, rows)
