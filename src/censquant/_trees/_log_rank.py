"""Log-rank scores: what a tree has to tell apart, one number per censored or observed time."""

import numpy as np
from numpy.typing import NDArray

from censquant._typing import Floats
from censquant.survival import kaplan_meier


def log_rank_scores(time: Floats, event: NDArray[np.bool_], weight: Floats) -> Floats:
    """Return observed minus expected events of each row, 1 or 0 less the Nelson-Aalen hazard.

    The difference of their means between two groups is the log-rank statistic up to its scale, so
    a regression tree on the scores splits as a survival tree would, at the cost of a mean.
    """
    curve = kaplan_meier(time, event, weight)
    hazard = np.cumsum(curve.n_events / curve.n_at_risk)
    scores: Floats = event - hazard[np.searchsorted(curve.time, time)]
    return scores
