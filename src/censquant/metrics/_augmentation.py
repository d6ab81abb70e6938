"""The chance of an event by a limit, made whole for the events that censoring hid."""

import numpy as np

from censquant._follow_up_share import SMALLEST_CENSORING_CHANCE
from censquant.metrics._read import Floats
from censquant.quantiles import QuantileCurve
from censquant.survival import KaplanMeier, Target

# Groups that the censoring times are put into, so that the integral over them costs the same for
# any number of rows; exact where there are no more distinct times than this.
_GROUPS = 256

# Entries of a block of rows by groups, which bounds the memory.
_BLOCK_ENTRIES = 1 << 20


def chance_before(
    target: Target, limit: Floats, curve: KaplanMeier, model: QuantileCurve | None
) -> Floats:
    """Contribution of every row to the chance of an event by its own finite limit.

    The inverse-probability term alone where there is no model. With one, a row censored before
    its limit gets what the model expects of it, less what it was expected to get while it was
    under observation; the two balance whatever the model says if the censoring curve is right.
    """
    early = target.time <= limit
    before = np.maximum(curve(target.time, side="left"), SMALLEST_CENSORING_CHANCE)
    result: Floats = (target.event & early) / before
    if model is None:
        return result
    beyond = 1.0 - model.cdf(limit)
    hidden = ~target.event & early
    after = np.maximum(curve(target.time), SMALLEST_CENSORING_CHANCE)
    result += hidden * _expected(beyond, 1.0 - model.cdf(target.time)) / after
    return result - _compensator(target, limit, beyond, curve, model)


def _expected(beyond: Floats, now: Floats) -> Floats:
    """Chance of an event by the limit for a row without one so far, given both survivals."""
    # Where the model leaves no chance to have come this far, the event is overdue.
    return np.clip(1.0 - beyond / np.maximum(now, 1e-12), 0.0, 1.0)


def _compensator(
    target: Target, limit: Floats, beyond: Floats, curve: KaplanMeier, model: QuantileCurve
) -> Floats:
    """Integral of the expected chance over the censoring hazard that each row was exposed to."""
    censored = curve.n_events > 0
    times = curve.time[censored]
    result = np.zeros(len(target))
    if times.size == 0:
        return result
    rise = curve.n_events[censored] / curve.n_at_risk[censored]
    rise /= np.maximum(curve.survival[censored], SMALLEST_CENSORING_CHANCE)
    area = np.concatenate(([0.0], np.cumsum(rise)))
    # An event leaves before the censorings of its own time.
    passed = [np.searchsorted(times, target.time, side=side) for side in ("left", "right")]
    own = np.where(target.event, *passed)
    exposure = area[np.minimum(own, np.searchsorted(times, limit, side="right"))]

    ends = np.unique(np.linspace(0, times.size, _GROUPS + 1).astype(np.intp))
    widths = np.diff(area[ends])
    centres = np.add.reduceat(rise * times, ends[:-1]) / widths
    step = max(1, _BLOCK_ENTRIES // widths.size)
    for start in range(0, len(target), step):
        rows = slice(start, start + step)
        part = np.clip(exposure[rows, None] - area[ends[:-1]], 0.0, widths)
        now = QuantileCurve(model.values[rows], model.taus).survival(centres)
        result[rows] = (part * _expected(beyond[rows, None], now)).sum(axis=1)
    return result
