"""Calibration of predicted quantiles under censoring."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import check_number
from censquant.metrics._read import read_quantile_rows, read_survival
from censquant.quantiles import QuantileCurve
from censquant.quantiles._grid import check_levels
from censquant.survival import KaplanMeier, Target, kaplan_meier

# The level of a time that equals a predicted quantile is that quantile's up to rounding.
ROUNDING = 1e-12


def pit_curve(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Share of events that happened by each predicted quantile, beside the nominal share.

    The level of every row's time on its own predicted curve, :math:`U_i = \hat F(Y_i | x_i)`,
    is uniform where the predictions are right, and censored where the time is. The
    Kaplan-Meier curve of these levels is therefore the observed counterpart of the nominal ones:
    below the diagonal the events come later than predicted, above it sooner.

    Levels are read linearly between quantiles, and below the first one along the prolonged first
    segment. A time past the last quantile counts as followed up to there, so no assumption about
    the tail enters. Censoring must not depend on the event time given the features: only then
    do the levels of censored rows say as little as this curve assumes. Good calibration
    on average can hide errors of subgroups that cancel.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n, n_quantiles)
        Predicted quantiles, one column for each of ``taus``; crossed rows are sorted.
    taus : array-like of shape (n_quantiles,), inside (0, 1)
        Levels of the columns, increasing, two at least.
    levels : array-like of shape (k,), in (0, max(taus)], optional
        Nominal levels to look at; ``taus`` by default.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.

    Returns
    -------
    levels : ndarray of shape (k,)
        The nominal levels.
    observed : ndarray of shape (k,), in [0, 1]
        Estimated share of events by the quantile of each level; NaN above the last level that
        follow-up reached for any row.

    Examples
    --------
    >>> from censquant.metrics import pit_curve
    >>> time, event = [0.5, 1.5, 2.5, 3.5], [True, True, False, True]
    >>> pit_curve((time, event), [[1.0, 2.0, 3.0]] * 4, taus=[0.25, 0.5, 0.75])
    (array([0.25, 0.5 , 0.75]), array([0.25, 0.5 , 0.5 ]))
    """
    asked, share = _share_of_levels(y, predicted, taus, levels, sample_weight)
    return asked, _where_known(asked, share, 1 - share(asked + ROUNDING))


def pit_band(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
) -> tuple[Floats, Floats]:
    """Pointwise confidence limits of the shares of `pit_curve`.

    By Greenwood's standard error of the Kaplan-Meier curve of the levels. Each limit holds for its
    own level: among nineteen levels of a calibrated model one lies outside on average.

    Parameters
    ----------
    y, predicted, taus, levels, sample_weight
        As in `pit_curve`.
    confidence : float inside (0, 1), default=0.95
        Level of the limits.

    Returns
    -------
    low, high : ndarray of shape (k,), in [0, 1]
        NaN where `pit_curve` is.

    Examples
    --------
    >>> from censquant.metrics import pit_band
    >>> time, event = [0.5, 1.5, 2.5, 3.5], [True, True, False, True]
    >>> low, high = pit_band((time, event), [[1.0, 2.0, 3.0]] * 4, taus=[0.25, 0.5, 0.75])
    >>> low.round(2), high.round(2)
    (array([0.  , 0.01, 0.01]), array([0.67, 0.99, 0.99]))
    """
    from scipy.special import ndtri

    level = check_number("confidence", confidence, minimum=0, below=1, exclude_minimum=True)
    asked, share = _share_of_levels(y, predicted, taus, levels, sample_weight)
    observed = 1 - share(asked + ROUNDING)
    reach = float(ndtri((1 + level) / 2)) * share.standard_error(asked + ROUNDING)
    low, high = np.clip(observed - reach, 0, 1), np.clip(observed + reach, 0, 1)
    return _where_known(asked, share, low), _where_known(asked, share, high)


