"""Kaplan-Meier curves of events and of censoring, weights by the latter, the end of follow-up."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.survival._columns import read_numbers, read_times, read_weights
from censquant.survival._target import Target, read_columns

SMALLEST_FOLLOWED_SHARE = 0.05
"""Share of individuals that must still be followed at a time for the data to speak for it.

A loss is counted and a mean is restricted up to the last time at which at least one in twenty is
under observation; past it a single individual stands for more than twenty.
"""

LAST_FOLLOWED_SHARE = 0.03
"""Share of individuals like a given one that must still be followed for its quantile to count.

Lower than the share above because it is estimated from few similar individuals: it lies about
halfway between none, which must not count as followed, and one in twenty, which must.
"""

SMALLEST_CENSORING_CHANCE = 0.02
"""Smallest probability of being uncensored that an inverse-probability weight divides by.

No observed event stands for more than fifty individuals, at the price of a small bias.
"""

# The running product loses a few units in the last place, so that a level that the curve reaches
# exactly could be missed by rounding. Far above that loss, far below a step of any real sample.
_ROUNDING = 1e-10
# Two computations of one censoring time may differ by this share.
_SAME_TIME = 1e-9
# A share that is met exactly counts, whichever way its sum was rounded.
_SAME_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class KaplanMeier:
    """Step curve of the share of a population that is still without the event.

    Made by `kaplan_meier` or `censoring_kaplan_meier`. Past the last time nobody is at risk: the
    curve is carried on as a constant there, which is a convention and not an estimate.

    Parameters
    ----------
    time : ndarray of shape (k,), float64
        Distinct times of the data, increasing.
    survival : ndarray of shape (k,), float64
        Share that is event-free after each time, in [0, 1], not increasing.
    n_at_risk : ndarray of shape (k,), float64
        Weighted number of rows that could still end at each time.
    n_events : ndarray of shape (k,), float64
        Weighted number of rows that end there by what the curve counts.
    n_censored : ndarray of shape (k,), float64
        Weighted number of rows that leave there otherwise.

    Examples
    --------
    >>> from censquant.survival import kaplan_meier
    >>> curve = kaplan_meier([1, 2, 3, 4], [1, 0, 1, 1])
    >>> curve.survival
    array([0.75 , 0.75 , 0.375, 0.   ])
    >>> curve([0.5, 3.0])
    array([1.   , 0.375])
    >>> curve([0.5, 3.0], side="left")
    array([1.  , 0.75])
    >>> curve.quantile([0.25, 0.5])
    array([1., 3.])
    >>> curve.standard_error([1.0, 4.0]).round(4)
    array([0.2165, 0.    ])
    >>> low, high = curve.limits([1.0])
    >>> low.round(2), high.round(2)
    (array([0.13]), array([0.96]))
    """

    time: Floats
    survival: Floats
    n_at_risk: Floats
    n_events: Floats
    n_censored: Floats

    def __call__(self, t: ArrayLike, side: Literal["right", "left"] = "right") -> Floats:
        """Share that is event-free after, or just before, the given times."""
        if side not in ("right", "left"):
            raise ValueError(f"side must be 'right' or 'left', got {side!r}.")
        at = np.asarray(t, dtype=np.float64)
        steps = np.concatenate(([1.0], self.survival))
        share = steps[np.searchsorted(self.time, at, side=side)]
        return np.where(np.isnan(at), np.nan, share)

    def standard_error(self, t: ArrayLike) -> Floats:
        """Greenwood's standard error of the share that is event-free after the given times.

        Parameters
        ----------
        t : array-like of any shape
            Times; NaN gives NaN.

        Returns
        -------
        standard_error : ndarray of the shape of ``t``
            Zero before the first event, and where nobody is left.
        """
        left = self.n_at_risk - self.n_events
        steps = np.zeros(self.time.size)
        # The last step to zero has no finite term, and a share of zero no error.
        np.divide(self.n_events, self.n_at_risk * left, out=steps, where=left > 0)
        errors = np.concatenate(([0.0], self.survival * np.sqrt(np.cumsum(steps))))
        at = np.asarray(t, dtype=np.float64)
        found = errors[np.searchsorted(self.time, at, side="right")]
        return np.where(np.isnan(at), np.nan, found)

    def limits(self, t: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Pointwise confidence limits after the given times, by the normal law of log(-log S).

        Where no event was observed so far, or where nobody is left, that law has no width, and the
        exact binomial limits (Clopper-Pearson) of the rows at risk take its place: of n rows at
        risk without an event, the share with one may be up to 1 - (alpha / 2)^(1 / n).

        Parameters
        ----------
        t : array-like of any shape
            Times; NaN gives NaN.
        confidence : float in (0, 1), default=0.95

        Returns
        -------
        low, high : ndarray of the shape of ``t``, in [0, 1]
        """
        from scipy.special import ndtri

        share, error = self(t), self.standard_error(t)
        inside = (share > 0) & (share < 1)
        log = np.log(np.where(inside, share, 0.5))
        reach = float(ndtri((1 + confidence) / 2)) * error / np.where(inside, share, 1.0) / log
        ends = [np.where(inside, np.exp(log * np.exp(side * reach)), share) for side in (-1, 1)]
        low, high = np.minimum(*ends), np.maximum(*ends)
        tail = (1.0 - confidence) / 2.0
        at = np.asarray(t, dtype=np.float64)
        # Rows that were at risk when the curve ended; past the last time there are none.
        n_left = np.append(self.n_at_risk, 0.0)[np.searchsorted(self.time, at, side="left")]
        least = np.where(n_left > 0, tail ** (1.0 / np.maximum(n_left, 1.0)), 0.0)
        # At the start nothing can have happened yet.
        low = np.where((share == 1) & (at > min(0.0, float(self.time[0]))), least, low)
        if self.survival[-1] == 0:
            before = self.survival[-2] if self.survival.size > 1 else 1.0
            most = before * (1.0 - tail ** (1.0 / max(float(self.n_at_risk[-1]), 1.0)))
            high = np.where(share == 0, most, high)
        return low, high

    def quantile(self, levels: ArrayLike) -> Floats:
        """Earliest times by which the given shares have had the event.

        The quantile of a level is the smallest t with 1 - S(t) at or above it. It is infinite
        where the curve stays above that share: follow-up was too short.

        Parameters
        ----------
        levels : array-like of any shape
            Levels inside (0, 1).

        Returns
        -------
        times : ndarray of the shape of ``levels``
        """
        wanted = np.asarray(levels, dtype=np.float64)
        outside = ~((wanted > 0) & (wanted < 1))
        if outside.any():
            raise ValueError(f"levels must be inside (0, 1), got {wanted[outside][0]:g}.")
        ends = np.append(self.time, np.inf)
        left = (1 - wanted) * (1 + _ROUNDING)
        times: Floats = ends[np.searchsorted(-self.survival, -left, side="left")]
        return times


