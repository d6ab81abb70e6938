"""Censored likelihoods of distributions whose parameters a network predicts.

Kernels share their arguments: ``output`` has shape (n, 2), a location and a number whose softplus
is the scale, or (n, 3) for asymmetric Laplace distributions; ``time``, ``event`` (True where the
event was observed) and ``weight`` have shape (n,). A loss is the mean over rows, which divides by n
and not by the sum of the weights; ``gradient`` receives its derivative by ``output``. They are
exact and not fast: extreme rows must give exact limits, and two or three outputs cost little.
"""

import math

import numpy as np

from censquant._compile import exact, exact_part
from censquant._engine._families import (
    LARGEST_EXPONENT,
    standard_interval_loss,
    standard_level,
    standard_loss,
)

SMALLEST_SCALE = 1e-6
"""Added to every scale, so that no row can be given all of the likelihood."""

LARGEST_LOG = 15.0
"""Bound on the logarithms of an asymmetric Laplace distribution's scale and asymmetry."""

CALIBRATION_BINS = 20
"""Bins of equal width whose shares are compared with it."""

CALIBRATION_SHARPNESS = 1e4
"""How abruptly the membership of a bin changes at its ends."""

# Above it, what is left beyond a censoring time is too little to be spread over bins.
_LAST_LEVEL = 1.0 - 1e-4


@exact_part
def _softplus(raw):
    """Return ``log(1 + exp(raw))`` and its derivative."""
    e = math.exp(-abs(raw))
    value = max(raw, 0.0) + math.log1p(e)
    return value, (1.0 if raw >= 0 else e) / (1.0 + e)


@exact
def location_scale(output, time, event, weight, family, gradient):
    r"""Censored negative log-likelihood of one of the standard families, moved and scaled.

    An event at :math:`t` counts :math:`\log \sigma - \log f_0(u)`, a row censored there
    :math:`-\log S_0(u)`, with :math:`u = (t - \mu) / \sigma`. Nothing is clipped or padded: the
    survival function is computed on the log scale, so that a row far out in the tail still pulls.
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
def location_scale_rows(output, time, event, lower, entry, weight, family, gradient):
    r"""Negative log-likelihood as of `location_scale`, of rows whose events lie in (lower, time].

    An event between two times counts :math:`-\log\{F_0(b) - F_0(a)\}`, and each row is given that
    it has no event until its entry: :math:`+\log S_0`. Both ``lower`` and ``entry`` may be -inf.
    """
    n = len(time)
    total = 0.0
    for i in range(n):
        softplus, slope = _softplus(float(output[i, 1]))
        scale = softplus + SMALLEST_SCALE
        location = float(output[i, 0])
        u = (float(time[i]) - location) / scale
        if event[i] and lower[i] < time[i]:
            low = (float(lower[i]) - location) / scale
            loss, by_low, by_u = standard_interval_loss(low, u, family, LARGEST_EXPONENT)
            by_location = by_u + by_low
            by_scale = by_u * u + (by_low * low if low > -math.inf else 0.0)
        else:
            loss, by_u = standard_loss(u, event[i], family, LARGEST_EXPONENT)
            by_location, by_scale = by_u, by_u * u
            if event[i]:
                loss += math.log(scale)
                by_scale -= 1.0
        if entry[i] > -math.inf:
            u = (float(entry[i]) - location) / scale
            before, hazard = standard_loss(u, False, family, LARGEST_EXPONENT)
            loss -= before
            by_location -= hazard
            by_scale -= hazard * u
        share = weight[i] / n
        gradient[i, 0] = -by_location / scale * share
        gradient[i, 1] = -by_scale / scale * slope * share
        total += loss * share
    return total


@exact
def asymmetric_laplace(output, time, event, weight, gradient):
    r"""Censored negative log-likelihood of asymmetric Laplace distributions.

    .. math:: f(t) = \frac{\sqrt 2}{\sigma} \frac{\kappa}{1 + \kappa^2}
              \exp\Big(-\frac{\sqrt 2}{\sigma} \big(\kappa (t - \theta)_+ +
              (\theta - t)_+ / \kappa\big)\Big)

    The outputs are :math:`\theta, \log \sigma, \log \kappa`.

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


@exact
def location_scale_levels(output, time, family, levels, slopes):
    """Write F(t given x) into ``levels``, and its derivatives by ``output`` into ``slopes``."""
    for i in range(len(time)):
        softplus, slope = _softplus(float(output[i, 1]))
        scale = softplus + SMALLEST_SCALE
        u = (float(time[i]) - float(output[i, 0])) / scale
        level, density = standard_level(u, family)
        levels[i] = level
        slopes[i, 0] = -density / scale
        slopes[i, 1] = -density * u / scale * slope


@exact
def asymmetric_laplace_levels(output, time, levels, slopes):
    """Write F(t given x) into ``levels``, and its derivatives by ``output`` into ``slopes``."""
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


