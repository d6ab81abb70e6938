"""Coverage of bounds and intervals on the rows of a report, with past events beside."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.estimators import ConformalSurvivalRegressor
from censquant.exceptions import FewEventsWarning, IdentifiabilityWarning, TruncationWarning
from censquant.metrics import coverage
from censquant.report._settings import Settings
from censquant.report._study import Study

CONFIDENCES = (0.8, 0.9, 0.95)
"""Promises that are looked at."""

_INTERVALS = (0.5, 0.8)


@dataclass(frozen=True)
class CoverageFact:
    """What happened to one promise.

    Parameters
    ----------
    kind : {"lower bound", "interval"}
    promised : float
    estimate, low, high : float
        Share of events that keep the promise, estimated under censoring, and its 95 % limits.
    sure, possible : float
        Shares whatever the censored rows hide.
    n_past, n_kept : int
        Observed events, and those that kept the promise; events that censoring hid are missing.
    finite : float
        Share of individuals with an upper end; 1 for lower bounds, which need none.
    note : str
        Why the estimate is not to be trusted, if so.
    """

    kind: str
    promised: float
    estimate: float
    low: float
    high: float
    sure: float
    possible: float
    n_past: int
    n_kept: int
    finite: float
    note: str


def coverage_facts(study: Study, settings: Settings) -> tuple[CoverageFact, ...]:
    """Return what happened to lower bounds, also those of the settings, and to intervals."""
    n_rows = len(study)
    facts = [
        _judged(study, "lower bound", share, lower_bound(study, share)[0], np.full(n_rows, np.inf))
        for share in sorted({*CONFIDENCES, settings.confidence})
    ]
    for share in _INTERVALS:
        low, high = interval(study, share)
        facts.append(_judged(study, "interval", share, low, high))
    return tuple(facts)


def lower_bound(
    study: Study, confidence: float, elapsed: Floats | None = None
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the times that a share of the individuals outlives, and whether follow-up ends them.

    They count from the start, also at an age. They are the calibrated bounds of a model that has
    them, else its own quantiles, cut where follow-up ends.
    """
    model, curve = study.model, study.curve
    if isinstance(model, ConformalSurvivalRegressor):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewEventsWarning)  # the bound is then 0, and shown
            warnings.simplefilter("ignore", IdentifiabilityWarning)  # those bounds are marked
            # The frame of predict_lower_bound has the same, and needs pandas.
            found = model._bounds(study.table.X, confidence, "lower", elapsed)
        return found.time, found.limited
    level = np.array([round(1.0 - confidence, 12)])
    if elapsed is None:
        bound, asked = curve.at(level)[:, 0], np.broadcast_to(level, (len(study), 1))
    else:
        bound = elapsed + curve.remaining(elapsed, level)[:, 0]
        asked = curve.conditional_levels(elapsed, level)
    limited = ~curve.is_identified(asked)[:, 0]
    end = study.supported_until()
    bound = np.where(limited, np.minimum(bound, end), bound)
    return bound if elapsed is None else np.maximum(bound, elapsed), limited


def interval(study: Study, share: float) -> tuple[Floats, Floats]:
    """Return the ends of the central interval; infinite where the data support no upper end."""
    model = study.model
    if isinstance(model, ConformalSurvivalRegressor):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewEventsWarning)
            warnings.simplefilter("ignore", IdentifiabilityWarning)
            ends = model.predict_interval(study.table.X, share, beyond="inf")
    else:
        low = round((1.0 - share) / 2.0, 12)
        known = study.known_quantiles(np.array([low, 1.0 - low]))
        ends = np.where(np.isnan(known), np.inf, known)
    return ends[:, 0], ends[:, 1]


def _judged(study: Study, kind: str, promised: float, low: Floats, high: Floats) -> CoverageFact:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TruncationWarning)
        # Bounds are kept by events at them, and metrics.coverage leaves its lower limit out.
        just_below = np.nextafter(low, -np.inf)
        found = coverage(study.y, just_below, high, y_train=study.y_train)
    time, event = study.y
    kept = event & (low <= time) & (time <= high)
    return CoverageFact(
        kind,
        promised,
        found.estimate,
        found.confidence_low,
        found.confidence_high,
        found.bound_low,
        found.bound_high,
        int(event.sum()),
        int(kept.sum()),
        1.0 if kind == "lower bound" else float(np.isfinite(high).mean()),
        "; ".join(str(one.message) for one in caught),
    )