def kaplan_meier(
    time: ArrayLike, event: ArrayLike, sample_weight: ArrayLike | None = None
) -> KaplanMeier:
    """Kaplan-Meier curve of the event time.

    The estimate assumes that censoring is independent of the event. At
    a tie events come before censorings, as in R's ``survfit``: a row censored at t was still at
    risk at t.

    Parameters
    ----------
    time : array-like of shape (n,)
        Time of the event or of the end of follow-up.
    event : array-like of shape (n,)
        True where the event was observed.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.

    Returns
    -------
    curve : KaplanMeier

    Examples
    --------
    >>> from censquant.survival import kaplan_meier
    >>> curve = kaplan_meier([2, 2, 5], [True, False, True])
    >>> curve.time, curve.n_at_risk
    (array([2., 5.]), array([3., 1.]))
    """
    times, n_events, n_censored, n_later = _counts(time, event, sample_weight)
    n_left = n_later + n_censored
    return _curve(times, n_left + n_events, n_left, n_events, n_censored)


def censoring_kaplan_meier(
    time: ArrayLike, event: ArrayLike, sample_weight: ArrayLike | None = None
) -> KaplanMeier:
    """Kaplan-Meier curve of the censoring time.

    The roles are swapped: ``n_events`` of the curve counts censorings and ``n_censored`` counts
    events. The order at a tie is kept, so that events leave the risk set before the censorings of
    the same time: the product of the two curves is then the share of rows still followed.

    Parameters
    ----------
    time : array-like of shape (n,)
        Time of the event or of the end of follow-up.
    event : array-like of shape (n,)
        True where the event was observed, so where the censoring time is not known.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.

    Returns
    -------
    curve : KaplanMeier

    Examples
    --------
    >>> from censquant.survival import censoring_kaplan_meier
    >>> curve = censoring_kaplan_meier([2, 2, 5], [True, False, True])
    >>> curve.survival, curve.n_at_risk
    (array([0.5, 0.5]), array([2., 0.]))
    """
    times, n_events, n_censored, n_later = _counts(time, event, sample_weight)
    return _curve(times, n_later + n_censored, n_later, n_censored, n_events)


