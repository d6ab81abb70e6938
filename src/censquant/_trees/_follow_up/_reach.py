"""From the follow-up of individuals to the reach of their curves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from censquant._trees._follow_up._forest import FollowUp
from censquant._typing import Floats
from censquant.quantiles import QuantileCurve
from censquant.quantiles._curve import reach_until
from censquant.survival._transform import TimeTransform

# A curve may jump at the very time at which follow-up ends, which both know up to rounding: the
# jump is reached, whatever the unit of time rounds it to.
TIME_ROUNDING = 1e-12  # relative


def followed(
    follow_up: FollowUp | None,
    x: NDArray[Any],
    transform: TimeTransform,
    observed: tuple[float, float],
    scaled: Callable[[NDArray[Any]], NDArray[Any]] | None = None,
) -> tuple[Floats, Floats]:
    """Return the time up to which individuals were followed, and the level reached by then.

    Both are in the user's terms: for left-censored times the earliest time and the lowest level.
    ``follow_up`` is None where nothing was censored; ``observed`` are the first and the last time
    of the fit, which limit every individual; ``scaled`` leads to features as ``follow_up`` knows
    them.
    """
    left = transform.mirror
    end = observed[0] if left else observed[1]
    if follow_up is None:
        return np.full(len(x), end), np.full(len(x), 0.0 if left else 1.0)
    limit, level = follow_up.limit_and_level(x if scaled is None else scaled(x))
    time = transform.inverse(limit)
    return (np.maximum(time, end), 1.0 - level) if left else (np.minimum(time, end), level)


class Followed(Protocol):
    """A fitted model that knows how long individuals were followed."""

    def _followed(self, features: NDArray[Any]) -> tuple[Floats, Floats]: ...


@dataclass(frozen=True)
class ReachRule:
    """The rule that gives a curve its reach when it is asked for.

    A curve is trusted up to its own level at the end of follow-up, but no further than the share of
    similar individuals that had the event by then: a curve that is too early, as overfitted ones
    are, cannot vouch for itself.
    """

    model: Followed
    features: NDArray[Any]

    def __call__(self, curve: QuantileCurve) -> Floats:
        limit, level = self.model._followed(self.features)
        lowest = curve.reach_is_lowest
        limit = limit + (-TIME_ROUNDING if lowest else TIME_ROUNDING) * np.abs(limit)
        reach = reach_until(curve, limit, lowest=lowest)
        return np.maximum(reach, level) if lowest else np.minimum(reach, level)
