"""Scores of predicted quantiles by the check loss, with and without censoring."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from censquant._follow_up_share import SMALLEST_FOLLOWED_SHARE
from censquant._typing import Floats
from censquant._validation import check_integer, check_number
from censquant.metrics._known_censoring import censored_at
from censquant.metrics._read import (
    censoring_curve,
    followed_until,
    read_matrix,
    read_quantile_rows,
    read_train,
)
from censquant.quantiles import QuantileCurve
from censquant.survival import Target
from censquant.survival._columns import as_array, read_weights

if TYPE_CHECKING:
    from censquant._engine.losses import MarginalPinball

# Levels scored at a time, which bounds the memory of the sum over a fine grid.
_LEVELS_AT_A_TIME = 8


def true_quantile_mse(
    predicted: ArrayLike, true: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    r"""Mean squared distance of predicted from true quantiles; lower is better.

    The sharpest of all scores, and for simulated data only, since it needs the truth. The paper's
    TQMSE is its value at the three levels 0.1, 0.5 and 0.9:

    .. math:: \frac{1}{n k} \sum_{i, j} (\hat q_{ij} - q_{ij})^2

    It is in squared units of time, so that the rows and levels with the longest times decide;
    and it counts levels that no data could tell as much as the others.

    Parameters
    ----------
    predicted : array-like of shape (n, k)
        Predicted quantiles, taken as they come.
    true : array-like of shape (n, k)
        The true ones, at the same levels.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).

    Returns
    -------
    mse : float in [0, inf)

    Examples
    --------
    >>> from censquant.metrics import true_quantile_mse
    >>> true_quantile_mse([[1.0, 2.0], [1.0, 4.0]], [[1.0, 2.0], [1.0, 2.0]])
    1.0
    """
    shape = as_array(true, "true").shape
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"true must have shape (n, k) with n, k at least 1, got shape {shape}.")
    expected = (shape[0], shape[1])
    if as_array(predicted, "predicted").shape != expected:
        raise ValueError(
            "predicted must have the shape of true, "
            f"{expected}, got shape {as_array(predicted, 'predicted').shape}."
        )
    error = read_matrix(predicted, expected, "predicted", "levels")
    error = error - read_matrix(true, expected, "true", "levels")
    return _mean(error**2, read_weights(sample_weight, len(error)))


def uncensored_quantile_loss(
    y: object, predicted: ArrayLike, taus: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    r"""Check loss of rows without censoring, summed over levels; lower is better.

    The check loss is :math:`\tau` for each unit of time that a quantile is too early and
    :math:`1 - \tau` for each that it is too late, so that the true quantile is the cheapest:

    .. math:: \frac{1}{n} \sum_{i, j} (y_i - \hat q_{ij}) (\tau_j - 1[y_i < \hat q_{ij}])

    At the levels 0.1, 0.5 and 0.9 it is the paper's UQL. Predictions are taken as they come,
    crossed or not. It is in units of time and has no absolute meaning: even the true quantiles
    score above zero. Dropping censored rows to make it computable favours the short times.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times, in any form that `censquant.survival.read_target` takes, with no censoring.
    predicted : array-like of shape (n, k)
        Predicted quantiles, one column for each of ``taus``.
    taus : array-like of shape (k,), inside (0, 1)
        Levels of the columns, increasing.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf).

    Returns
    -------
    loss : float in [0, inf)

    Examples
    --------
    >>> from censquant.metrics import uncensored_quantile_loss
    >>> uncensored_quantile_loss([2.0, 4.0], [[1.0, 4.0], [1.0, 4.0]], taus=[0.5, 0.75])
    1.25
    """
    target, rows, levels, weight = read_quantile_rows(y, predicted, taus, sample_weight, raw=True)
    require_no_censoring(target)
    return levels.size * _mean(_check(target.time[:, None], rows, levels), weight)


def pinball_loss_ipcw(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
    truncation: float | None = None,
) -> float:
    r"""Check loss of the rows with an event, weighted to stand for all rows; lower is better.

    Times and predictions are cut at the truncation time :math:`t^*`, up to which the data can
    judge. A row whose cut time is known had the chance :math:`S_C` of being followed that
    long, so it counts for the inverse of it:

    .. math:: \frac{1}{n k} \sum_{i, j} \frac{1[\delta_i = 1 \text{ or } y_i \ge t^*]}
              {S_C(\min(y_i, t^*)-)}
              \rho_{\tau_j}\{\min(y_i, t^*), \min(\hat q_{ij}, t^*)\}

    Without censoring, and without a truncation time, it is the plain check loss. The curve
    :math:`S_C` is the same for all rows. If censoring depends on the features, then the weights
    are wrong. If the dependence is mild, grossly wrong models still lose; but where one half of
    the rows is censored early and the other hardly ever, a model that is 20 % too early for the
    first half beats the truth. Score such groups apart, or by `right_censored_log_likelihood`.
    Errors past the truncation time cost nothing. A few late events can carry much of the sum.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n, k)
        Predicted quantiles, one column for each of ``taus``; crossed rows are sorted.
    taus : array-like of shape (k,), inside (0, 1)
        Levels of the columns, increasing.
    y_train : as ``y``, optional
        Rows that the censoring curve is estimated from; ``y`` by default.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf) of the rows of ``y``.
    truncation : float, optional
        The time :math:`t^*`; infinity for none. By default the last time of the training rows
        until which a twentieth of the rows or more escape censoring, and infinity where
        no training row is censored.

    Returns
    -------
    loss : float in [0, inf)
        In units of time, a mean over rows and levels.

    Examples
    --------
    >>> from censquant.metrics import pinball_loss_ipcw
    >>> time, event = [1.0, 2.0, 3.0], [True, False, True]
    >>> pinball_loss_ipcw((time, event), [[2.0], [2.0], [2.0]], taus=[0.5])
    0.5
    """
    target, rows, levels, weight = read_quantile_rows(y, predicted, taus, sample_weight)
    curve = censoring_curve(y_train, target, weight)
    if truncation is None:
        end = followed_until(curve, SMALLEST_FOLLOWED_SHARE) if curve.n_events.any() else np.inf
    elif truncation == np.inf:
        end = np.inf
    else:
        end = check_number("truncation", truncation)
    cut = np.minimum(target.time, end)
    known = target.event | (target.time >= end)
    chance = curve(cut, side="left")
    lost = np.flatnonzero(known & (chance == 0))
    if lost.size:
        raise ValueError(
            "truncation must be a time until which some training row escapes censoring, "
            f"got {end:g}, but all are censored before the time of row {lost[0]}."
        )
    inverse = np.divide(1.0, chance, out=np.zeros_like(chance), where=known)
    loss = _check(cut[:, None], np.minimum(rows, end), levels)
    return _mean(inverse[:, None] * loss, weight)


def pinball_loss_censored(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Check loss that censors the forecast as the data were and then scores it; lower is better.

    Every row counts, the censored ones for as long as they were followed. For an event at t and
    for a row censored at c the loss of the quantile q is

    .. math:: \tau (t - q)_+ + (1 - \tau) \int_t^{\max(q, t)} \frac{S_C(s)}{S_C(t-)} ds,
              \qquad \tau (c - q)_+

    with the Kaplan-Meier curve :math:`S_C` of the censoring time. Its mean is smallest at the true
    quantile wherever follow-up reaches it, and needs no truncation time: rows that were followed
    for longer than any training row, where these are censored, count as censored at the last of
    their times. Its weights do not come from the model, unlike those of a training loss such as
    Portnoy's, so that models can be compared.

    The curve is the same for all rows. If censoring depends a little on the features, grossly
    wrong models still lose; but where one half of the rows is censored early and the other hardly
    ever, a model that is 20 % too early for the first half beats the truth, if narrowly. Score
    such groups apart, or by `right_censored_log_likelihood`. A quantile past the end of follow-up
    costs nothing more the later it is. The score is in units of time and has no absolute meaning:
    compare models on the same rows only.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n, k)
        Predicted quantiles, one column for each of ``taus``; crossed rows are sorted.
    taus : array-like of shape (k,), inside (0, 1)
        Levels of the columns, increasing.
    y_train : as ``y``, optional
        Rows that the censoring curve is estimated from; ``y`` by default.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf) of the rows of ``y``.

    Returns
    -------
    loss : float in [0, inf)
        A mean over rows and levels.

    Examples
    --------
    >>> from censquant.metrics import pinball_loss_censored
    >>> time, event = [1.0, 2.0, 3.0], [True, False, True]
    >>> pinball_loss_censored((time, event), [[2.0], [2.0], [2.0]], taus=[0.5])
    0.333...
    """
    target, rows, levels, weight = read_quantile_rows(y, predicted, taus, sample_weight)
    target, loss = _marginal_loss(y_train, target, weight)
    return _mean(loss(rows, target.time, target.event, levels), weight)


