"""Censoring put over times that were all observed, so that the truth stays known."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import RandomState, check_flag, check_number, generator
from censquant.survival import Surv, read_target
from censquant.survival._columns import read_numbers
from censquant.survival._target import read_columns

Censored = NDArray[np.void] | tuple[NDArray[np.void], Floats]


@overload
def censor_uniform(
    time: ArrayLike,
    low: float | None = ...,
    high: float | None = ...,
    *,
    random_state: RandomState = ...,
    return_censoring: Literal[False] = ...,
) -> NDArray[np.void]: ...


@overload
def censor_uniform(
    time: ArrayLike,
    low: float | None = ...,
    high: float | None = ...,
    *,
    random_state: RandomState = ...,
    return_censoring: Literal[True],
) -> tuple[NDArray[np.void], Floats]: ...


def censor_uniform(
    time: ArrayLike,
    low: float | None = None,
    high: float | None = None,
    *,
    random_state: RandomState = None,
    return_censoring: bool = False,
) -> Censored:
    """Observed times under censoring that is uniform between two times.

    By default the scheme behind the published numbers of the CQRNN paper on real targets: from the
    smallest time to the 90th percentile. No event after `high` is ever observed, so quantiles above
    it cannot be learned. Censoring does not depend on anything, so it is independent as methods
    need it.

    Parameters
    ----------
    time : array-like of shape (n,), or structured array of shape (n,)
        Times that were all observed, or such a ``y`` of a ``fetch_*`` function.
    low : float, optional
        Start; the smallest time by default.
    high : float, at least `low`, optional
        End; the 90th percentile of the times by default.
    random_state : int, numpy Generator, numpy RandomState or None
        Source of randomness; None differs each time. The global generator is never used.
    return_censoring : bool
        Whether to return the censoring times too.

    Returns
    -------
    y : structured array of shape (n,)
        ``event``, True where the time is not above the censoring time, and ``time``, the smaller
        of the two.
    censoring : ndarray of shape (n,)
        Censoring times, also where the event came first; only if `return_censoring` is True.

    Examples
    --------
    >>> from censquant.datasets import censor_uniform
    >>> censor_uniform([1.0, 9.0], low=5.0, high=6.0, random_state=0)["event"]
    array([ True, False])
    """
    times = read_observed(time)
    start = float(times.min()) if low is None else check_number("low", low)
    end = float(np.quantile(times, 0.9)) if high is None else check_number("high", high)
    if end < start:
        raise ValueError(f"high must not be below low, got {end:g} below {start:g}.")
    censoring = generator(random_state).uniform(start, end, size=len(times))
    return censored_target(times, censoring, return_censoring)


def read_observed(time: ArrayLike) -> Floats:
    """Read the times of a target in which nothing is censored."""
    if not isinstance(time, np.ndarray) or time.dtype.names is None:
        numbers = read_numbers(time, name="time")
        return read_columns(numbers, np.ones(len(numbers), dtype=bool)).time
    target = read_target(time)
    n_censored = int(np.sum(~target.event))
    if n_censored:
        raise ValueError(
            f"time must be fully observed, got {n_censored} of {len(target)} rows censored; "
            "censoring can be put only over times that are known."
        )
    return target.time


def censored_target(times: Floats, censoring: Floats, return_censoring: bool) -> Censored:
    """Return what is observed of times under their censoring times."""
    y = Surv.from_arrays(event=times <= censoring, time=np.minimum(times, censoring))
    return (y, censoring) if check_flag("return_censoring", return_censoring) else y
