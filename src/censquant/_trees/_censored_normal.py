"""Compiled derivatives of the censored normal likelihood, as Newton boosting needs them."""

import math
from typing import Any

from censquant._compile import exact
from censquant._engine.losses import NORMAL, standard_loss

LOCATION, LOG_SCALE = 0, 1
LOWEST_LOG_SCALE, HIGHEST_LOG_SCALE = -4.0, 2.0

# A row pulls no harder than one so many standard deviations from its prediction, and a censored one
# no harder than at this hazard, whatever its time.
_FURTHEST = 4.0
_HIGHEST_HAZARD = 6.0
_FURTHEST_LOSS = 30.0
# Curvatures must be positive; of a censored row they may vanish.
_LEAST_CURVATURE = (1e-3, 0.1)
_ROOT_HALF = math.sqrt(0.5)
_HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)


@exact
def _bounded_hazard(u: float) -> float:
    """Return phi(u) / (1 - Phi(u)), at most the highest; the loss would cost as much again."""
    if u >= _HIGHEST_HAZARD:  # where the hazard is higher still
        return _HIGHEST_HAZARD
    survival = 0.5 * math.erfc(u * _ROOT_HALF)
    return min(math.exp(-0.5 * u * u - _HALF_LOG_2_PI) / survival, _HIGHEST_HAZARD)


@exact
def write_derivatives(
    z: Any, event: Any, weight: Any, state: Any, rows: Any, part: int, slopes: Any
) -> None:
    """Write first and second derivatives of minus the log-likelihood of some rows.

    They are by the location (``part`` 0) or by the logarithm of the scale (1), both in ``state``.
    For events the second is the expected one. ``slopes`` holds the two side by side.
    """
    for row in rows:
        inverse = math.exp(-state[LOG_SCALE, row])
        distance = (z[row] - state[LOCATION, row]) * inverse
        near = min(max(distance, -_FURTHEST), _FURTHEST)
        if event[row]:
            first, second = -near, 1.0
            if part == LOG_SCALE:
                first, second = 1.0 - near * near, 2.0
        else:
            hazard = _bounded_hazard(distance)
            bend = hazard * (hazard - near)
            first, second = -hazard, max(bend, _LEAST_CURVATURE[LOCATION])
            if part == LOG_SCALE:
                first = -hazard * near
                second = max(near * (bend * near + hazard), _LEAST_CURVATURE[LOG_SCALE])
        if part == LOCATION:
            first *= inverse
            second *= inverse * inverse
        slopes[row, 0] = weight[row] * first
        slopes[row, 1] = weight[row] * second


@exact
def total_loss(z: Any, event: Any, weight: Any, state: Any, rows: Any) -> float:
    """Return the sum of minus the log-likelihood of some rows.

    Very far from a prediction it goes on as a line, so that nothing overflows.
    """
    total = 0.0
    for row in rows:
        log_scale = state[LOG_SCALE, row]
        distance = (z[row] - state[LOCATION, row]) * math.exp(-log_scale)
        near = min(max(distance, -_FURTHEST_LOSS), _FURTHEST_LOSS)
        loss, steepness = standard_loss(near, event[row], NORMAL, 0.0)
        loss += steepness * (distance - near)
        total += weight[row] * (loss + log_scale if event[row] else loss)
    return total