def crps_censored(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    y_train: object = None,
    sample_weight: ArrayLike | None = None,
    n_levels: int = 100,
) -> float:
    r"""Continuous ranked probability score under censoring; lower is better.

    The score of the whole predicted distribution: twice the check loss of `pinball_loss_censored`,
    averaged over the even levels :math:`(j - 1/2) / m`. Without censoring it is the CRPS, the area
    between the predicted distribution function and the step at the time that came true.

    Quantiles off the grid are read from `censquant.quantiles.QuantileCurve`, so that models
    with different grids compare. Beyond the outer levels that is an extrapolation: a grid that ends
    at 0.9 leaves a tenth of the score to its exponential tail. All cautions of
    `pinball_loss_censored` hold here as well.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n, k)
        Predicted quantiles, one column for each of ``taus``; crossed rows are sorted.
    taus : array-like of shape (k,), inside (0, 1)
        Levels of the columns, increasing, two at least.
    y_train : as ``y``, optional
        Rows that the censoring curve is estimated from; ``y`` by default.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf) of the rows of ``y``.
    n_levels : int, at least 1, default=100
        Number m of even levels.

    Returns
    -------
    score : float in [0, inf)
        In units of time.

    Examples
    --------
    A prediction that is sure of 2 scores its distance from the time that came true.

    >>> from censquant.metrics import crps_censored
    >>> crps_censored([3.0], [[2.0, 2.0]], taus=[0.25, 0.75])
    1.0
    """
    target, rows, levels, weight = read_quantile_rows(y, predicted, taus, sample_weight, at_least=2)
    count = check_integer("n_levels", n_levels, minimum=1)
    target, loss = _marginal_loss(y_train, target, weight)
    curve = QuantileCurve(rows, levels)
    even = (np.arange(count) + 0.5) / count
    total = 0.0
    for start in range(0, count, _LEVELS_AT_A_TIME):
        part = even[start : start + _LEVELS_AT_A_TIME]
        total += part.size * _mean(loss(curve.at(part), target.time, target.event, part), weight)
    return 2 * total / count


