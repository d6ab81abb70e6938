"""The pseudo-time y* that receives the probability mass beyond censoring times."""

import re
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from censquant._validation import check_number
from censquant.survival import Target
from censquant.survival._transform import TimeTransform

_FACTOR = re.compile(r"\s*(\d+(?:\.\d+)?)\s*max\s*")
_CAP_SHARE = 0.2  # of the range of times: how far beyond it predictions may be pushed without y*


def y_star_factor(y_star: str) -> float:
    """Factor of the largest time in a ``y_star`` that is written as one."""
    match = _FACTOR.fullmatch(y_star)
    if match is None or float(match[1]) < 1:
        raise ValueError(
            "y_star must be None, a time, or a factor of at least 1 such as '1.2max', "
            f"got {y_star!r}."
        )
    return float(match[1])


def read_y_star(y_star: Any, time: NDArray[np.float64], *, left: bool) -> float | None:
    """Return y* in the unit of ``time``, or None where a one-sided cap replaces it.

    A factor is written ``"1.2max"``. For times that are not negative it is that multiple of the
    largest one; for others its excess over 1 is applied to the size of the times, so that y* lies
    beyond them all. Left-censored times are mirrored first, so y* lies below them all.
    """
    if y_star is None:
        return None
    if not isinstance(y_star, str):
        return _check_beyond(check_number("y_star", y_star), time, left=left)
    factor = y_star_factor(y_star)
    sign = -1.0 if left else 1.0
    largest = float((sign * time).max())
    size = abs(largest) if not left and time.min() >= 0 else max(abs(largest), float(time.std()))
    return sign * (largest + (factor - 1.0) * size)


def _check_beyond(y_star: float, time: NDArray[np.float64], *, left: bool) -> float:
    end = float(time.min() if left else time.max())
    if (y_star > end) if left else (y_star < end):
        side, which = ("below", "smallest") if left else ("above", "largest")
        raise ValueError(f"y_star must lie {side} the {which} time, {end:g}, got {y_star:g}.")
    return y_star


def push_limit(time: NDArray[np.float64], *, left: bool) -> float:
    """Return the time beyond which predictions are not pushed any further when there is no y*."""
    low, high = float(time.min()), float(time.max())
    margin = _CAP_SHARE * (high - low)
    return low - margin if left else high + margin


class FarTimes(TypedDict):
    """The parameters of Portnoy's objective that depend on y*, in model units."""

    y_star: float | None
    cap: float


def far_times(y_star: Any, target: Target, transform: TimeTransform) -> FarTimes:
    """Return y* in model units; without one, the cap on predictions replaces it."""
    left = transform.mirror
    value = read_y_star(y_star, target.time, left=left)
    if value is not None:
        inner = float(transform.forward(value))
        return {"y_star": inner, "cap": inner}
    return {"y_star": None, "cap": float(transform.forward(push_limit(target.time, left=left)))}
