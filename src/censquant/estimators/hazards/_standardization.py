"""Features of mean 0 and standard deviation 1, made in place."""

import numpy as np

from censquant._typing import Floats

# A spread below this share of a feature's largest value is rounding: the feature is constant.
_NO_SPREAD = 1e-10


def standardize(x: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Overwrite features with standardised ones; return their centre and scale.

    Features are the largest array of a fit, so that no second one is made. Constant features
    become zeros and have the scale 1.
    """
    peak = np.maximum(x.max(axis=0), -x.min(axis=0))
    # Divided by a power of two, which rounds nothing: no square of values overflows then.
    unit = np.ldexp(1.0, np.frexp(peak)[1] - 1)
    x /= unit
    total = weight.sum()
    center = weight @ x / total
    x -= center
    scale = np.sqrt(np.einsum("i,ij,ij->j", weight, x, x) / total)
    constant = scale <= _NO_SPREAD * (peak / unit)
    x[:, constant] = 0.0
    scale[constant] = 1.0
    x /= scale
    return center * unit, np.where(constant, 1.0, scale * unit)
