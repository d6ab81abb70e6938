"""What an evaluation says in words: of the order, of the calibration, of the follow-up."""

from typing import Any

import numpy as np

from censquant.metrics._distortion import Gap
from censquant.metrics._evaluation import EvaluationRow

SMALL_GAP = 0.03
"""Largest gap between a predicted and an observed share of events that does not matter.

With very many rows every test of calibration rejects every model, so that the size decides.
"""

# Below this many events a test of calibration finds little fault with any model.
_FEW_EVENTS = 50
SIGNIFICANT = 0.05


def verdict_of(
    order: EvaluationRow,
    p_value: float,
    gap: Gap,
    error: tuple[str, ...],
    n_events: int,
    identified: float,
    doubt: str = "",
) -> dict[str, Any]:
    """Return sentences on order, calibration and follow-up, and the parts of the first.

    ``doubt`` says which scores may be biased.
    """
    ranking = _order(order)
    is_calibrated = bool(p_value >= SIGNIFICANT or gap.size < SMALL_GAP)
    calibration = _calibrated(p_value, gap, error, n_events)
    share = f"{100 * identified:.0f} % of the predicted quantiles lie within the follow-up of the"
    return {
        "verdict": f"{ranking}, {calibration}. {share} training data." + (doubt and f" {doubt}."),
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
    shown = p_words(p_value)
    if p_value >= SIGNIFICANT:
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


def p_words(p_value: float) -> str:
    return f"p = {p_value:.2g}" if p_value >= 0.001 else "p < 0.001"
