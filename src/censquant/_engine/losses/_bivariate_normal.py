"""Owen's T function and the probability of a quadrant that closed forms of the CRPS need."""

import math

import numpy as np

from censquant._compile import exact

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


@exact
def normal_cdf(x):
    """Return the standard normal distribution function, accurate in its lower tail."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@exact
def normal_density(x):
    """Return the standard normal density."""
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


@exact
def _owens_t_inside(h, a):
    """Return Owen's T for a between 0 and 1, where its integrand is smooth."""
    total = 0.0
    for k in range(len(_NODES)):
        x = 0.5 * a * (_NODES[k] + 1.0)
        total += _WEIGHTS[k] * math.exp(-0.5 * h * h * (1.0 + x * x)) / (1.0 + x * x)
    return 0.5 * a * total / (2.0 * math.pi)


@exact
def owens_t(h, a):
    r"""Return Owen's T function, :math:`P(X > h, 0 < Y < aX)` of independent standard normals.

    Parameters
    ----------
    h, a : float
    """
    size, high = abs(a), abs(h)
    if size <= 1.0:
        value = _owens_t_inside(high, size)
    else:
        near, far = normal_cdf(-high), normal_cdf(-high * size)
        # Of the complements, so that no digit is lost where both are small.
        value = 0.5 * (near + far) - near * far - _owens_t_inside(high * size, 1.0 / size)
    return value if a >= 0.0 else -value


@exact
def both_below(b, sigma):
    r"""Return :math:`\int_{-\infty}^b \Phi(v + \sigma) \varphi(v) \, dv`.

    It is the probability that a standard normal is below ``b`` and the difference of another one
    and it below ``sigma``: a quadrant of a bivariate normal distribution with the correlation
    :math:`-1 / \sqrt 2`, which Owen's T function gives.

    Parameters
    ----------
    b : float
    sigma : float above 0
    """
    k = sigma / math.sqrt(2.0)
    value = 0.5 * (normal_cdf(b) + normal_cdf(k)) - owens_t(k, (2.0 * b + sigma) / sigma)
    if b == 0.0:
        return value - 0.25
    value -= owens_t(b, (b + sigma) / b)
    return value if b > 0.0 else value - 0.5
