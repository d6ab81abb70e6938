"""Further kinds of censoring put over times that were all observed."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import RandomState, check_number, generator
from censquant.datasets._censoring import Censored, censored_target, read_observed
from censquant.survival._columns import read_numbers

# Logarithm of a hazard at which nobody is left.
_CERTAIN = 10.0
# Of an interval of logarithms, enough for all digits.
_HALVINGS = 64


@overload
def censor_exponential(
    time: ArrayLike,
    share: float = ...,
    *,
    random_state: RandomState = ...,
    return_censoring: Literal[False] = ...,
) -> NDArray[np.void]: ...


@overload
def censor_exponential(
    time: ArrayLike,
    share: float = ...,
    *,
    random_state: RandomState = ...,
    return_censoring: Literal[True],
) -> tuple[NDArray[np.void], Floats]: ...


def censor_exponential(
    time: ArrayLike,
    share: float = 0.5,
    *,
    random_state: RandomState = None,
    return_censoring: bool = False,
) -> Censored:
    """Observed times under exponential censoring that hides a wanted share of them.

    Follow-up ends at a constant rate, as when patients drop out for reasons of their own. Some
    rows are followed past any time, so every quantile can be learned from enough of them.

    Parameters
    ----------
    time
        As in `censquant.datasets.censor_uniform`, and not negative.
    share : float, inside (0, 1)
        Expected share of censored rows; the share that comes out differs by chance. It must be
        below the share of times above 0, since a time of 0 is never censored.
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
    >>> import numpy as np
    >>> from censquant_bench.datasets import censor_exponential
    >>> y = censor_exponential(np.arange(1000.0), share=0.3, random_state=0)
    >>> bool(0.25 < 1 - y["event"].mean() < 0.35)
    True
    """
    times = read_observed(time)
    censoring = _exponential(times, np.zeros(len(times)), share, random_state)
    return censored_target(times, censoring, return_censoring)


@overload
def censor_by_feature(
    time: ArrayLike,
    feature: ArrayLike,
    share: float = ...,
    strength: float = ...,
    *,
    random_state: RandomState = ...,
    return_censoring: Literal[False] = ...,
) -> NDArray[np.void]: ...


@overload
def censor_by_feature(
    time: ArrayLike,
    feature: ArrayLike,
    share: float = ...,
    strength: float = ...,
    *,
    random_state: RandomState = ...,
    return_censoring: Literal[True],
) -> tuple[NDArray[np.void], Floats]: ...


def censor_by_feature(
    time: ArrayLike,
    feature: ArrayLike,
    share: float = 0.5,
    strength: float = 1.0,
    *,
    random_state: RandomState = None,
    return_censoring: bool = False,
) -> Censored:
    """Observed times under exponential censoring whose rate depends on a feature.

    Rows with a larger feature are censored sooner, or later with a negative `strength`. Censoring
    is independent of the time given the feature, and in general not without it: methods that
    regress on the feature stay right, and weights from one Kaplan-Meier curve of the censoring
    times, as in `DeepQuantReg`, become wrong.

    Parameters
    ----------
    time
        As in `censquant.datasets.censor_uniform`, and not negative.
    feature : array-like of shape (n,)
        Finite numbers that are not all the same.
    share : float, inside (0, 1)
        As in `censor_exponential`.
    strength : float
        Rates of two rows one standard deviation of the feature apart differ by the factor
        exp(strength).
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
    >>> import numpy as np
    >>> from censquant_bench.datasets import censor_by_feature
    >>> x = np.repeat([0.0, 1.0], 500)
    >>> y = censor_by_feature(np.ones(1000), x, random_state=0)
    >>> bool(y["event"][:500].mean() > y["event"][500:].mean())
    True
    """
    times = read_observed(time)
    values = read_numbers(feature, name="feature")
    if len(values) != len(times):
        raise ValueError(
            f"feature must have one value for each time, got {len(values)} values for "
            f"{len(times)} times."
        )
    if not np.isfinite(values).all():
        row = np.flatnonzero(~np.isfinite(values))[0]
        raise ValueError(f"feature must be finite, got {values[row]:g} in row {row}.")
    spread = values.std()
    if spread == 0:
        raise ValueError(f"feature must not be the same in all rows, got {values[0]:g} in each.")
    factor = check_number("strength", strength)
    log_rates = factor * (values - values.mean()) / spread
    return censored_target(
        times, _exponential(times, log_rates, share, random_state), return_censoring
    )


@overload
def censor_administrative(
    time: ArrayLike,
    end: float | None = ...,
    share: float | None = ...,
    *,
    return_censoring: Literal[False] = ...,
) -> NDArray[np.void]: ...


@overload
def censor_administrative(
    time: ArrayLike,
    end: float | None = ...,
    share: float | None = ...,
    *,
    return_censoring: Literal[True],
) -> tuple[NDArray[np.void], Floats]: ...


def censor_administrative(
    time: ArrayLike,
    end: float | None = None,
    share: float | None = None,
    *,
    return_censoring: bool = False,
) -> Censored:
    """Observed times under an end of the study that is the same for all rows.

    The simplest censoring, and the hardest on upper quantiles: nothing is known past the end.

    Parameters
    ----------
    time
        As in `censquant.datasets.censor_uniform`.
    end : float, optional
        Time of the end; an event at exactly this time is still observed.
    share : float, inside (0, 1), optional
        Share of censored rows, instead of `end`; where times are tied the largest that is not
        above it.
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
    >>> from censquant_bench.datasets import censor_administrative
    >>> censor_administrative([1.0, 2.0, 3.0, 4.0], share=0.25)["time"]
    array([1., 2., 3., 3.])
    """
    times = read_observed(time)
    if (end is None) == (share is None):
        raise ValueError(
            f"Exactly one of end and share must be given, got end={end!r} and share={share!r}."
        )
    if share is None:
        last = check_number("end", end)
    else:
        wanted = _check_share(share)
        last = float(np.quantile(times, 1.0 - wanted, method="inverted_cdf"))
    return censored_target(times, np.full(len(times), last), return_censoring)


def _check_share(share: float) -> float:
    return check_number("share", share, minimum=0.0, below=1.0, exclude_minimum=True)


def _exponential(
    times: Floats, log_rates: Floats, share: float, random_state: RandomState
) -> Floats:
    """Exponential times, their rates scaled so that the wanted share is expected to be censored."""
    wanted = _check_share(share)
    if times.min() < 0:
        row = np.flatnonzero(times < 0)[0]
        raise ValueError(
            f"time must not be negative under exponential censoring, got {times[row]:g} in row "
            f"{row}; shift the times or use censor_uniform."
        )
    later = times > 0
    possible = float(np.mean(later))
    if wanted >= possible:
        raise ValueError(
            f"share must be below the share of times above 0, which is {possible:g}, got {share!r}."
        )
    # In logarithms, because rates and times may be of any magnitude.
    log_hazards = log_rates[later] + np.log(times[later])

    def expected_share(log_scale: float) -> float:
        hazards = np.exp(np.minimum(log_scale + log_hazards, _CERTAIN))
        return float(-np.expm1(-hazards).sum() / len(times))

    # The share is at most the largest hazard, and at least what the smallest would give to all.
    low = np.log(wanted) - log_hazards.max()
    high = np.log(-np.log1p(-wanted / possible)) - log_hazards.min()
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if expected_share(middle) < wanted else (low, middle)
    standard = generator(random_state).exponential(size=len(times))
    # A row that is as good as never censored gets infinity.
    with np.errstate(over="ignore"):
        censoring: Floats = standard * np.exp(-(high + log_rates))
    return censoring
