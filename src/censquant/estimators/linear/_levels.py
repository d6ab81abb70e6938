"""The levels of a path: the requested ones, and intermediate ones that make it accurate."""

import math

import numpy as np

from censquant._typing import Floats

# An intermediate level this close to a requested one, as a share of a step, is the same level.
_SAME = 1e-6
# The step up to so many rows. Beyond them sampling error falls and a level takes longer.
_FINE = 1e-3
_ROWS_OF_FINE = 1_000


def default_step(method: str, n_rows: int) -> float:
    """Return a distance between levels than which a smaller one hardly changes coefficients.

    That is 0.001 for up to 1,000 rows, then in proportion to them, but never more than the step of
    R's ``crq``. Data augmentation keeps that one: it passes through all levels in every round.
    """
    step = step_of_crq(method, n_rows)
    if method == "data-augmentation":
        return step
    return min(step, max(_FINE, _FINE * n_rows / _ROWS_OF_FINE))


def step_of_crq(method: str, n_rows: int) -> float:
    """Return the distance between levels that R's ``crq`` uses for this number of rows."""
    if method != "peng-huang":
        return 1.0 / (5.0 + 3.0 * math.pow(n_rows, 0.4))
    return min(0.01, 0.5 * math.pow(n_rows, -0.7))


def levels_of_path(taus: Floats, step: float, n_rows: int) -> Floats:
    """Return 1/n, 1/n + step, ... up to the last requested level, and the requested levels."""
    between = np.arange(1.0 / n_rows, taus[-1], step)
    nearest = np.abs(between[:, None] - taus).min(axis=1)
    return np.sort(np.concatenate((taus, between[nearest > _SAME * step])))
