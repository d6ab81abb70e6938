"""The verdict of a page, from its scores and its table of risks."""

from censquant.metrics import Evaluation
from censquant.report._numbers import NO_BREAK, p_text, percent, time_text
from censquant.report._risk import RiskCheck
from censquant.report._settings import Settings


def page_verdict(evaluation: Evaluation, check: RiskCheck, settings: Settings) -> str:
    """Return the verdict on all that the page shows: ranking, test and table of risks."""
    return " ".join(_sentences(evaluation, check, settings)).replace(NO_BREAK, " ")


def _sentences(evaluation: Evaluation, check: RiskCheck, settings: Settings) -> list[str]:
    reach = evaluation.verdict.removeprefix(f"{evaluation.ranking}, {evaluation.calibration}. ")
    if check.worst is None:
        first = f"{evaluation.ranking}, {evaluation.calibration}."
        return [first, *_cells(check), reach]
    row = check.worst
    group = f"all {settings.who}" if row.group == "all" else f"the {row.group} by predicted risk"
    said = (
        f"by {time_text(row.horizon, settings.unit)} {percent(row.predicted)} of {group} were "
        f"predicted to have had the event, and {percent(row.observed)} had "
        f"({p_text(check.p_value)} after correction for {check.n_cells} comparisons)"
    )
    if not evaluation.is_calibrated:
        first = f"{evaluation.ranking}, {evaluation.calibration}."
        return [first, f"The table of risks disagrees, too: {said}.", *_cells(check), reach]
    return [
        f"{evaluation.ranking}, but predicted risks are not calibrated: {said}.",
        "The test over all levels together does not detect it.",
        *_cells(check),
        reach,
    ]


def _cells(check: RiskCheck) -> list[str]:
    """Return how many predicted risks of the table lie outside of their limits."""
    if not check.n_cells:
        return []
    if not check.n_outside:
        return [
            f"All {check.n_cells} predicted risks of the table lie inside the 95{NO_BREAK}% limits "
            "of the observed ones."
        ]
    said = (
        f"{check.n_outside} of {check.n_cells} predicted risks of the table lie outside the "
        f"95{NO_BREAK}% limits of the observed ones"
    )
    if check.n_rejected:
        small = "" if check.worst else ", by less than 3 percentage points"
        return [
            f"{said}, {check.n_rejected} of them also after correction for their number{small}."
        ]
    return [f"{said}; after correction for their number none does."]
