"""The survival CRPS of log-normal, Weibull and asymmetric Laplace times.

Arguments and the returned mean are those of ``_likelihoods.py``.

References
----------
.. [1] A. Avati, T. Duan, S. Zhou, K. Jung, N. H. Shah, A. Y. Ng (2019), Countdown regression:
   sharp and calibrated survival predictions, UAI.
.. [2] S. Baran, S. Lerch (2015), Log-normal distribution based ensemble model output statistics
   models for probabilistic wind-speed forecasting, QJRMS 141.
"""

import math

import numpy as np

from censquant._compile import exact, exact_part
from censquant._engine._families import NORMAL, normal_cdf, normal_density
from censquant._engine.losses._likelihoods import LARGEST_LOG, SMALLEST_SCALE, _softplus

LARGEST_SPREAD = 6.0
"""Largest standard deviation of log-times: the mean of wider ones is beyond 1e7 medians."""

# Beyond these, the distribution function of a standard Gumbel is 0 or 1 to all digits.
_GUMBEL_FIRST, _GUMBEL_LAST = -36.0, 4.0
_CRPS_NODES, _CRPS_WEIGHTS = np.polynomial.legendre.leggauss(96)
_OWEN_NODES, _OWEN_WEIGHTS = np.polynomial.legendre.leggauss(24)


@exact_part
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


@exact_part
def _weibull_parts(log_time, mu, sigma):
    """Return the same as for the log-normal, by Gauss and Legendre's rule of 96 nodes."""
    a = (log_time - mu) / sigma
    time, scale = math.exp(log_time), math.exp(mu)
    middle = min(max(a, _GUMBEL_FIRST), _GUMBEL_LAST)
    before, before_by_sigma, after, after_by_sigma = 0.0, 0.0, 0.0, 0.0
    for k in range(len(_CRPS_NODES)):
        for side in range(2):
            low = _GUMBEL_FIRST if side == 0 else middle
            high = middle if side == 0 else _GUMBEL_LAST
            half = 0.5 * (high - low)
            if half <= 0.0:
                continue
            u = low + half * (_CRPS_NODES[k] + 1.0)
            hazard = math.exp(u)
            survival, level = math.exp(-hazard), -math.expm1(-hazard)
            measure = _CRPS_WEIGHTS[k] * half * scale * math.exp(sigma * u)
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
    r"""Return the survival CRPS of log-normal times, or of Weibull times; write its gradient.

    An event at :math:`y` counts :math:`\int_0^y F^2 + \int_y^\infty (1 - F)^2`. Of a row censored
    there only the part counts that is known: the first integral, or the second one if the event
    came before. The integrals are over times, not their logarithms: ``unit`` is the logarithm of
    time that one model unit is, and ``mirrored`` says that model units are negated, as they are for
    left-censored times.
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


@exact_part
def _owens_t_inside(h, a):
    """Return Owen's T for a between 0 and 1, where its integrand is smooth."""
    total = 0.0
    for k in range(len(_OWEN_NODES)):
        x = 0.5 * a * (_OWEN_NODES[k] + 1.0)
        total += _OWEN_WEIGHTS[k] * math.exp(-0.5 * h * h * (1.0 + x * x)) / (1.0 + x * x)
    return 0.5 * a * total / (2.0 * math.pi)


@exact_part
def owens_t(h, a):
    r"""Return Owen's T function, :math:`P(X > h, 0 < Y < aX)` of independent standard normals."""
    size, high = abs(a), abs(h)
    if size <= 1.0:
        value = _owens_t_inside(high, size)
    else:
        near, far = normal_cdf(-high), normal_cdf(-high * size)
        # Of the complements, so that no digit is lost where both are small.
        value = 0.5 * (near + far) - near * far - _owens_t_inside(high * size, 1.0 / size)
    return value if a >= 0.0 else -value


@exact_part
def both_below(b, sigma):
    r"""Return :math:`\int_{-\infty}^b \Phi(v + \sigma) \varphi(v) \, dv` for positive sigma.

    It is the probability that a standard normal is below ``b`` and the difference of another one
    and it below ``sigma``: a quadrant of a bivariate normal distribution with the correlation
    :math:`-1 / \sqrt 2`, which Owen's T function gives.
    """
    k = sigma / math.sqrt(2.0)
    value = 0.5 * (normal_cdf(b) + normal_cdf(k)) - owens_t(k, (2.0 * b + sigma) / sigma)
    if b == 0.0:
        return value - 0.25
    value -= owens_t(b, (b + sigma) / b)
    return value if b > 0.0 else value - 0.5


@exact_part
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


@exact_part
def _tail(distance, near, share):
    """Return the integral over the tail of a side, and derivatives by three arguments."""
    twice = math.exp(-2.0 * distance / near)
    value = 0.5 * share * share * near * twice
    by_near = 0.5 * share * share * twice * (1.0 + 2.0 * distance / near)
    return value, share * share * twice, by_near, share * near * twice


@exact
def asymmetric_laplace_crps(output, time, event, weight, gradient):
    r"""Return the survival CRPS of asymmetric Laplace times; write its gradient.

    An event at :math:`y` counts :math:`\int_{-\infty}^y F^2 + \int_y^\infty (1 - F)^2`, a row
    censored there the first integral alone.
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