def _counts(
    time: ArrayLike, event: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Floats, ...]:
    """Distinct times with the weight of events, of censorings and of all later rows."""
    target = read_columns(time, event)
    weights = read_weights(sample_weight, len(target))
    if not weights.all():
        kept = weights > 0
        target, weights = target.take(kept), weights[kept]
    times, place = np.unique(target.time, return_inverse=True)
    n_events = _sums(place, weights * target.event, times.size)
    n_censored = _sums(place, weights * ~target.event, times.size)
    # Added up from the last time on, so that the risk sets of the tail, the smallest, are exact.
    from_here = np.cumsum((n_events + n_censored)[::-1])[::-1]
    n_later = np.concatenate((from_here[1:], [0.0]))
    return times, n_events, n_censored, n_later


def _sums(place: NDArray[np.intp], values: Floats, size: int) -> Floats:
    """Sum of the values at each place."""
    return np.asarray(np.bincount(place, values, minlength=size), dtype=np.float64)


def _curve(
    times: Floats,
    n_at_risk: Floats,
    n_left: Floats,
    n_events: Floats,
    n_censored: Floats,
) -> KaplanMeier:
    """Curve of the running product of the shares that are left at each time."""
    stay = np.ones(times.size)
    # The risk set of the censoring curve is empty where the last rows are all events.
    np.divide(n_left, n_at_risk, out=stay, where=n_at_risk > 0)
    survival = np.cumprod(stay, dtype=np.float64)
    return KaplanMeier(times, survival, n_at_risk, n_events, n_censored)


def inverse_censoring_weights(
    time: ArrayLike,
    event: ArrayLike,
    *,
    curve: KaplanMeier | None = None,
    floor: float = SMALLEST_CENSORING_CHANCE,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    r"""Weights that let the rows with an event stand for all rows.

    A row whose event was observed at t had the probability G(t-) of not being censored before, so
    it counts as 1 / G(t-) rows; a censored row counts as none:

    .. math:: w_i = \delta_i / \max(G(t_i-), \mathrm{floor})

    The weights are right if censoring depends neither on the event time nor on the features, and
    if follow-up is long enough to observe every event time. The floor bounds the few large
    weights near the end of follow-up, at the price of a small bias.
    """
    target = read_columns(time, event)
    if not 0 <= floor <= 1:
        raise ValueError(f"floor must be in [0, 1], got {floor!r}.")
    if curve is None:
        curve = censoring_kaplan_meier(target.time, target.event, sample_weight)
    elif sample_weight is not None:
        raise ValueError(
            "sample_weight must be None where curve is given, since it only weights the rows "
            "that the curve is estimated from."
        )
    events = np.flatnonzero(target.event)
    chance = np.maximum(curve(target.time[events], side="left"), floor)
    zero = np.flatnonzero(chance == 0)
    if zero.size:
        raise ValueError(
            f"floor must be positive where the censoring curve falls to 0, got {floor!r} and "
            f"{zero.size} events past that point, the first in row {events[zero[0]]}."
        )
    weights = np.zeros(len(target))
    weights[events] = 1 / chance
    return weights


def read_censoring_times(
    censoring_time: ArrayLike, target: Target, *, left: bool = False
) -> Floats:
    """Censoring times that are known for every row, checked against the target."""
    limit = read_numbers(censoring_time, name="censoring_time")
    if len(limit) != len(target):
        raise ValueError(
            "censoring_time must have one value for each row, "
            f"got {len(limit)} values for {len(target)} rows."
        )
    side = -1.0 if left else 1.0
    rounding = _SAME_TIME * np.abs(target.time)
    # Written so that NaN is refused.
    right = side * (limit - target.time) >= -rounding
    right &= target.event | (np.abs(limit - target.time) <= rounding)
    if not right.all():
        row = int(np.argmin(right))
        raise ValueError(
            "censoring_time must be the time of a censored row and not "
            f"{'after' if left else 'before'} the time of an event, got {limit[row]:g} in row "
            f"{row} with {'an event' if target.event[row] else 'censoring'} at "
            f"{target.time[row]:g}."
        )
    return limit


def default_horizon(
    time: ArrayLike, sample_weight: ArrayLike | None = None, *, left: bool = False
) -> float:
    """Last time at which at least one in twenty individuals is still at risk.

    Up to this horizon the data identify a restricted mean; past it few individuals decide.
    An individual is at risk at t if its own time, event or end of follow-up, is t or later.
    """
    times = read_times(time, name="time")
    weights = read_weights(sample_weight, times.size)
    latest = np.argsort(times if left else -times, kind="stable")
    at_risk = np.cumsum(weights[latest])
    enough = SMALLEST_FOLLOWED_SHARE * at_risk[-1] * (1.0 - _SAME_SHARE)
    return float(times[latest[np.searchsorted(at_risk, enough)]])