def _share_of_levels(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    levels: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> tuple[Floats, KaplanMeier]:
    """Levels that are asked for, and the Kaplan-Meier curve of the levels of all times."""
    target, rows, grid, weight = read_quantile_rows(y, predicted, taus, sample_weight, at_least=2)
    asked = grid if levels is None else check_levels(levels)
    if asked.max() > grid[-1]:
        raise ValueError(
            f"levels must not exceed {grid[-1]:g}, the highest of taus, got {asked.max():g}."
        )
    reached, followed = followed_levels(target, QuantileCurve(rows, grid))
    return asked, kaplan_meier(reached, followed, weight)


def _where_known(asked: Floats, share: KaplanMeier, values: Floats) -> Floats:
    """Values, NaN at levels that follow-up did not reach for any row."""
    unknown = (asked > share.time[-1] + ROUNDING) & (share.survival[-1] > 0)
    return np.where(unknown, np.nan, values)


def pit_deviation(
    y: object,
    predicted: ArrayLike,
    taus: ArrayLike,
    *,
    levels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Largest distance between the nominal and the observed share of events; lower is better.

    The worst of all levels of `pit_curve`: 0.1 says that some predicted quantile is off by ten
    percentage points. Levels that follow-up did not reach are left out.

    .. math:: \max_j |\hat P(T \le \hat q_{\tau_j}) - \tau_j|

    Zero is perfect, but n events leave about :math:`0.8 / \sqrt n` to the true model as well, and
    twice that at 80 % censoring. Being a maximum it grows with noise, most at the levels that few
    rows reach. Errors of subgroups that cancel do not show.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    predicted : array-like of shape (n, n_quantiles)
        Predicted quantiles, one column for each of ``taus``; crossed rows are sorted.
    taus : array-like of shape (n_quantiles,), inside (0, 1)
        Levels of the columns, increasing, two at least.
    levels : array-like of shape (k,), in (0, max(taus)], optional
        Nominal levels to look at; ``taus`` by default.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.

    Returns
    -------
    deviation : float in [0, 1]

    See Also
    --------
    pit_curve : The shares themselves.

    Examples
    --------
    >>> from censquant.metrics import pit_deviation
    >>> time, event = [0.5, 1.5, 2.5, 3.5], [True, True, False, True]
    >>> pit_deviation((time, event), [[1.0, 2.0, 3.0]] * 4, taus=[0.25, 0.5, 0.75])
    0.25
    """
    nominal, observed = pit_curve(y, predicted, taus, levels=levels, sample_weight=sample_weight)
    known = ~np.isnan(observed)
    if not known.any():
        raise ValueError(
            "levels must hold one that follow-up reached for some row, got "
            f"{nominal.min():g} as the lowest: every row of y is censored before."
        )
    return float(np.abs(observed - nominal)[known].max())


def km_calibration(
    y: object,
    survival: ArrayLike,
    times: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Squared distance of the mean predicted survival from Kaplan-Meier; lower is better.

    A model that is right about the population as a whole predicts, on average, the survival curve
    that the rows show:

    .. math:: \frac{1}{t_K - t_1} \int_{t_1}^{t_K}
              \Big\{\frac{1}{n} \sum_i \hat S(t | x_i) - \hat S_{KM}(t)\Big\}^2 dt

    by the trapezoidal rule over ``times``. Those past the last time of ``y`` are left out, since
    Kaplan-Meier says nothing there. Its root is a typical distance between the curves.

    It is the weakest check of calibration: a model that predicts the Kaplan-Meier curve for
    everybody scores 0. It also needs censoring that does not depend on the features, or
    Kaplan-Meier itself is off.

    Parameters
    ----------
    y : structured array, tuple, DataFrame, mapping or array-like, each of n rows
        Times and events in any form that `censquant.survival.read_target` takes.
    survival : array-like of shape (n, n_times), in [0, 1]
        Predicted P(T > t), one column for each of ``times``.
    times : array-like of shape (n_times,)
        Finite and increasing, two at least up to the last time of ``y``.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.

    Returns
    -------
    distance : float in [0, 1]

    Examples
    --------
    >>> from censquant.metrics import km_calibration
    >>> y = ([1.0, 2.0, 3.0, 4.0], [True, True, False, True])
    >>> km_calibration(y, [[0.75, 0.5, 0.5]] * 4, times=[1.0, 2.0, 3.0])
    0.0
    """
    target, rows, grid, weight = read_survival(y, survival, times, sample_weight)
    curve = kaplan_meier(target.time, target.event, weight)
    known = grid <= curve.time[-1]
    grid = grid[known]
    if grid.size < 2:
        raise ValueError(
            "times must hold two times or more up to the last time of y, "
            f"{curve.time[-1]:g}, got {grid.size}."
        )
    gap = weight @ rows[:, known] / weight.sum() - curve(grid)
    return float(np.trapezoid(gap**2, grid) / (grid[-1] - grid[0]))


def followed_levels(target: Target, curve: QuantileCurve) -> tuple[Floats, NDArray[np.bool_]]:
    """Level of each time up to the last of the grid, and whether its event came by then.

    A time past the last quantile counts as followed up to there, so that no assumption about the
    tail enters.
    """
    level = np.minimum(curve.cdf(target.time), curve.taus[-1])
    return level, target.event & (target.time <= curve.values[:, -1])
