"""The survival CRPS of log-normal and Weibull times."""

import math

import numpy as np

from censquant._compile import exact
from censquant._engine.losses._bivariate_normal import both_below, normal_cdf, normal_density
from censquant._engine.losses._likelihood import SMALLEST_SCALE, _softplus
from censquant._engine.losses._standard import NORMAL

LARGEST_SPREAD = 6.0
"""Largest standard deviation of log-times: the mean of wider ones is beyond 1e7 medians."""

# Beyond these, the distribution function of a standard Gumbel is 0 or 1 to all digits.
_GUMBEL_FIRST, _GUMBEL_LAST = -36.0, 4.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)


@exact
def _lognormal_parts(log_time, mu, sigma):
    """Return the integrals of F² before a time and of S² after it, each with two derivatives."""
    a = (log_time - mu) / sigma
    b, k = a - sigma, sigma / math.sqrt(2.0)
    time, mean = math.exp(log_time), math.exp(mu + 0.5 * sigma * sigma)
    level = normal_cdf(a)
    quadrant = both_below(b, sigma)
    before = time * level * level - 2.0 * mean * quadrant
    before_by_mu = -2.0 * mean * quadrant
    density = normal_density(b)
    overlap = math.exp(-0.25 * sigma * sigma) / (2.0 * math.sqrt(math.pi))
    moment = overlap * normal_cdf(math.sqrt(2.0) * b + k) - density * level
    before_by_sigma = -2.0 * mean * (sigma * quadrant + moment)
    # The whole score has a form of its own; what comes after the time is the difference.
    both = normal_cdf(b) - normal_cdf(-k)
    whole = time * (2.0 * level - 1.0) - 2.0 * mean * both
    whole_by_mu = -2.0 * mean * both
    whole_by_sigma = -2.0 * mean * (sigma * both - density + normal_density(k) / math.sqrt(2.0))
    return (
        before,
        before_by_mu,
        before_by_sigma,
        whole - before,
        whole_by_mu - before_by_mu,
        whole_by_sigma - before_by_sigma,
    )


@exact
def _weibull_parts(log_time, mu, sigma):
    """Return the same as for the log-normal, by Gauss and Legendre's rule of 96 nodes."""
    a = (log_time - mu) / sigma
    time, scale = math.exp(log_time), math.exp(mu)
    middle = min(max(a, _GUMBEL_FIRST), _GUMBEL_LAST)
    before, before_by_sigma, after, after_by_sigma = 0.0, 0.0, 0.0, 0.0
    for k in range(len(_NODES)):
        for side in range(2):
            low = _GUMBEL_FIRST if side == 0 else middle
            high = middle if side == 0 else _GUMBEL_LAST
            half = 0.5 * (high - low)
            if half <= 0.0:
                continue
            u = low + half * (_NODES[k] + 1.0)
            hazard = math.exp(u)
            survival, level = math.exp(-hazard), -math.expm1(-hazard)
            measure = _WEIGHTS[k] * half * scale * math.exp(sigma * u)
            if side == 0:
                before += measure * sigma * level * level
                before_by_sigma -= measure * 2.0 * level * hazard * survival * u
            else:
                after += measure * sigma * survival * survival
                after_by_sigma += measure * 2.0 * survival * survival * hazard * u
    if a > _GUMBEL_LAST:
        before += time - scale * math.exp(sigma * _GUMBEL_LAST)
    if a < _GUMBEL_FIRST:
        after += scale * math.exp(sigma * _GUMBEL_FIRST) - time
    survival, level = math.exp(-math.exp(min(a, 700.0))), -math.expm1(-math.exp(min(a, 700.0)))
    return (
        before,
        before - time * level * level,
        before_by_sigma,
        after,
        after + time * survival * survival,
        after_by_sigma,
    )


@exact
def log_time_crps(output, time, event, weight, family, unit, mirrored, gradient):
    r"""Mean over rows of the survival CRPS of log-normal or Weibull times; its gradient is written.

    An event at :math:`y` counts :math:`\int_0^y F^2 + \int_y^\infty (1 - F)^2`. Of a row censored
    there only the part counts that is known: the first integral, or the second one if the event
    came before. The integrals are over times, not their logarithms.

    Parameters
    ----------
    output : array of shape (n, 2)
        Location, and a number whose softplus is the scale, in model units.
    time : array of shape (n,)
        In model units: logarithms, divided by ``unit``.
    event : bool array of shape (n,)
        True where the event was seen.
    weight : array of shape (n,)
        Row weights; the mean divides by ``n``, not by their sum.
    family : int
        ``NORMAL`` for log-normal times, otherwise Weibull's.
    unit : float
        The logarithm of time that one model unit is.
    mirrored : bool
        Whether model units are negated, as they are for left-censored times.
    gradient : array of shape (n, 2)
        Receives the derivative by ``output``.

    References
    ----------
    .. [1] A. Avati, T. Duan, S. Zhou, K. Jung, N. H. Shah, A. Y. Ng (2019), Countdown regression:
       sharp and calibrated survival predictions, UAI.
    .. [2] S. Baran, S. Lerch (2015), Log-normal distribution based ensemble model output statistics
       models for probabilistic wind-speed forecasting, QJRMS 141.
    """
    n = len(time)
    sign = -unit if mirrored else unit
    total = 0.0
    for i in range(n):
        softplus, slope = _softplus(float(output[i, 1]))
        sigma = (softplus + SMALLEST_SCALE) * unit
        if sigma > LARGEST_SPREAD:
            sigma, slope = LARGEST_SPREAD, 0.0
        mu, log_time = sign * float(output[i, 0]), sign * float(time[i])
        if family == NORMAL:
            parts = _lognormal_parts(log_time, mu, sigma)
        else:
            parts = _weibull_parts(log_time, mu, sigma)
        before = 1.0 if event[i] or not mirrored else 0.0
        after = 1.0 if event[i] or mirrored else 0.0
        share = weight[i] / (n * unit)
        gradient[i, 0] = (before * parts[1] + after * parts[4]) * sign * share
        gradient[i, 1] = (before * parts[2] + after * parts[5]) * unit * slope * share
        total += (before * parts[0] + after * parts[3]) * share
    return total
