"""Standard errors and limits from fits to perturbed data, as in R's ``summary.crq``."""

import math
from statistics import NormalDist

import numpy as np

from censquant._typing import Floats

_Z = NormalDist().inv_cdf(0.975)
# A quartile distance is this many standard deviations of a normal distribution.
_QUARTILE = NormalDist().inv_cdf(0.75)


def n_deleted(n_rows: int) -> int:
    """Return how many rows each replication of the jackknife leaves out."""
    return 2 * math.ceil(math.sqrt(n_rows))


def row_factors(kind: str, n_rows: int, rng: np.random.Generator) -> Floats:
    """Return the factors of the rows' weights in a replication."""
    if kind == "jackknife":
        factor = np.ones(n_rows)
        factor[rng.choice(n_rows, size=n_deleted(n_rows), replace=False)] = 0.0
        return factor
    if kind == "pairs":
        return np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows).astype(np.float64)
    return rng.exponential(size=n_rows)


def scale_of(kind: str, n_rows: int, n_coefficients: int) -> float:
    """Return the ratio of the spread of estimates to that of replications."""
    if kind != "jackknife":
        return 1.0
    deleted = n_deleted(n_rows)
    left = n_rows - deleted - n_coefficients + 1
    if left < 1:
        raise ValueError(
            f"bootstrap='jackknife' leaves out {deleted} rows per replication and must keep at "
            f"least {n_coefficients}, one per coefficient, got {n_rows} rows: use "
            "bootstrap='weights'."
        )
    return math.sqrt(left / deleted)


def spread_of(coefficients: Floats, replications: Floats, scale: float) -> tuple[Floats, Floats]:
    r"""Return standard errors and 95 % limits.

    The limits lie :math:`z_{.975} / z_{.75}` quartile distances from the estimate, on each side by
    the quartile of that side, so that a few extreme replications have no effect. Where fewer than
    half of the replications reached a level, both are NaN.
    """
    limits = np.full((*coefficients.shape, 2), np.nan)
    for level, values in enumerate(replications.swapaxes(0, 1)):
        reached = values[np.isfinite(values).all(axis=1)]
        if 2 * len(reached) < len(values):
            continue
        low, middle, high = np.quantile(reached, (0.25, 0.5, 0.75), axis=0)
        reach = _Z / _QUARTILE * scale
        limits[level, :, 0] = coefficients[level] - reach * (middle - low)
        limits[level, :, 1] = coefficients[level] + reach * (high - middle)
    return (limits[..., 1] - limits[..., 0]) / (2.0 * _Z), limits
