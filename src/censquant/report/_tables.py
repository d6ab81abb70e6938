"""Tables of a page: what a cell shows, and the value that it is sorted and downloaded by."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from censquant.inspection import Contrast
from censquant.inspection._cohort import flat_lines
from censquant.inspection._replacement import LATER
from censquant.report._accuracy import FEWEST, SHOWN
from censquant.report._facts import MOST_DESCRIBED, ReportFacts
from censquant.report._fleet import Unit
from censquant.report._numbers import fixed, percent, shown, time_text

_LONG = 40  # characters
_MOST_ROWS = 20
_N_AHEAD = 2  # columns of risks in the table of the fleet
_P_VALUE = "a_calibration_p_value"
_SCORE_NAMES = {
    "log_score": "log score",
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
    """One cell."""

    text: str
    # What it is sorted by; NaN for nothing, infinity for what lies past all numbers
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
    """A table with a caption."""

    key: str  # name of the file that it is downloaded as
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
        _characteristics(facts),
        _cohort(facts),
        _scores(facts),
        _levels(facts),
        _coverage(facts),
        _risks(facts),
    ]
    if facts.calibration:
        made.append(_risk_calibration(facts))
    if facts.evaluation.by:
        made.append(_levels_of_column(facts))
    if facts.model.candidates:
        made.append(_candidates(facts))
    if facts.model.promises:
        made.append(_promises(facts))
    if facts.importance is not None:
        made.append(_importance(facts))
    if facts.contrast is not None:
        made.append(_effect(facts.contrast, facts))
        if facts.contrast.overlap:
            made.append(_overlap(facts.contrast))
    if facts.kinds:
        made.append(_kinds(facts))
    if facts.individuals:
        made += [_individuals(facts), _features(facts)]
    if facts.fleet is not None:
        made.append(_new_life(facts))
        if facts.fleet.failures is not None:
            made.append(_failures(facts))
        if facts.fleet.units:
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


def _characteristics(facts: ReportFacts) -> PageTable:
    found = facts.cohort.characteristics
    rows = [tuple(map(_text, line)) for line in flat_lines(found)]
    columns = ("characteristic", *found.heading()[1:])
    n_columns, n_shown = facts.model.n_features, MOST_DESCRIBED
    part = f", the first {n_shown} of {n_columns} features" if n_columns > n_shown else ""
    caption = f"Characteristics: median (IQR) or number (share of known values){part}"
    return _table("characteristics", caption, columns, rows)


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


def _risk_calibration(facts: ReportFacts) -> PageTable:
    columns = (_in("by time", facts), "off on average", "by chance", "half are off by less",
               "one in ten by more", "slope", "95 % from", "to", "p-value")  # fmt: skip
    rows = [
        (
            _number(one.time),
            *map(_share, (one.ici, one.ici_by_chance, one.e50, one.e90)),
            *map(_score, (one.slope, *one.slope_interval, one.p_value)),
        )
        for one in facts.calibration
    ]
    return _table("risk-calibration", "Distance of predicted from observed risks", columns, rows)


def _levels_of_column(facts: ReportFacts) -> PageTable:
    columns = (facts.settings.by_name, facts.settings.who, "events", "concordance", "95 % from",
               "to", "log score", "95 % from", "to", "largest gap", "p-value")  # fmt: skip
    intervals = ("concordance_restricted_mean", "log_score")
    rows = [
        (
            _text(str(label)),
            _count(one.n_rows),
            _count(one.n_events),
            *(_score(value) for name in intervals for value in one[name][1:4]),
            _score(one["pit_deviation"].value),
            _score(one[_P_VALUE].value),
        )
        for label, one in facts.evaluation.by.items()
        if one.n_rows >= FEWEST
    ]
    return _table("by-level", f"Scores by {facts.settings.by_name}", columns, rows)


def _kinds(facts: ReportFacts) -> PageTable:
    columns = (_in("by time", facts), "kind", "events", "mean predicted probability",
               "one in ten below", "one in ten above", "observed", "95 % from", "to")  # fmt: skip
    rows = [
        (
            _number(row.horizon),
            _text(row.kind),
            _count(row.n_events),
            *map(_share, (row.predicted, row.lowest, row.highest, row.observed, row.low, row.high)),
        )
        for row in facts.kinds
    ]
    return _table("kinds", "Probability that an event of each kind comes first", columns, rows)


def _effect(found: Contrast, facts: ReportFacts) -> PageTable:
    share = f"{100 * found.confidence:g} % from"
    columns = ("group", "at", facts.settings.who, f"if {found.from_}", f"if {found.to}",
               "difference", share, "to", "ratio", share, "to")  # fmt: skip
    rows = [
        (
            _text(row.group),
            _number(row.at),
            _count(row.n_rows),
            *map(_number, (row.from_, row.to, row.difference, row.low, row.high)),
            *map(_score, (row.ratio, row.ratio_low, row.ratio_high)),
        )
        for row in found.rows
    ]
    return _table("effect", found.title, columns, rows)


def _overlap(found: Contrast) -> PageTable:
    columns = (found.feature, "rows", "events", "its chance, 5 %", "median", "95 %",
               "among others, 5 %", "median", "95 %", "below 0.03")  # fmt: skip
    rows = [
        (
            _text(row.value),
            _count(row.n_rows),
            _count(row.n_events),
            *map(_share, (*row.chance_with, *row.chance_without, row.clipped)),
        )
        for row in found.overlap
    ]
    caption = "Overlap: chance of each value given the other features"
    return _table("overlap", caption, columns, rows)


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
            Cell(_least(shown(one.lower_bound), one.bound_is_limited), one.lower_bound),
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
    has_dates, has_costs = settings.as_of is not None, settings.early_cost is not None
    left = f"time left, {percent(fleet.confidence)} confidence"
    columns = (
        "unit",
        _in("age", facts),
        *(f"fails within {time_text(time, settings.unit)}" for time in settings.ahead[:_N_AHEAD]),
        left,
        *(["until"] if has_dates else []),
        "half fail within",
        *(["cheapest to replace at age", "replace in"] if has_costs else []),
        *(["replace on"] if has_dates and has_costs else []),
    )
    rows = [
        (
            _text(one.label),
            _number(one.age),
            *(
                Cell(_least(percent(risk), is_least), risk)
                for risk, is_least in list(zip(one.risks, one.risk_is_least, strict=True))[
                    :_N_AHEAD
                ]
            ),
            Cell(_bound(one.remaining_bound, is_limited=one.bound_is_limited), one.remaining_bound),
            *([_text(one.bound_date)] if has_dates else []),
            _number(one.remaining50),
            *(_replacement(one) if has_costs else []),
            *([_text(one.replace_date or one.advice)] if has_dates and has_costs else []),
        )
        for one in fleet.units
    ]
    first = time_text(settings.ahead[0], settings.unit)
    caption = f"Units of the fleet, the highest risk within {first} first"
    return _table("fleet", caption, columns, rows)


def _least(text: str, is_least: bool) -> str:
    return f"at least {text}" if is_least and text != percent(math.nan) else text


def _bound(value: float, *, is_limited: bool) -> str:
    return "no bound" if math.isnan(value) else _least(shown(value), is_limited)


def _replacement(one: Unit) -> tuple[Cell, Cell]:
    """Return the age of the cheapest replacement and the time until then."""
    if math.isfinite(one.replace_at):
        return _number(one.replace_at), Cell(one.advice or shown(one.replace_in), one.replace_in)
    said = f"{one.advice} {shown(one.supported)}" if one.advice == LATER else one.advice
    return Cell(said, math.inf), Cell("", math.inf)


def _failures(facts: ReportFacts) -> PageTable:
    assert facts.fleet is not None
    found = facts.fleet.failures
    assert found is not None
    share = f"{percent(found.confidence)} from"
    columns = (
        _in("within", facts),
        "expected failures",
        share,
        "to",
        "units that follow-up supports",
        f"spares, enough with {percent(found.service_level)}",
    )
    rows = [
        (
            _number(row.horizon),
            Cell(f"{row.expected:.1f}", row.expected),
            _count(row.low),
            _count(row.high),
            _share(row.supported),
            _count(row.spares),
        )
        for row in found.rows
    ]
    return _table("failures", f"Failures among {found.n_units:,} running units", columns, rows)


def _new_life(facts: ReportFacts) -> PageTable:
    assert facts.fleet is not None
    columns = ("life of a new unit", _in("typical unit", facts), "95 % from", "to",
               "one in ten units below", "one in ten units above")  # fmt: skip
    rows = [
        (
            _text(f"B{100 * row.level:.0f}: {percent(row.level)} have failed by"),
            *map(_number, (row.typical, row.low, row.high, row.shortest, row.longest)),
        )
        for row in facts.fleet.new_life
    ]
    return _table("new_life", "Life of new units, counted from the start", columns, rows)


def _costs(facts: ReportFacts) -> PageTable:
    priced = facts.settings.early_cost is not None
    unit = f" (1/{facts.settings.unit})" if facts.settings.unit else ""
    extra = ("cost per cycle", f"cost per time in service{unit}") if priced else ()
    columns = ("replace", "fail before, by the model", "past units that would have", "95 % from",
               "to", _in("mean time in service", facts), "supported for", *extra)  # fmt: skip
    rows = [
        (
            _text(row.rule),
            *map(_share, (row.risk, row.late, row.late_low, row.late_high)),
            _number(row.service),
            _share(row.identified),
            *([_number(row.cost), _score(row.rate)] if priced else []),
        )
        for row in facts.costs
    ]
    caption = "Rules of replacement for all units, over whole cycles from new"
    return _table("costs", caption, columns, rows)
