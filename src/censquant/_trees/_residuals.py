"""Quantiles of standardised residuals of which some are censored."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from censquant._typing import Floats
from censquant.survival import kaplan_meier
from censquant.survival._transform import TimeTransform

_FURTHEST = 6.0
_HIGHEST_KNOWN = 0.995  # above it a Kaplan-Meier curve consists of a few rows


def residual_quantiles(
    residual: Floats, event: NDArray[np.bool_], weight: Floats, levels: Floats
) -> Floats:
    """Return quantiles of right-censored residuals, not decreasing in the level.

    They are those of the Kaplan-Meier curve, linear between events, and above its end those of a
    normal distribution that joins it there, with the standard deviation that the censored normal
    likelihood gives to all residuals.
    """
    curve = kaplan_meier(residual, event, weight)
    seen = curve.n_events > 0
    reached, values = 1.0 - curve.survival[seen], curve.time[seen]
    end = min(float(reached[-1]), _HIGHEST_KNOWN)
    quantiles: Floats = np.interp(levels, reached, values)
    above = levels > end
    if above.any():
        near = np.clip(residual, -_FURTHEST, _FURTHEST)
        spread = TimeTransform.fit(near, event, "tobit", sample_weight=weight).scale
        distance = ndtri(levels[above]) - ndtri(end)
        quantiles[above] = np.interp(end, reached, values) + spread * distance
    return quantiles
