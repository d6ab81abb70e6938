"""What the numbers of a report say, in sentences for readers without statistics."""

import math

from censquant.report._facts import ReportFacts
from censquant.report._fleet import B_LEVELS, MOST_UNITS, OWN_AGE
from censquant.report._numbers import NO_BREAK, p_text, percent, shown, time_text

_RANKING = "concordance_restricted_mean"
_SIGNIFICANT = 0.05


def words_of(facts: ReportFacts) -> dict[str, list[str]]:
    """Return sentences by section."""
    return {
        "verdict": [facts.verdict],
        "privacy": _privacy(facts),
        "cohort": _cohort(facts),
        "discrimination": _discrimination(facts),
        "calibration": _calibration(facts),
        "coverage": _coverage(facts),
        "identified": _identified(facts),
        "risks": _risks(facts),
        "importance": _importance(facts),
        "fleet": _fleet(facts),
        "failures": _failures(facts),
        "new_life": _new_life(facts),
        "costs": _costs(facts),
        "effect": _effect(facts),
        "kinds": _kinds(facts),
        "assumptions": [] if facts.contrast is None else list(facts.contrast.assumptions),
    }


def _kinds(facts: ReportFacts) -> list[str]:
    if not facts.kinds:
        return []
    names = list(dict.fromkeys(row.kind for row in facts.kinds))
    return [
        f"The first event is of one of {len(names)} kinds: {', '.join(names)}. All other sections "
        "are about the first event of any kind.",
        "Observed shares are Aalen-Johansen estimates; probabilities of all kinds and of no event "
        "sum to 100 %.",
    ]


def _effect(facts: ReportFacts) -> list[str]:
    found = facts.contrast
    if found is None:
        return []
    row = found.rows[0]
    said = [f"{found.title}. {found.source}."]
    if not math.isnan(row.low):
        unit = "" if found.what in ("risk", "survival") else facts.settings.unit
        sure = "is" if row.low > 0 or row.high < 0 else "cannot be told from zero, and is"
        said.append(
            f"For all {row.n_rows:,} {facts.settings.who} the difference {sure} "
            f"{shown(row.difference)}{f' {unit}' if unit else ''} ({100 * found.confidence:g} % "
            f"interval {shown(row.low)} to {shown(row.high)})."
        )
    return [*said, "It is an effect only if what is listed below holds, which no data can show."]


def _privacy(facts: ReportFacts) -> list[str]:
    n_shown, who = len(facts.individuals), facts.settings.who
    sentences = [f"This page holds aggregates of {facts.cohort.n_rows:,} {who}"]
    fleet = facts.fleet
    if fleet is not None and fleet.units:
        sentences[0] += f", predictions for {len(fleet.units):,} {who} in the table of the fleet"
    if n_shown:
        sentences[0] += f", and the features of {n_shown:,} {who} that were asked for"
    elif fleet is None or not fleet.units:
        sentences[0] += f", and no single one of the {who}: none was asked for"
    else:
        sentences[0] += ", and features of none"
    sentences[0] += "."
    return [
        *sentences,
        "It needs no network, and sends nothing anywhere.",
    ]


def _cohort(facts: ReportFacts) -> list[str]:
    cohort, unit, who = facts.cohort, facts.settings.unit, facts.settings.who
    share = percent(cohort.n_events / cohort.n_rows)
    found = [
        f"Of {cohort.n_rows:,} {who}, {cohort.n_events:,} ({share}) had the event; the others are "
        "censored: it had not happened when they were last observed.",
        f"Ten or more were under observation up to {time_text(cohort.end, unit)}, where tables and "
        "figures end.",
    ]
    if math.isfinite(cohort.median_follow_up):
        found.append(f"Half were followed for {time_text(cohort.median_follow_up, unit)} or more.")
    if math.isfinite(cohort.median_survival):
        found.append(
            f"By {time_text(cohort.median_survival, unit)} the event has happened to half of them "
            "(Kaplan-Meier)."
        )
    else:
        found.append("Follow-up is too short to tell by when the event has happened to half.")
    return found


def _discrimination(facts: ReportFacts) -> list[str]:
    row, who = facts.evaluation[_RANKING], facts.settings.who
    if math.isnan(row.value):
        return [f"The ranking could not be judged: {row.note}"]
    said = (
        f"Of two {who} of which one is known to have had the event first, the model names the "
        f"right one in {100 * row.value:.0f} of 100 pairs (95 % interval {100 * row.lower:.0f} to "
        f"{100 * row.upper:.0f}); guessing names it in 50."
    )
    return [said, *_scored(facts, "Scores are")]


def _scored(facts: ReportFacts, what: str) -> list[str]:
    """Return the rows that scores rest on, where these are not all."""
    n_scored, n_rows = facts.evaluation.n_rows, facts.cohort.n_rows
    if n_scored == n_rows:
        return []
    return [f"{what} those of {n_scored:,} of {n_rows:,} {facts.settings.who}, drawn at random."]


