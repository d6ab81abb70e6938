"""Scores of predicted curves that public comparisons share, each by their conventions."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from censquant import metrics
from censquant._typing import Floats
from censquant.estimators import adapt
from censquant.metrics._calibration import ROUNDING, spread_shares
from censquant.survival import kaplan_meier, read_target
from censquant_bench._datasets import TrainTestData

_SHARE_GONE = 0.8
_SMALLEST_CHANCE = 1e-3
_N_BINS = 10
_N_CELLS = 40
_FLOOR = 1e-4


def scores_of_curves(
    model: Any, X_test: Any, data: TrainTestData, horizon: float | None = None
) -> dict[str, float]:
    """Return the scores that the comparisons share.

    ``cindex_restricted_mean`` is Harrell's C of the area under each predicted survival curve up to
    a horizon, ``isbs`` the `integrated_survival_brier` score at `evaluation_times`, ``dcalib`` the
    `d_calibration_statistic`, ``log_score`` the `log_score_in_cells`.

    Parameters
    ----------
    model : estimator
        Fitted, with ``predict_curve`` or anything that `censquant.adapt` takes.
    X_test : ndarray or DataFrame of shape (m, n_features)
        Features to score on, in the form that the model was fitted to.
    data : TrainTestData
        What it was fitted to and is scored on.
    horizon : float, optional
        By default the last evaluation time.

    Returns
    -------
    scores : dict of str to float
    """
    curves = (model if hasattr(model, "predict_curve") else adapt(model)).predict_curve(X_test)
    test = data.y_test
    times = evaluation_times(test["time"])
    mean = curves.restricted_mean(float(times[-1]) if horizon is None else horizon)
    return {
        "cindex_restricted_mean": metrics.concordance_index(test, mean),
        "isbs": integrated_survival_brier(test, curves.survival(times), times, y_train=data.y),
        "dcalib": d_calibration_statistic(test, curves.cdf(test["time"])),
        "log_score": log_score_in_cells(test, curves, y_train=data.y),
    }


def d_calibration_statistic(y: object, level: ArrayLike) -> float:
    r"""Haider's chi-squared statistic of D-calibration in ten bins; lower is better.

    `censquant.metrics.d_calibration` is the same from predicted quantiles. Here levels are those
    of the curve itself, so that a step function keeps its steps.

    Parameters
    ----------
    y : target in any form
        Test rows.
    level : array-like of shape (n,)
        Predicted probability of each row that its event comes by its own time.

    Returns
    -------
    statistic : float

    Examples
    --------
    >>> from censquant_bench._curve_scores import d_calibration_statistic
    >>> level = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(d_calibration_statistic(range(1, 11), level), 6)
    0.0
    """
    target, share = read_target(y), np.asarray(level, np.float64)
    edges = np.arange(_N_BINS + 1) / _N_BINS
    bins = np.searchsorted(edges[1:-1], share - ROUNDING)
    counts = spread_shares(share, bins, target.event, edges, np.ones(len(target)))
    return float(len(target) * _N_BINS * ((counts - 1 / _N_BINS) ** 2).sum())


def log_score_in_cells(y: object, curves: Any, *, y_train: object) -> float:
    r"""Right-censored log score of predicted distributions in cells; lower is better.

    Minus the mean logarithm of what each test row was given: the chance of its cell if it had the
    event, the chance to outlive its own time if it was censored. It needs no model of the
    censoring, so it also holds where censoring depends on the features. Cells lie between the
    quantiles of the training rows' event times at levels 1/40, ..., 39/40, open on the left; the
    first begins and the last ends at infinity. Chances below 0.0001 count as that.

    Parameters
    ----------
    y : target in any form
        Test rows.
    curves : QuantileCurve or the like
        Predicted distributions of the test rows, with ``survival`` and ``cdf``.
    y_train : target in any form
        Rows of the fit.

    Returns
    -------
    score : float

    Examples
    --------
    Each of three events has a cell with a third of the probability.

    >>> import numpy as np
    >>> from censquant_bench import KaplanMeierBaseline
    >>> from censquant_bench._curve_scores import log_score_in_cells
    >>> y = [1.0, 2.0, 3.0], [True, True, True]
    >>> curves = KaplanMeierBaseline().fit(np.zeros((3, 1)), y).predict_curve(np.zeros((3, 1)))
    >>> round(float(np.exp(-log_score_in_cells(y, curves, y_train=y))), 6)
    0.333333
    """
    test, train = read_target(y), read_target(y_train)
    levels = np.arange(1, _N_CELLS) / _N_CELLS
    events = train.time[train.event]
    ends = np.unique(np.quantile(events, levels)) if len(events) else np.zeros(0)
    rows = np.arange(len(test))
    survival = np.ones((len(test), ends.size + 2))
    survival[:, 1:-1], survival[:, -1] = curves.survival(ends), 0.0
    cell = np.searchsorted(ends, test.time)
    given = survival[rows, cell] - survival[rows, cell + 1]
    given = np.where(test.event, given, 1.0 - curves.cdf(test.time))
    return float(-np.log(np.maximum(given, _FLOOR)).mean())


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
    >>> from censquant_bench._curve_scores import evaluation_times
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
    >>> from censquant_bench._curve_scores import integrated_survival_brier
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
