"""The survival CRPS of asymmetric Laplace times."""

import math

from censquant._compile import exact
from censquant._engine.losses._likelihood import LARGEST_LOG


@exact
def _side(distance, near, far, share):
    """Return the integral up to a time beyond the location, and derivatives by four arguments.

    With the mass ``share`` and the mean distance ``near`` on the other side of the location, and
    ``far`` on this side, of the squared distribution function from the other side.
    """
    rest = 1.0 - share
    once, twice = math.exp(-distance / far), math.exp(-2.0 * distance / far)
    value = (
        0.5 * share * share * near
        + distance
        - 2.0 * rest * far * (1.0 - once)
        + 0.5 * rest * rest * far * (1.0 - twice)
    )
    level = 1.0 - rest * once
    by_near = 0.5 * share * share
    by_far = (
        -2.0 * rest * (1.0 - once)
        + 2.0 * rest * distance / far * once
        + 0.5 * rest * rest * (1.0 - twice)
        - rest * rest * distance / far * twice
    )
    by_share = share * near + 2.0 * far * (1.0 - once) - rest * far * (1.0 - twice)
    return value, level * level, by_near, by_far, by_share


@exact
def _tail(distance, near, share):
    """Return the integral over the tail of a side, and derivatives by three arguments."""
    twice = math.exp(-2.0 * distance / near)
    value = 0.5 * share * share * near * twice
    by_near = 0.5 * share * share * twice * (1.0 + 2.0 * distance / near)
    return value, share * share * twice, by_near, share * near * twice


@exact
def asymmetric_laplace_crps(output, time, event, weight, gradient):
    r"""Mean over rows of the survival CRPS of asymmetric Laplace times; its gradient is written.

    An event at :math:`y` counts :math:`\int_{-\infty}^y F^2 + \int_y^\infty (1 - F)^2`, a row
    censored there the first integral alone.

    Parameters
    ----------
    output : array of shape (n, 3)
        Location and the logarithms of scale and asymmetry, as in
        :func:`~censquant._engine.losses.asymmetric_laplace`.
    time : array of shape (n,)
    event : bool array of shape (n,)
        True where the event was seen.
    weight : array of shape (n,)
        Row weights; the mean divides by ``n``, not by their sum.
    gradient : array of shape (n, 3)
        Receives the derivative by ``output``.
    """
    n = len(time)
    total = 0.0
    for i in range(n):
        log_scale = min(max(float(output[i, 1]), -LARGEST_LOG), LARGEST_LOG)
        log_kappa = min(max(float(output[i, 2]), -LARGEST_LOG), LARGEST_LOG)
        mean, kappa = math.exp(log_scale) / math.sqrt(2.0), math.exp(log_kappa)
        early, late = mean * kappa, mean / kappa
        below = 1.0 / (1.0 + math.exp(-2.0 * log_kappa))
        above = 1.0 / (1.0 + math.exp(2.0 * log_kappa))
        distance = float(time[i]) - float(output[i, 0])
        # Values and derivatives by location, early, late and the share below, of both integrals.
        if distance > 0.0:
            before, level, by_early, by_late, by_below = _side(distance, early, late, below)
            after, tail, late_after, below_after = _tail(distance, late, above)
            early_after, below_after = 0.0, -below_after
        else:
            after, tail, late_after, early_after, by_above = _side(-distance, late, early, above)
            below_after = -by_above
            before, level, by_early, by_below = _tail(-distance, early, below)
            by_late = 0.0
        loss, by_location = before, -level
        if event[i]:
            loss += after
            by_location += tail
            by_early += early_after
            by_late += late_after
            by_below += below_after
        by_scale = by_early * early + by_late * late
        by_kappa = by_early * early - by_late * late + by_below * 2.0 * below * above
        share = weight[i] / n
        gradient[i, 0] = by_location * share
        gradient[i, 1] = by_scale * share if abs(output[i, 1]) < LARGEST_LOG else 0.0
        gradient[i, 2] = by_kappa * share if abs(output[i, 2]) < LARGEST_LOG else 0.0
        total += loss * share
    return total
