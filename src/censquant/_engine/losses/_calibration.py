"""A differentiable D-calibration of a batch, to be added to a likelihood."""

import math

import numpy as np

from censquant._compile import exact

CALIBRATION_BINS = 20
"""Bins of equal width whose shares are compared with it."""

CALIBRATION_SHARPNESS = 1e4
"""How abruptly the membership of a bin changes at its ends."""

# Above it, what is left beyond a censoring time is too little to be spread over bins.
_LAST_LEVEL = 1.0 - 1e-4


@exact
def calibration_penalty(levels, event, weight, n_bins, sharpness, slopes):
    r"""Return how far the shares of levels in bins are from uniform; derivatives are written.

    .. math:: \sum_b \Big(\frac{\sum_i w_i m_{ib}}{\sum_i w_i} - \frac 1 B\Big)^2

    The membership :math:`m_{ib}` of an event whose level is :math:`u` in the bin from :math:`l` to
    :math:`r` is the logistic function of :math:`\gamma (u - l)(r - u)`, so that it has a
    derivative. A row censored at the level :math:`u` is spread evenly over :math:`(u, 1)`.

    Parameters
    ----------
    levels : array of shape (n,)
        F(t given x).
    event : bool array of shape (n,)
        True where the event was seen.
    weight : array of shape (n,)
        Row weights.
    n_bins : int
    sharpness : float
        :math:`\gamma`.
    slopes : array of shape (n,)
        Receives the derivative by ``levels``.

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


@exact
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
