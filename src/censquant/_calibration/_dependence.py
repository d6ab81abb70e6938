"""Whether censoring depends on the features, by what a model predicts of it."""

import numpy as np

from censquant._typing import Floats
from censquant.survival import Target


def censoring_dependence(target: Target, predicted: Floats, weight: Floats | None = None) -> float:
    r"""P-value of the test that censoring times do not follow their predictions.

    The score test of a proportional-hazards model of the censoring time with one feature, the rank
    of the predicted time. It needs predictions of models that have not seen the rows; a small value
    says that later predicted censoring comes later.
    """
    from scipy.special import ndtr

    shares = np.ones(len(target)) if weight is None else weight
    _, rank = np.unique(predicted, return_inverse=True)
    feature = -rank.astype(np.float64)
    # Events leave before the censorings of their time; sums over risk sets from the last time on.
    order = np.lexsort((~target.event, target.time))[::-1]
    feature, weights = feature[order], shares[order]
    time, censored = target.time[order], ~target.event[order]
    sums = [np.cumsum(weights * feature**power) for power in (0, 1, 2)]
    # Tied censorings share the risk set of the last of them in this order.
    changes = np.append((time[1:] != time[:-1]) | (censored[1:] != censored[:-1]), True)
    last = np.flatnonzero(changes)
    end = last[np.searchsorted(last, np.arange(len(time)))]
    total, first, second = (each[end] for each in sums)
    mean = first / np.maximum(total, 1e-300)
    variance = np.maximum(second / np.maximum(total, 1e-300) - mean**2, 0.0)
    score = float((weights * censored) @ (feature - mean))
    spread = float((weights**2 * censored) @ variance)
    return float(ndtr(-score / np.sqrt(spread))) if spread > 0 else 1.0
