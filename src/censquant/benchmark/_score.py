"""The scores of one fitted method: the paper's, as its numbers were made, and unbiased ones."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from censquant import metrics
from censquant.benchmark._problem import Problem

Floats = NDArray[np.float64]

JUDGED_LEVELS = (0.1, 0.5, 0.9)
"""Levels of the paper's errors."""


def scores(
    problem: Problem, taus: Floats, predict: Callable[[Any], Floats], raw: Callable[[Any], Floats]
) -> dict[str, float]:
    """Return all scores of a method on a problem.

    Parameters
    ----------
    problem : Problem
        The rows to judge by.
    taus : ndarray of shape (k,)
        Levels of the predictions.
    predict : callable
        Takes features and returns increasing quantiles of shape (n, k).
    raw : callable
        The same before they were put in order: the published scores were taken of those.
    """
    found: dict[str, float] = {}
    judged = [int(np.abs(taus - level).argmin()) for level in JUDGED_LEVELS]
    median = judged[1]
    if problem.X_known is not None:
        known, time = raw(problem.X_known), problem.time_known
        if problem.true_quantiles is not None:
            true = problem.true_quantiles(taus[judged])
            found["tqmse"] = metrics.true_quantile_mse(known[:, judged], true)
            ordered = predict(problem.X_known)
            found["tqmse_all"] = metrics.true_quantile_mse(ordered, problem.true_quantiles(taus))
        found["uql"] = metrics.uncensored_quantile_loss(time, known[:, judged], taus[judged])
        found["undcal"] = metrics.uncensored_d_calibration(time, known, taus, paper=True)
    test, y, train = raw(problem.X_test), problem.y_test, problem.y
    if has_median(taus):
        found["cindex"] = metrics.concordance_index(y, test[:, median])
    found["censdcal"] = metrics.censored_d_calibration(y, test, taus, paper=True)
    found["crossing"] = float((np.diff(test, axis=1) < 0).any(axis=1).mean())
    return found | _unbiased(y, predict(problem.X_test), taus, train)


def _unbiased(y: Any, test: Floats, taus: Floats, train: Any) -> dict[str, float]:
    median = int(np.abs(taus - 0.5).argmin())
    with warnings.catch_warnings():
        # Test times past the training follow-up are cut there, which each metric says in a warning.
        warnings.simplefilter("ignore")
        calibration = _or_nan(lambda: metrics.a_calibration(y, test, taus).p_value)
        of_median = {
            "cindex_ipcw": _or_nan(
                lambda: metrics.concordance_index_ipcw(y, test[:, median], y_train=train)
            ),
            "mae_margin": _or_nan(
                lambda: metrics.mean_absolute_error_censored(
                    y, test[:, median], method="margin", y_train=train
                )
            ),
        }
        return {
            **(of_median if has_median(taus) else {}),
            "pinball": _or_nan(lambda: metrics.pinball_loss_censored(y, test, taus, y_train=train)),
            "pinball_ipcw": _or_nan(
                lambda: metrics.pinball_loss_ipcw(y, test, taus, y_train=train)
            ),
            "crps": _or_nan(lambda: metrics.crps_censored(y, test, taus, y_train=train)),
            "pit_deviation": _or_nan(lambda: metrics.pit_deviation(y, test, taus)),
            "a_calibration_p": calibration,
            "coverage": _or_nan(lambda: _coverage(y, test, train)),
            "nominal_coverage": float(taus[-1] - taus[0]),
        }


def has_median(taus: Floats) -> bool:
    """Whether 0.5 is among the levels: scores of the median are left out otherwise."""
    return bool(np.isclose(taus, 0.5).any())


def _coverage(y: Any, test: Floats, train: Any) -> float:
    """Return the share of events inside the outermost predicted quantiles."""
    found = metrics.coverage(y, test[:, 0], test[:, -1], y_train=train)
    return float(found.estimate)


def _or_nan(score: Callable[[], float]) -> float:
    """Return the score; a metric that has no value on these rows leaves its cell empty."""
    try:
        return float(score())
    except (ValueError, ZeroDivisionError):
        return math.nan