def _calibration(facts: ReportFacts) -> list[str]:
    p_value = facts.evaluation["a_calibration_p_value"].value
    known = [row for row in facts.levels if not math.isnan(row.observed)]
    found = []
    if known:
        row = min(known, key=lambda one: abs(one.level - 0.5))
        found.append(
            f"By the time that the model gives a {percent(row.level)} chance, the event had "
            f"happened to {percent(row.observed)} ({percent(row.low)} to {percent(row.high)})."
        )
        inside = sum(row.low <= row.level <= row.high for row in known)
        found.append(
            f"{inside} of {len(known)} levels lie inside the 95 % limits of what was observed."
        )
    if p_value < _SIGNIFICANT and facts.evaluation.is_calibrated:
        said = (
            "The test detects a disagreement between predicted probabilities and events, which is "
            "below 3 percentage points at every level"
        )
    elif p_value < _SIGNIFICANT:
        said = "The test finds that predicted probabilities and events disagree"
    else:
        said = "The test finds no disagreement between predicted probabilities and events"
    rows = _scored(facts, "The test and the bars are")
    return [*found, f"{said} ({p_text(p_value)}).", *rows]


def _coverage(facts: ReportFacts) -> list[str]:
    found = []
    for row in facts.coverage:
        if row.kind != "lower bound" or row.promised != facts.settings.confidence:
            continue
        found.append(
            f"Of the {facts.settings.who}, {percent(row.promised)} should outlive their lower "
            f"bound of that confidence; an estimated {percent(row.estimate)} do "
            f"({percent(row.low)} to {percent(row.high)})."
        )
        if row.n_past:
            found.append(
                f"Of {row.n_past:,} observed events, {row.n_past - row.n_kept:,} came before their "
                "bound. That share is not the coverage: events that censoring hid, mostly late "
                "ones, are missing from it, and the estimate corrects for them."
            )
        if row.note:
            found.append(f"{row.note[0].upper()}{row.note[1:]}")
    row = [one for one in facts.coverage if one.kind == "interval"][-1]
    found.append(
        f"The {percent(row.promised)} intervals hold an estimated {percent(row.estimate)} of the "
        f"events ({percent(row.low)} to {percent(row.high)})."
    )
    if row.finite < 1 and row.low > row.promised:
        found.append(
            f"They may hold more than promised, since {percent(1 - row.finite)} of them have no "
            "upper end, for want of follow-up, and hold every late event."
        )
    calibrated = (
        "Bounds are calibrated: the model corrected them on rows that it had not seen."
        if facts.model.is_calibrated
        else "Bounds are not calibrated: they are the model's own quantiles."
    )
    return [calibrated, *found]


def _identified(facts: ReportFacts) -> list[str]:
    unidentified = [row for row in facts.levels if row.identified < 1]
    found = [
        "A quantile can be learned only where individuals like this one were observed for long "
        "enough. Times past that are left out here, not guessed."
    ]
    if not unidentified:
        return [*found, "All levels shown are identified for everybody."]
    row = unidentified[0]
    found.append(
        f"The level {percent(row.level)} is identified for {percent(row.identified)} of the "
        f"{facts.settings.who}, the highest one ({percent(facts.levels[-1].level)}) for "
        f"{percent(facts.levels[-1].identified)}."
    )
    return found


def _risks(facts: ReportFacts) -> list[str]:
    unit, who = facts.settings.unit, facts.settings.who
    return [
        f"By {time_text(row.horizon, unit)} the event is predicted for {percent(row.predicted)} of "
        f"the {who} on average; {percent(row.observed)} ({percent(row.low)} to "
        f"{percent(row.high)}) were observed to have had it."
        for row in facts.risks
        if row.group == "all"
    ] + [
        f"Predicted risks by {time_text(one.time, unit)} are off by {100 * one.ici:.1f} percentage "
        f"points on average; right ones would seem to be off by {100 * one.ici_by_chance:.1f} "
        f"({p_text(one.p_value)})."
        for one in facts.calibration[-1:]
    ]


def _importance(facts: ReportFacts) -> list[str]:
    found = facts.importance
    if found is None:
        return []
    place, n_repeats = int(found.order[0]), found.importances.shape[1]
    said = "Shuffling the values of no feature makes predictions worse."
    if found.mean[place] > 0:
        said = (
            f"Shuffling the values of {found.features[place]!r} among the individuals makes "
            "predictions worse than shuffling any other feature."
        )
    some = f"all {facts.n_shuffled:,} individuals"
    if facts.n_shuffled < facts.cohort.n_rows:
        some = f"{facts.n_shuffled:,} of {facts.cohort.n_rows:,} individuals, drawn at random"
    return [
        said,
        f"Each feature was shuffled {n_repeats} times among {some}.",
        "Importance is not causation: a feature that shares its information with another one can "
        "look unimportant.",
    ]