def require_no_censoring(target: Target) -> None:
    """Raise if a row is censored."""
    n_censored = len(target) - target.n_events
    if n_censored:
        raise ValueError(
            f"y must have no censored row, got {n_censored} of {len(target)}: "
            "use the metric's censored version."
        )


def _check(time: Floats, predicted: Floats, taus: Floats) -> Floats:
    """Check loss of every row and level."""
    error = time - predicted
    return error * (taus - (error < 0))


def _marginal_loss(
    y_train: object, target: Target, weight: Floats
) -> "tuple[Target, MarginalPinball]":
    """Rows to score and their loss, with the censoring curve of the training rows, or their own.

    Past the last training row the curve is not known, and an event there could only ever charge
    quantiles that are too early. Such rows are scored as censored where the curve ends.
    """
    # The package of losses loads numba, which most metrics do not need.
    from censquant._engine.losses import MarginalPinball

    train = read_train(y_train, target)
    if not train.event.all():
        target = censored_at(target, float(train.time.max()))
    own = weight if y_train is None else None
    return target, MarginalPinball.fit(train.time, train.event, own)


def _mean(values: Floats, weight: Floats) -> float:
    """Weighted mean over rows of the plain mean over columns."""
    return float(weight @ values.mean(axis=1) / weight.sum())
