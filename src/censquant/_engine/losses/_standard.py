"""Minus the log-likelihood of one row under standard distributions: location 0 and scale 1."""

import math

from censquant._compile import exact

NORMAL = 0
"""Family of the normal distribution."""

GUMBEL = 1
"""Family of the minimum Gumbel distribution, the logarithm of a Weibull time."""

MIRRORED_GUMBEL = 2
"""Family of the maximum Gumbel distribution, minus the logarithm of a Weibull time."""

LARGEST_EXPONENT = 30.0
"""Above it the exponential of a Gumbel distribution is continued as a line."""


@exact
def _normal_hazard(u):
    """Return ``phi(u) / (1 - Phi(u))`` and ``-log(1 - Phi(u))``, accurate far out in both tails."""
    if u < 6.0:
        density = math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)
        if u < 0.0:  # the survival function rounds to 1 there: its complement does not
            below = 0.5 * math.erfc(-u / math.sqrt(2.0))
            return density / (1.0 - below), -math.log1p(-below)
        survival = 0.5 * math.erfc(u / math.sqrt(2.0))
        return density / survival, -math.log(survival)
    # Laplace's continued fraction for the tail, from the inside out.
    fraction = u
    for k in range(30, 0, -1):
        fraction = u + k / fraction
    return fraction, 0.5 * u * u + 0.5 * math.log(2.0 * math.pi) + math.log(fraction)


@exact
def _exponential(u, largest=LARGEST_EXPONENT):
    """Return ``exp(u)`` and its derivative, continued as a line above ``largest``."""
    if u <= largest:
        value = math.exp(u)
        return value, value
    slope = math.exp(largest)
    return slope * (1.0 + u - largest), slope


@exact
def _mirrored_gumbel_survival(u):
    """Return ``-log(1 - exp(-exp(-u)))`` and its derivative, accurate far out in both tails."""
    if u > LARGEST_EXPONENT:
        return u, 1.0
    e, _ = _exponential(-u)
    survival = -math.expm1(-e)
    loss = -math.log1p(-math.exp(-e)) if e > 0.5 else -math.log(survival)
    return loss, e * math.exp(-e) / survival


@exact
def standard_loss(u, event, family, largest):
    """Return minus the log-density at ``u``, or if censored minus the log-survival; its derivative.

    The exponential of Gumbel distributions is a line above ``largest``, so that neither loss nor
    derivative explodes.

    Parameters
    ----------
    u : float
    event : bool
    family : int
        ``NORMAL``, ``GUMBEL`` or ``MIRRORED_GUMBEL``.
    largest : float
        Not used by ``NORMAL``.
    """
    if family == NORMAL:
        if event:
            return 0.5 * u * u + 0.5 * math.log(2.0 * math.pi), u
        hazard, loss = _normal_hazard(u)
        return loss, hazard
    if family == MIRRORED_GUMBEL:
        if event:
            value, derivative = _exponential(-u, largest)
            return value + u, 1.0 - derivative
        return _mirrored_gumbel_survival(u)
    value, derivative = _exponential(u, largest)
    if event:
        return value - u, derivative - 1.0
    return value, derivative