def _fleet(facts: ReportFacts) -> list[str]:
    fleet, settings = facts.fleet, facts.settings
    if fleet is None:
        return []
    unit, found = settings.unit, []
    if fleet.units:
        first = fleet.units[0]
        ahead = time_text(settings.ahead[0], unit)
        found.append(
            f"Units are ordered by their risk to fail within {ahead}, given that they have reached "
            "their present age."
        )
        if not math.isnan(first.risks[0]):
            least = "at least " if first.risk_is_least[0] else ""
            found.append(
                f"The highest risk is that of {first.label}: {least}{percent(first.risks[0])}."
            )
        found += _limited(facts)
    else:
        found.append("No unit was asked for, or none is still running.")
    if fleet.n_asked > len(fleet.units):
        found.append(
            f"The table has the {MOST_UNITS} of {fleet.n_asked:,} units with the highest risk; "
            "censquant predict writes all of them to a file."
        )
    n_failed = sum(one.event for one in facts.individuals)
    if n_failed:
        found.append(
            f"{n_failed:,} of the {len(facts.individuals):,} units that were asked for have failed "
            "already: the table says what was predicted at that age."
        )
    return found


def _limited(facts: ReportFacts) -> list[str]:
    """Return what is said of units that follow-up does not support."""
    assert facts.fleet is not None
    units, found = facts.fleet.units, []
    n_old = sum(math.isnan(one.risks[0]) for one in units)
    if n_old:
        found.append(
            f"{n_old:,} of {len(units):,} units are older than follow-up supports: their risk is "
            "not known, they stand last, and only an inspection can tell."
        )
    n_limited = sum(one.bound_is_limited for one in units)
    if n_limited:
        found.append(
            f'"At least" marks times and risks of units for which follow-up ends before '
            f"({n_limited:,} of {len(units):,} lower bounds)."
        )
    return found


def _failures(facts: ReportFacts) -> list[str]:
    if facts.fleet is None or facts.fleet.failures is None:
        return []
    failures, unit = facts.fleet.failures, facts.settings.unit
    row = failures.rows[0]
    return [
        f"Within {time_text(row.horizon, unit)}, {row.expected:.1f} of {failures.n_units:,} "
        f"running units are expected to fail ({row.low} to {row.high} with "
        f"{percent(failures.confidence)} confidence).",
        "The limits contain chance alone: neither the error of the model, nor what hits many units "
        "at once."
        if failures.n_learned is None
        else "The limits contain chance and the uncertainty of a model that has learned from "
        f"{failures.n_learned:,} failures, but not what hits many units at once.",
    ]


def _new_life(facts: ReportFacts) -> list[str]:
    fleet = facts.fleet
    if fleet is None:
        return []
    (low10, high10), (low50, high50) = (
        [percent(end) if 0 < end < 1 else "no limit" for end in limit] for limit in fleet.limits
    )
    found = [
        f"B10 and B50 are the ages by which {percent(0.1)} and {percent(0.5)} of new units have "
        "failed; they say nothing of what is left to a unit that is running. Their limits come "
        "from the rows of this report: by the times that the model gives "
        f"to {low10} and {high10}, {percent(0.1)} may have failed, and {percent(0.5)} by those of "
        f"{low50} and {high50} (95{NO_BREAK}% limits)."
    ]
    for when, side in (("later", 0), ("earlier", 1)):
        outside = [
            f"B{100 * level:.0f}"
            for level, limit in zip(B_LEVELS, fleet.limits, strict=True)
            if (limit[0] > level, limit[1] < level)[side]
        ]
        if outside:
            found.append(
                f"On these rows failures came {when} than predicted, outside of the limits of "
                f"{' and '.join(outside)}."
            )
    return found


def _costs(facts: ReportFacts) -> list[str]:
    if not facts.costs or facts.fleet is None:
        return []
    fleet, settings = facts.fleet, facts.settings
    found = [
        "A cycle lasts from a new unit to its replacement or its failure, and an equal unit "
        "follows. A small risk replaces early and wastes life; a large one lets units fail."
    ]
    if settings.early_cost is None or settings.late_cost is None:
        return [*found, "Give the costs of an early and a late replacement to compare the rules."]
    own = next(row for row in facts.costs if row.rule == OWN_AGE)
    costs = (
        f"With {shown(settings.early_cost)} for a planned replacement and "
        f"{shown(settings.late_cost)} for a failure"
    )
    if own.identified == 0:
        return [
            *found,
            f"{costs}, replacing before failure does not pay at any age that follow-up supports: "
            "the cost per time in service does not rise with the age of replacement.",
        ]
    per = f" per {settings.unit.removesuffix('s')}" if settings.unit else ""
    found.append(
        f"{costs}, replacing each unit at its own cheapest age costs {shown(own.rate)}{per} in the "
        f"long run, and {percent(own.risk)} of units fail before."
    )
    if own.identified < 1:
        found.append(
            f"For {percent(1 - own.identified)} of the units no replacement before failure pays "
            "within follow-up; a cheapest age may lie beyond it where the hazard still rises "
            '("not before").'
        )
    if fleet.n_due:
        found.append(
            f"{fleet.n_due:,} of {fleet.n_running:,} running units have reached that age and are "
            "due now."
        )
    return found
