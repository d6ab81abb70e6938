"""Levels of observed times in predicted distributions, with derivatives by their parameters."""

import math

from censquant._compile import exact
from censquant._engine.losses._bivariate_normal import normal_cdf, normal_density
from censquant._engine.losses._likelihood import LARGEST_LOG, SMALLEST_SCALE, _softplus
from censquant._engine.losses._standard import MIRRORED_GUMBEL, NORMAL


@exact
def location_scale_levels(output, time, family, levels, slopes):
    r"""Write F(t given x) of distributions with a location and a scale, and its derivatives.

    Parameters
    ----------
    output : array of shape (n, 2)
        Location, and a number whose softplus is the scale.
    time : array of shape (n,)
    family : int
        ``NORMAL``, ``GUMBEL`` or ``MIRRORED_GUMBEL``.
    levels : array of shape (n,)
        Receives the levels.
    slopes : array of shape (n, 2)
        Receives their derivatives by ``output``.
    """
    for i in range(len(time)):
        softplus, slope = _softplus(float(output[i, 1]))
        scale = softplus + SMALLEST_SCALE
        u = (float(time[i]) - float(output[i, 0])) / scale
        if family == NORMAL:
            level, density = normal_cdf(u), normal_density(u)
        else:
            # Far out, where the density is 0 in all digits, the exponential would overflow.
            e = math.exp(min(-u if family == MIRRORED_GUMBEL else u, 700.0))
            density = e * math.exp(-e)
            level = math.exp(-e) if family == MIRRORED_GUMBEL else -math.expm1(-e)
        levels[i] = level
        slopes[i, 0] = -density / scale
        slopes[i, 1] = -density * u / scale * slope


@exact
def asymmetric_laplace_levels(output, time, levels, slopes):
    r"""Write F(t given x) of asymmetric Laplace distributions, and its derivatives.

    Parameters
    ----------
    output : array of shape (n, 3)
        As in :func:`~censquant._engine.losses.asymmetric_laplace`.
    time : array of shape (n,)
    levels : array of shape (n,)
        Receives the levels.
    slopes : array of shape (n, 3)
        Receives their derivatives by ``output``.
    """
    for i in range(len(time)):
        log_scale = min(max(float(output[i, 1]), -LARGEST_LOG), LARGEST_LOG)
        log_kappa = min(max(float(output[i, 2]), -LARGEST_LOG), LARGEST_LOG)
        rate, kappa = math.sqrt(2.0) * math.exp(-log_scale), math.exp(log_kappa)
        below = 1.0 / (1.0 + math.exp(-2.0 * log_kappa))
        above = 1.0 / (1.0 + math.exp(2.0 * log_kappa))
        distance = float(time[i]) - float(output[i, 0])
        if distance > 0.0:
            depth = rate * kappa * distance
            rest = above * math.exp(-depth)
            level, by_location, by_scale = 1.0 - rest, -rate * kappa * rest, -depth * rest
            by_kappa = rest * (2.0 * below + depth)
        else:
            depth = -rate * distance / kappa
            level = below * math.exp(-depth)
            by_location, by_scale = -rate / kappa * level, depth * level
            by_kappa = level * (2.0 * above + depth)
        levels[i] = level
        slopes[i, 0] = by_location
        slopes[i, 1] = by_scale if abs(output[i, 1]) < LARGEST_LOG else 0.0
        slopes[i, 2] = by_kappa if abs(output[i, 2]) < LARGEST_LOG else 0.0
