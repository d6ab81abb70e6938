"""The scores of one fitted method: the paper's, as its numbers were made, and sounder ones."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from censquant import metrics
from censquant._typing import Floats
from censquant.exceptions import TruncationWarning
from censquant_bench._datasets import TrainTestData
from censquant_bench.metrics import (
    censored_d_calibration,
    true_quantile_mse,
    uncensored_d_calibration,
    uncensored_quantile_loss,
)

_JUDGED_LEVELS = (0.1, 0.5, 0.9)
# A quantile is identified if this share of similar individuals is followed beyond it.
_LEAST_FOLLOWED = 0.02


def judged_levels(taus: Floats) -> list[int]:
    """Return the places of the levels of the paper's errors, or of those nearest to them."""
    return [int(np.abs(taus - level).argmin()) for level in _JUDGED_LEVELS]


@dataclass(frozen=True, eq=False)
class Answer:
    """Predicted quantiles of some rows.

    Parameters
    ----------
    ordered : ndarray of shape (n, k)
        Increasing in each row.
    raw : ndarray of shape (n, k)
        The same before they were sorted: the published scores are of those.
    """

    ordered: Floats
    raw: Floats


def scores(
    data: TrainTestData, taus: Floats, test: Answer, known: Answer | None = None
) -> dict[str, float]:
    """Return all scores of a method.

    Parameters
    ----------
    data : TrainTestData
        The rows to score on.
    taus : ndarray of shape (k,)
        Levels of the predictions.
    test : Answer
        For the test rows.
    known : Answer, optional
        For the rows whose time is known, where the data have any.
    """
    found: dict[str, float] = {}
    judged = judged_levels(taus)
    if known is not None:
        raw, time = known.raw, data.time_known
        if data.true_quantiles is not None:
            true = data.true_quantiles(taus)
            found["tqmse"] = true_quantile_mse(raw[:, judged], true[:, judged])
            found["tqmse_all"] = true_quantile_mse(known.ordered, true)
            found |= _by_identification(data, raw[:, judged], true[:, judged])
        found["uql"] = uncensored_quantile_loss(time, raw[:, judged], taus[judged])
        found["undcal"] = uncensored_d_calibration(time, raw, taus, paper=True)
    if has_median(taus):
        found["cindex"] = metrics.concordance_index(data.y_test, test.raw[:, judged[1]])
    found["censdcal"] = censored_d_calibration(data.y_test, test.raw, taus, paper=True)
    found["crossing"] = float((np.diff(test.raw, axis=1) < 0).any(axis=1).mean())
    return found | _for_censoring(data.y_test, test.ordered, taus, data.y)


def _by_identification(data: TrainTestData, predicted: Floats, true: Floats) -> dict[str, float]:
    """Return the errors where enough individuals are followed up to the true quantile, and others.

    Each is a mean over its own cells, without a value where there is none.
    """
    if data.censoring_quantiles is None:
        return {}
    squares = (predicted - true) ** 2
    identified = true <= data.censoring_quantiles([1.0 - _LEAST_FOLLOWED])
    beyond = ~identified
    return {
        "tqmse_identified": float(squares[identified].mean()) if identified.any() else math.nan,
        "tqmse_beyond": float(squares[beyond].mean()) if beyond.any() else math.nan,
        "beyond_share": float(beyond.mean()),
    }


def _for_censoring(y: Any, test: Floats, taus: Floats, train: Any) -> dict[str, float]:
    """Return scores that allow for censoring, each up to the time at which the data end."""
    median = judged_levels(taus)[1]
    with warnings.catch_warnings():
        # Test times past the training follow-up are cut there; each metric warns of it.
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
            **_coverage(y, test, taus, train),
            "nominal_coverage": float(taus[-1] - taus[0]),
        }


def has_median(taus: Floats) -> bool:
    """Whether 0.5 is among the levels: scores of the median are left out otherwise."""
    return bool(np.isclose(taus, 0.5).any())


def _coverage(y: Any, test: Floats, taus: Floats, train: Any) -> dict[str, float]:
    """Return the share of events inside the outermost predicted quantiles, and its bounds.

    Limits past the last follow-up cannot be judged: the share has no value then, and the bounds say
    what the data leave open.
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = metrics.coverage(
                y,
                test[:, 0],
                test[:, -1],
                y_train=train,
                # Censoring may depend on the features, which weights alone do not allow for.
                method="doubly-robust",
                predicted=test,
                taus=taus,
            )
        except ValueError:  # no value on these rows
            return dict.fromkeys(("coverage", "coverage_low", "coverage_high"), math.nan)
    cut = any(issubclass(one.category, TruncationWarning) for one in said)
    return {
        "coverage": math.nan if cut else float(found.estimate),
        "coverage_low": float(found.bound_low),
        "coverage_high": float(found.bound_high),
    }


def _or_nan(score: Callable[[], float]) -> float:
    """Return the score; a metric that has no value on these rows leaves its cell empty."""
    try:
        return float(score())
    except (ValueError, ZeroDivisionError):
        return math.nan
