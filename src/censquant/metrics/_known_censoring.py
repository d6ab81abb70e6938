"""The chance of not being censored yet, where the training rows know it."""

import warnings
from dataclasses import dataclass

import numpy as np

from censquant._typing import Floats
from censquant.exceptions import TruncationWarning
from censquant.metrics._read import read_train
from censquant.survival import KaplanMeier, Target, censoring_kaplan_meier


@dataclass(frozen=True, eq=False)
class KnownCensoring:
    """Kaplan-Meier curve of the censoring time, with the end of what it can tell.

    The chance is taken at a time and not just before it, and events leave before the censorings
    of the same time: both as in scikit-survival.
    """

    curve: KaplanMeier
    last: float

    def __call__(self, times: Floats) -> Floats:
        """Chance of not being censored by each time; 0 where it is not known."""
        return np.where(times <= self.last, self.curve(times), 0.0)


def known_censoring(y_train: object, target: Target, weight: Floats) -> KnownCensoring:
    """Curve of the training rows, or of the rows judged, with their weights, if none are given."""
    train = read_train(y_train, target)
    curve = censoring_kaplan_meier(train.time, train.event, weight if y_train is None else None)
    # Where nobody was censored nothing says that anybody ever would be.
    last = curve.time[-1] if curve.n_events.any() else np.inf
    return KnownCensoring(curve, float(last))


def censored_at(target: Target, end: float) -> Target:
    """Target whose later rows are censored at the end of follow-up, or itself if there are none."""
    later = target.time > end
    if not later.any():
        return target
    return Target(np.where(later, end, target.time), target.event & ~later)


def warn_truncated(message: str, *, stacklevel: int = 3) -> None:
    """Say that times were left out, by default at the line that called the calling function."""
    warnings.warn(message, TruncationWarning, stacklevel=stacklevel)
