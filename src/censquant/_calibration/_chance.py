"""The chance of an event by a limit, made whole for the events that censoring hid."""

import numpy as np

from censquant._calibration._censoring import CensoringCurves
from censquant._typing import Floats
from censquant.quantiles import QuantileCurve
from censquant.survival import Target

_NO_CHANCE = 1e-12

# Rows of a block, which bounds the memory.
_BLOCK_ROWS = 2_048


def chance_before(
    target: Target,
    limits: Floats,
    censoring: CensoringCurves,
    model: QuantileCurve | None,
    *,
    entry: Floats | None = None,
) -> Floats:
    r"""Contribution of every row to the chance of an event by its own limits.

    .. math:: \psi = \frac{\delta 1[Y \le L]}{S_C(Y-)} + \frac{(1 - \delta) 1[Y \le L] m(Y)}{S_C(Y)}
              - \int_0^{\min(Y, L)} \frac{m(u)}{S_C(u)} d\Lambda_C(u), \qquad
              m(u) = \frac{\hat F(L) - \hat F(u)}{1 - \hat F(u)}

    The inverse-probability term alone where there is no model. With one, a row censored before its
    limit gets what the model expects of it, less what it was expected to get while it was under
    observation; the two balance whatever the model says if the censoring curves are right.
    """
    early = target.time[:, None] <= limits
    result: Floats = (target.event[:, None] & early) / censoring.before(target.time)[:, None]
    if model is None:
        return result
    for start in range(0, len(target), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        result[rows] += _augmentation(
            target.take(rows),
            limits[rows],
            censoring.take(rows),
            model.take(rows, reach=False),
            None if entry is None else entry[rows],
        )
    return result


def _augmentation(
    target: Target,
    limits: Floats,
    censoring: CensoringCurves,
    model: QuantileCurve,
    entry: Floats | None,
) -> Floats:
    """Return what the model adds to the inverse-probability term."""
    beyond = 1.0 - model.cdf(limits)
    hidden = ~target.event[:, None] & (target.time[:, None] <= limits)
    now = 1.0 - model.cdf(target.time)[:, None]
    # Where the model leaves no chance to have come this far, the event is overdue.
    expected = np.clip(1.0 - beyond / np.maximum(now, _NO_CHANCE), 0.0, 1.0)
    result: Floats = hidden * expected / censoring.after(target.time)[:, None]
    centres, widths = censoring.pieces()
    at_centres = np.broadcast_to(centres, (len(target), centres.shape[1]))
    slopes = 1.0 / np.maximum(1.0 - model.cdf(at_centres), _NO_CHANCE)
    result -= _compensator(censoring.area(limits, target), beyond, widths, slopes)
    if entry is not None:
        result += _compensator(censoring.area(entry[:, None], target), beyond, widths, slopes)
    return result


def _compensator(until: Floats, beyond: Floats, widths: Floats, slopes: Floats) -> Floats:
    """Integral of the expected chance over the area that each row was exposed to.

    The chance is 1 - S(L) / S(u), with 1 / S(u) a step function of the area.
    """
    from censquant._calibration._compensator import write_compensators

    # Arrays of one kind, since the kernel is compiled for each kind.
    shape, room = np.broadcast_shapes(until.shape, beyond.shape), np.empty((2, slopes.shape[1] + 1))
    until, beyond = (np.broadcast_to(a, shape) for a in (until, beyond))
    arrays = [np.require(a, requirements=["C", "W"]) for a in (until, beyond, widths, slopes)]
    result = np.empty(shape)
    write_compensators(*arrays, _NO_CHANCE, *room, result)
    return result
