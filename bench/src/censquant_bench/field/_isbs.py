"""The study's integrated survival Brier score, at its times and with its weights."""

import numpy as np
from numpy.typing import ArrayLike

from censquant._typing import Floats
from censquant.survival import kaplan_meier, read_target

_SHARE_GONE = 0.8
_SMALLEST_CHANCE = 1e-3


def evaluation_times(time: ArrayLike) -> Floats:
    """Return the distinct times up to the first by which more than 80 % are no longer at risk.

    Parameters
    ----------
    time : array-like of shape (n,)
        Times of the test rows, events and censored ones alike.

    Returns
    -------
    times : ndarray of shape (k,)
        Increasing; the time at which the share is passed is the last of them.

    Examples
    --------
    >>> from censquant_bench.field import evaluation_times
    >>> evaluation_times([1, 2, 3, 4, 5, 6])
    array([1., 2., 3., 4., 5., 6.])
    >>> evaluation_times([1, 1, 1, 1, 1, 2, 3])
    array([1., 2., 3.])
    """
    times, counts = np.unique(np.asarray(time, dtype=np.float64), return_counts=True)
    gone = (np.cumsum(counts) - counts) / counts.sum()
    passed = np.flatnonzero(gone > _SHARE_GONE)
    return times[: passed[0] + 1] if passed.size else times


def integrated_survival_brier(
    y: object, survival: ArrayLike, times: ArrayLike, *, y_train: object
) -> float:
    r"""Integrated survival Brier score as the study computed it; lower is better.

    `censquant.metrics.integrated_brier_score` is the same idea with other conventions. Here a row
    counts :math:`\{1 - \hat S(t)\}^2` while it is at risk and :math:`\hat S(t)^2` after its event,
    divided by :math:`G(\min(y, t))`, and nothing after it was censored. :math:`G` is the
    Kaplan-Meier curve of the censoring times among the training rows, continuous from the right,
    and 0.001 where it is zero. The mean over the rows is integrated by trapezoids and divided by
    the span of the times.

    Parameters
    ----------
    y : target in any form
        Test rows.
    survival : array-like of shape (n, k)
        Predicted probabilities that the event comes later than each time.
    times : array-like of shape (k,)
        From `evaluation_times`; two at least.
    y_train : target in any form
        Rows of the fit.

    Returns
    -------
    score : float

    Examples
    --------
    >>> from censquant_bench.field import integrated_survival_brier
    >>> y = [1.0, 2.0, 3.0], [True, True, True]
    >>> survival = [[0.5, 0.0], [1.0, 0.5], [1.0, 1.0]]
    >>> round(integrated_survival_brier(y, survival, [1.0, 2.0], y_train=y), 6)
    0.083333
    """
    test, train = read_target(y), read_target(y_train)
    share, grid = np.asarray(survival, np.float64), np.asarray(times, np.float64)
    if grid.size < 2:
        raise ValueError(f"times must hold two times or more, got {grid.size}.")
    if share.shape != (len(test), grid.size):
        raise ValueError(
            f"survival must have one row per test row and one column per time, shape "
            f"{(len(test), grid.size)}, got {share.shape}."
        )
    censoring = kaplan_meier(train.time, ~train.event)
    chance = censoring(np.minimum(test.time[:, None], grid))
    chance[chance == 0] = _SMALLEST_CHANCE
    at_risk = test.time[:, None] > grid
    had_event = ~at_risk & test.event[:, None]
    loss = ((1.0 - share) ** 2 * at_risk + share**2 * had_event) / chance
    return float(np.trapezoid(loss.mean(axis=0), grid) / (grid[-1] - grid[0]))
