"""Censored likelihoods of distributions with a location and a scale."""

import math

from censquant._compile import exact
from censquant._engine.losses._standard import LARGEST_EXPONENT, standard_loss

# Exact and not fast: extreme rows must give exact limits, and two or three outputs cost little.

SMALLEST_SCALE = 1e-6
"""Added to every scale, so that no row can be given all of the likelihood."""

LARGEST_LOG = 15.0
"""Bound on the logarithms of an asymmetric Laplace distribution's scale and asymmetry."""


@exact
def _softplus(raw):
    """Return ``log(1 + exp(raw))`` and its derivative."""
    e = math.exp(-abs(raw))
    value = max(raw, 0.0) + math.log1p(e)
    return value, (1.0 if raw >= 0 else e) / (1.0 + e)


@exact
def location_scale(output, time, event, weight, family, gradient):
    r"""Mean over rows of the censored negative log-likelihood; its gradient is written.

    An event at :math:`t` counts :math:`\log \sigma - \log f_0(u)`, a row censored there
    :math:`-\log S_0(u)`, with :math:`u = (t - \mu) / \sigma`. Nothing is clipped or padded: the
    survival function is computed on the log scale, so that a row far out in the tail still pulls.

    Parameters
    ----------
    output : array of shape (n, 2)
        Location, and a number whose softplus is the scale.
    time : array of shape (n,)
    event : bool array of shape (n,)
        True where the event was seen.
    weight : array of shape (n,)
        Row weights; the mean divides by ``n``, not by their sum.
    family : int
        ``NORMAL``, ``GUMBEL`` for the minimum Gumbel distribution, the logarithm of a Weibull, or
        ``MIRRORED_GUMBEL`` for the maximum one.
    gradient : array of shape (n, 2)
        Receives the derivative by ``output``.
    """
    n = len(time)
    total = 0.0
    for i in range(n):
        softplus, slope = _softplus(float(output[i, 1]))
        scale = softplus + SMALLEST_SCALE
        u = (float(time[i]) - float(output[i, 0])) / scale
        loss, by_u = standard_loss(u, event[i], family, LARGEST_EXPONENT)
        by_scale = -by_u * u / scale
        if event[i]:
            loss += math.log(scale)
            by_scale += 1.0 / scale
        share = weight[i] / n
        gradient[i, 0] = -by_u / scale * share
        gradient[i, 1] = by_scale * slope * share
        total += loss * share
    return total


@exact
def asymmetric_laplace(output, time, event, weight, gradient):
    r"""Mean over rows of the censored asymmetric-Laplace negative log-likelihood, with gradient.

    .. math:: f(t) = \frac{\sqrt 2}{\sigma} \frac{\kappa}{1 + \kappa^2}
              \exp\Big(-\frac{\sqrt 2}{\sigma} \big(\kappa (t - \theta)_+ +
              (\theta - t)_+ / \kappa\big)\Big)

    Parameters
    ----------
    output : array of shape (n, 3)
        :math:`\theta, \log \sigma, \log \kappa`.
    time : array of shape (n,)
    event : bool array of shape (n,)
        True where the event was seen.
    weight : array of shape (n,)
        Row weights; the mean divides by ``n``, not by their sum.
    gradient : array of shape (n, 3)
        Receives the derivative by ``output``.

    References
    ----------
    .. [1] D. Sheng, R. Henao (2025), Learning survival distributions with the asymmetric Laplace
       distribution, ICML.
    """
    n = len(time)
    total = 0.0
    for i in range(n):
        log_scale = min(max(float(output[i, 1]), -LARGEST_LOG), LARGEST_LOG)
        log_kappa = min(max(float(output[i, 2]), -LARGEST_LOG), LARGEST_LOG)
        rate = math.sqrt(2.0) * math.exp(-log_scale)
        kappa = math.exp(log_kappa)
        # Probabilities of a time below and above theta, and minus the logarithm of the latter; one
        # minus the former would have few digits left where kappa is large.
        below = 1.0 / (1.0 + math.exp(-2.0 * log_kappa))
        above = 1.0 / (1.0 + math.exp(2.0 * log_kappa))
        far, _ = _softplus(2.0 * log_kappa)
        distance = float(time[i]) - float(output[i, 0])
        # How far the row lies in units of its side's mean, and what that means for theta.
        if distance > 0:
            depth, by_location, by_kappa = rate * kappa * distance, -rate * kappa, 1.0
        else:
            depth, by_location, by_kappa = -rate * distance / kappa, rate / kappa, -1.0
        if event[i]:
            loss = depth - math.log(rate) - log_kappa + far
            by_scale = 1.0 - depth
            by_kappa = by_kappa * depth - 1.0 + 2.0 * below
        elif distance > 0:
            loss = depth + far
            by_scale = -depth
            by_kappa = depth + 2.0 * below
        else:
            inside = below * math.exp(-depth)  # probability of an event before the row's time
            outside = above - below * math.expm1(-depth)
            odds = inside / outside
            loss = -math.log1p(-inside) if inside < 0.5 else -math.log(outside)
            by_location *= -odds
            by_scale = odds * depth
            by_kappa = odds * (2.0 * above + depth)
        share = weight[i] / n
        gradient[i, 0] = by_location * share
        gradient[i, 1] = by_scale * share if abs(output[i, 1]) < LARGEST_LOG else 0.0
        gradient[i, 2] = by_kappa * share if abs(output[i, 2]) < LARGEST_LOG else 0.0
        total += loss * share
    return total