@exact
def calibration_penalty(levels, event, weight, n_bins, sharpness, slopes):
    r"""Return a differentiable D-calibration: how far shares of levels in bins are from uniform.

    .. math:: \sum_b \Big(\frac{\sum_i w_i m_{ib}}{\sum_i w_i} - \frac 1 B\Big)^2

    The membership :math:`m_{ib}` of an event whose level is :math:`u` in the bin from :math:`l` to
    :math:`r` is the logistic function of :math:`\gamma (u - l)(r - u)`, with the sharpness
    :math:`\gamma`, so that it has a derivative by the level: ``slopes`` receives that of the
    penalty. A row censored at the level :math:`u` is spread evenly over :math:`(u, 1)`.

    References
    ----------
    .. [1] M. Goldstein, X. Han, A. Puli, A. J. Perotte, R. Ranganath (2020), X-CAL: explicit
       calibration for survival analysis, NeurIPS.
    """
    n = len(levels)
    share, total, width = np.zeros(n_bins), 0.0, 1.0 / n_bins
    for i in range(n):
        total += weight[i]
        for b in range(n_bins):
            member, _ = _membership(float(levels[i]), event[i], b, n_bins, sharpness)
            share[b] += weight[i] * member
    penalty = 0.0
    for b in range(n_bins):
        share[b] = share[b] / total - width
        penalty += share[b] * share[b]
    for i in range(n):
        slope = 0.0
        for b in range(n_bins):
            _, by_level = _membership(float(levels[i]), event[i], b, n_bins, sharpness)
            slope += 2.0 * share[b] * by_level
        slopes[i] = slope * weight[i] / total
    return penalty


@exact_part
def _membership(level, event, b, n_bins, sharpness):
    """Return how much of a row is in a bin, and the derivative of that by its level."""
    low, high = b / n_bins, (b + 1) / n_bins
    if event or level > _LAST_LEVEL:
        # The outer bins go on, so that levels of 0 and 1 are inside.
        low, high = (-1.0 if b == 0 else low), (2.0 if b == n_bins - 1 else high)
        x = sharpness * (level - low) * (high - level)
        e = math.exp(-abs(x))
        member = (1.0 if x >= 0.0 else e) / (1.0 + e)
        return member, e / ((1.0 + e) * (1.0 + e)) * sharpness * (low + high - 2.0 * level)
    rest = 1.0 - level
    if level >= high:
        return 0.0, 0.0
    if level > low:
        return (high - level) / rest, (high - 1.0) / (rest * rest)
    return (high - low) / rest, (high - low) / (rest * rest)


@exact
def bound_outputs(output, limits, values, slopes):
    r"""Write outputs that are left alone inside an interval and approach limits outside of it.

    ``limits`` has shape (k, 4): lowest <= low <= high <= highest of each output. Between low and
    high a value is the output itself. An output that exceeds high by :math:`d` becomes
    :math:`\mathrm{high} + 1 / (1 / r + 1 / d)` with the room
    :math:`r = \mathrm{highest} - \mathrm{high}`, and likewise below: smooth, increasing, and never
    beyond the limit, whatever the output. ``slopes`` receives the derivatives, which decrease as a
    power of the excess, so that training can bring an output back.
    """
    for i in range(output.shape[0]):
        for j in range(output.shape[1]):
            raw = float(output[i, j])
            lowest, low, high, highest = limits[j, 0], limits[j, 1], limits[j, 2], limits[j, 3]
            if raw > high:
                values[i, j] = high + 1.0 / (1.0 / (highest - high) + 1.0 / (raw - high))
                slopes[i, j] = (1.0 + (raw - high) / (highest - high)) ** -2
            elif raw < low:
                values[i, j] = low - 1.0 / (1.0 / (low - lowest) + 1.0 / (low - raw))
                slopes[i, j] = (1.0 + (low - raw) / (low - lowest)) ** -2
            else:
                values[i, j] = raw
                slopes[i, j] = 1.0


@exact
def limit_rows(gradient, slopes, weight, longest):
    """Multiply a gradient by slopes and shorten the rows of it that are too long, in place.

    An event that a model took for impossible has a likelihood gradient many orders of magnitude
    above the others'. Adam divides by a mean of squares that remembers it for thousands of steps,
    in which the other rows teach nothing. A row longer than ``longest`` times its weight, before
    the mean divides it by n, keeps its direction.
    """
    n, width = gradient.shape
    for i in range(n):
        square = 0.0
        for j in range(width):
            part = float(gradient[i, j]) * float(slopes[i, j])
            gradient[i, j] = part
            square += part * part
        most = longest * weight[i] / n
        if square > most * most:
            shortened = most / math.sqrt(square)
            for j in range(width):
                gradient[i, j] *= shortened
