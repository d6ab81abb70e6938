"""Brier scores of predicted survival probabilities."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.metrics._reading import known_censoring, read_survival, warn_truncated
from censquant.survival import Target

# Rows scored at a time, which bounds the memory beyond the predictions themselves.
_BLOCK_ROWS = 8_192
# Default times of the integrated score, between these quantiles of the times that are scored.
_N_TIMES, _SPAN = 50, (0.05, 0.95)


def brier_score(
    y: object,
    survival: ArrayLike,
    times: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    r"""Squared error of the predicted survival probability at each time; lower is better.

    At a time t every row either had its event or not, and a good prediction gave that outcome a
    high probability. Rows censored before t are unknown; those that are left stand for them with
    the inverse of :math:`G`, the chance of not being censored yet:

    .. math:: BS(t) = \frac1n \sum_i \left[ \hat S(t|x_i)^2
              \frac{\delta_i 1\{y_i \le t\}}{G(y_i)}
              + \{1 - \hat S(t|x_i)\}^2 \frac{1\{y_i > t\}}{G(t)} \right]

    0 is a perfect foresight, 0.25 what a constant probability of one half gives. The score mixes
    calibration with sharpness, so it cannot tell which of the two is at fault, and its level
    depends on how common the event is: set it against the score of the Kaplan-Meier curve. It
    rests on censoring that does not depend on the features, and can exceed 1 in small samples.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    survival : array-like of shape (n, n_times), in [0, 1]
        Predicted probabilities that the event comes later than each time, P(T > t).
    times : array-like of shape (n_times,)
        Strictly increasing times.
    y_train : target in any form, optional
        Rows that the censoring curve is estimated from; ``y`` by default.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf). They weight the censoring curve too where it is estimated from ``y``.

    Returns
    -------
    score : ndarray of shape (n_times,)
        NaN at times past the training follow-up, where the censoring curve is zero or unknown:
        a `censquant.exceptions.TruncationWarning` says so.

    References
    ----------
    .. [1] E. Graf, C. Schmoor, W. Sauerbrei, M. Schumacher (1999). Assessment and comparison of
       prognostic classification schemes for survival data. *Statistics in Medicine* 18.

    Examples
    --------
    >>> from censquant.metrics import brier_score
    >>> time, event = [1.0, 2.0, 3.0], [True, False, True]
    >>> brier_score((time, event), [[0.5, 0.0], [0.5, 0.5], [1.0, 0.7]], times=[1.5, 2.5])
    array([0.16666667, 0.06      ])
    """
    score, known = _scores(y, survival, times, y_train, sample_weight)
    if not known.all():
        warn_truncated(_left_out(known, "are left without a Brier score"))
    return score


def integrated_brier_score(
    y: object,
    survival: ArrayLike,
    times: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Mean of the Brier score over a span of time, one number for a whole curve; lower is better.

    The trapezoidal integral of `brier_score` over the given times, divided by their span:

    .. math:: IBS = \frac{1}{t_K - t_1} \int_{t_1}^{t_K} BS(t) \, dt

    0 is a perfect foresight, 0.25 what a constant probability of one half gives. It depends on
    the times that are chosen: late ones, where few rows are left, are noisy and count as much as
    early ones, so two models are comparable only on the same times and rows. The cautions of
    `brier_score` hold as well.

    Parameters
    ----------
    y, survival, times, y_train, sample_weight
        As in `brier_score`, with two times at least. Times past the training follow-up are left
        out, with a `censquant.exceptions.TruncationWarning`.

    Returns
    -------
    score : float in [0, inf)

    Examples
    --------
    >>> from censquant.metrics import integrated_brier_score
    >>> time, event = [1.0, 2.0, 3.0], [True, False, True]
    >>> survival = [[0.5, 0.0], [0.5, 0.5], [1.0, 0.7]]
    >>> round(integrated_brier_score((time, event), survival, times=[1.5, 2.5]), 6)
    0.113333
    """
    score, known = _scores(y, survival, times, y_train, sample_weight)
    kept = np.asarray(times, dtype=np.float64)[known]
    if kept.size < 2:
        raise ValueError(
            "times must hold two times or more at which the censoring curve of y_train is known "
            f"and positive, got {kept.size} of {known.size}."
        )
    if not known.all():
        warn_truncated(_left_out(known, "are left out of the integrated Brier score"))
    return float(np.trapezoid(score[known], kept) / (kept[-1] - kept[0]))


def _scores(
    y: object,
    survival: ArrayLike,
    times: ArrayLike,
    y_train: object,
    sample_weight: ArrayLike | None,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the Brier score at each time, NaN where it is unknown, and where it is known."""
    target, chance, grid, weight = read_survival(y, survival, times, sample_weight)
    censoring = known_censoring(y_train, target, weight)
    at_grid, at_own = censoring(grid), censoring(target.time)
    known = at_grid > 0
    # An event by a known time has a known chance itself; the others are never used.
    inverse = np.divide(1.0, at_own, out=np.zeros_like(at_own), where=at_own > 0)
    later = np.divide(1.0, at_grid, out=np.zeros_like(at_grid), where=known)
    total = np.zeros(grid.size)
    for start in range(0, len(target), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        alive, share = target.time[rows, None] > grid, chance[rows]
        dead = ~alive & target.event[rows, None]
        total += (weight[rows] * inverse[rows]) @ (share**2 * dead)
        total += later * (weight[rows] @ ((1.0 - share) ** 2 * alive))
    return np.where(known, total / weight.sum(), np.nan), known


def _left_out(known: NDArray[np.bool_], fate: str) -> str:
    """Return the warning about times past the training follow-up."""
    return (
        f"{int((~known).sum())} of {known.size} times {fate}: the censoring curve of y_train is "
        "zero or unknown there."
    )


def default_brier_times(target: Target, train: Target, weight: Floats | None = None) -> Floats:
    """Return times over the bulk of those scored, where the censoring curve is positive."""
    low, high = np.quantile(target.time, _SPAN)
    times = np.unique(np.linspace(low, high, _N_TIMES))
    own = np.ones(len(train)) if weight is None else weight
    return times[known_censoring(None, train, own)(times) > 0]
