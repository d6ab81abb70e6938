"""Mean and spread of normal values of which some are only known to be larger."""

import math

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats

_MOST_ROUNDS = 60
_CONVERGED = 1e-9
# Censored values are grouped into so many: sixty rounds of a million would outlast a training.
_MOST_GROUPS = 2_000
# Of the plain standard deviation. Where all events agree and the others were censored before them,
# the likelihood would have no spread at all.
_NARROWEST = 1e-3


def censored_normal(z: Floats, event: NDArray[np.bool_], weights: Floats) -> tuple[float, float]:
    """Return maximum-likelihood mean and standard deviation of right-censored normal values.

    Found by expectation and maximisation (Tobit's model without features). It ends after sixty
    rounds: where nearly all values are censored the maximum may lie far from any of them.
    """
    from scipy.special import log_ndtr  # slow to import, and no other part of a target needs it

    shares = weights / weights.sum()
    known, seen = shares[event], z[event]
    sums = [float(known @ seen**power) for power in range(3)]
    limit, share = _grouped(z[~event], shares[~event])
    mean, deviation = 0.0, 1.0
    for _ in range(_MOST_ROUNDS):
        place = (limit - mean) / deviation
        hazard = np.exp(-0.5 * place**2 - 0.5 * math.log(2.0 * math.pi) - log_ndtr(-place))
        # Moments of normal values beyond their limits.
        expected = mean + deviation * hazard
        variance = deviation**2 * np.maximum(1.0 + place * hazard - hazard**2, 0.0)
        before = mean, deviation
        mean = sums[1] + float(share @ expected)
        square = sums[2] - 2.0 * mean * sums[1] + mean**2 * sums[0]
        square += float(share @ ((expected - mean) ** 2 + variance))
        deviation = max(math.sqrt(max(square, 0.0)), _NARROWEST)
        if max(abs(mean - before[0]), abs(deviation - before[1])) < _CONVERGED:
            break
    return mean, deviation


def _grouped(values: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return at most some thousand values, each the mean of neighbours, and their shares."""
    if len(values) <= _MOST_GROUPS:
        return values, shares
    order = np.argsort(values, kind="stable")
    starts = np.linspace(0, len(values), _MOST_GROUPS, endpoint=False).astype(np.intp)
    together = np.add.reduceat(shares[order], starts)
    return np.add.reduceat((values * shares)[order], starts) / together, together
