"""The Aalen-Johansen estimator: shares of a population with an event of each kind."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.survival._causes import Causes, read_causes
from censquant.survival._columns import read_weights
from censquant.survival._comparisons import normal_deviate

# As of Kaplan-Meier curves: a level that is reached exactly could be missed by rounding.
_ROUNDING = 1e-10
_TAKES = ("right", "delayed_entry", "competing")


@dataclass(frozen=True, eq=False)
class AalenJohansen:
    """Step curves of the shares of a population that have had an event of each kind.

    Made by `aalen_johansen`. Past the last time nobody is at risk: the curves are carried on as
    constants there, which is a convention and not an estimate.

    Parameters
    ----------
    time : ndarray of shape (k,), float64
        Distinct times of the data, increasing.
    incidence : ndarray of shape (n_kinds, k), float64
        Share that has had an event of each kind by each time, not decreasing.
    survival : ndarray of shape (k,), float64
        Share without an event of any kind, the Kaplan-Meier curve of all events. With the
        incidences it sums to 1.
    n_at_risk : ndarray of shape (k,), float64
        Weighted number of rows that could still end at each time.
    n_events : ndarray of shape (n_kinds, k), float64
        Weighted number of events of each kind at each time.
    kinds : ndarray of shape (n_kinds,)
        What the kinds are called, in the order of the rows above.

    Examples
    --------
    >>> from censquant.survival import aalen_johansen
    >>> curve = aalen_johansen([1, 2, 3, 4], [1, 2, 0, 1])
    >>> curve.incidence
    array([[0.25, 0.25, 0.25, 0.75],
           [0.  , 0.25, 0.25, 0.25]])
    >>> curve([0.5, 4.0])
    array([[0.  , 0.75],
           [0.  , 0.25]])
    >>> curve.quantile([0.25, 0.5])
    array([[ 1.,  4.],
           [ 2., inf]])
    >>> curve.standard_error([2.0]).round(3)
    array([[0.217],
           [0.217]])
    """

    time: Floats
    incidence: Floats
    survival: Floats
    n_at_risk: Floats
    n_events: Floats
    kinds: NDArray[Any]

    def __call__(self, t: ArrayLike, side: Literal["right", "left"] = "right") -> Floats:
        """Share with an event of each kind by, or before, times of any shape ``s``: (K, *s)."""
        if side not in ("right", "left"):
            raise ValueError(f"side must be 'right' or 'left', got {side!r}.")
        return self._read(self.incidence, t, side)

    def _read(self, values: Floats, t: ArrayLike, side: Literal["right", "left"]) -> Floats:
        """Return values that begin with 0 and change at the times of the curve."""
        at = np.asarray(t, dtype=np.float64)
        steps = np.hstack((np.zeros((len(values), 1)), values))
        return np.where(np.isnan(at), np.nan, steps[:, np.searchsorted(self.time, at, side=side)])

    def standard_error(self, t: ArrayLike) -> Floats:
        """Return standard errors of the shares by the given times.

        By the delta method, which is Greenwood's formula for a single kind, and that of a binomial
        share where no row is censored.

        Parameters
        ----------
        t : array-like of any shape
            Times; NaN gives NaN.

        Returns
        -------
        standard_error : ndarray of shape (n_kinds,) and the shape of ``t``
        """
        at_risk, events = self.n_at_risk, self.n_events
        total = events.sum(axis=0)
        before = np.concatenate(([1.0], self.survival[:-1]))
        # Sums of (F(t) - F(t_j))^2 a_j - 2 (F(t) - F(t_j)) b_j + c_j over times t_j up to t.
        left = at_risk - total
        a = np.divide(total, at_risk * left, out=np.zeros_like(total), where=left > 0)
        b = before * events / at_risk**2
        c = before**2 * events * (at_risk - events) / at_risk**3
        share = self.incidence
        sums = [
            np.cumsum(each, axis=1) for each in (share * a, share**2 * a + 2 * share * b + c, b)
        ]
        variance = share**2 * np.cumsum(a) - 2 * share * (sums[0] + sums[2]) + sums[1]
        return self._read(np.sqrt(np.maximum(variance, 0.0)), t, "right")

    def limits(self, t: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Pointwise confidence limits by the given times, by the normal law of log(-log F).

        Where no event of a kind was seen so far, or nobody was spared it, that law has no width,
        and exact binomial limits (Clopper-Pearson) take its place: without an event of the kind its
        share may be up to 1 - (alpha / 2)^(1 / n). Here n is how many of the rows were followed for
        so long: those at risk, divided by the share without an event of any kind.

        Parameters
        ----------
        t : array-like of any shape
            Times; NaN gives NaN.
        confidence : float in (0, 1), default=0.95

        Returns
        -------
        low, high : ndarray of shape (n_kinds,) and the shape of ``t``, in [0, 1]
        """
        z = normal_deviate(confidence)
        share, error = self(t), self.standard_error(t)
        share = np.where(share > 1.0 - _ROUNDING, 1.0, share)
        inside = (share > 0) & (share < 1)
        known = np.where(inside, share, 0.5)
        reach = z * error / (known * np.log(known))
        ends = [np.where(inside, known ** np.exp(side * reach), share) for side in (-1, 1)]
        low, high = np.minimum(*ends), np.maximum(*ends)
        at, tail = np.asarray(t, dtype=np.float64), (1.0 - confidence) / 2.0
        followed = self.n_at_risk / np.append(1.0, self.survival[:-1])
        # Rows that enter late say nothing of what came before.
        followed = np.append(np.minimum.accumulate(followed), 0.0)
        if self.survival[-1] == 0:  # nothing can follow
            followed[-1] = followed[-2]
        n_left = followed[np.searchsorted(self.time, at, side="left")]
        most = np.where(n_left > 0, 1.0 - tail ** (1.0 / np.maximum(n_left, 1.0)), 1.0)
        # At the start nothing can have happened yet.
        begun = at > min(0.0, float(self.time[0]))
        high = np.where((share == 0) & begun, most, high)
        before = np.append(1.0, self.survival)[-2]
        if self.survival[-1] == 0 and (share == 1).any():
            # As the upper limit of a Kaplan-Meier curve that ends at 0.
            last = before * (1.0 - tail ** (1.0 / max(float(self.n_at_risk[-1]), 1.0)))
            low = np.where(share == 1, 1.0 - last, low)
        return low, high

    def quantile(self, levels: ArrayLike) -> Floats:
        """Earliest times by which the given shares have had an event of each kind.

        Infinite where the share stays below the level, because other kinds come first or because
        follow-up was too short.

        Parameters
        ----------
        levels : array-like of any shape
            Levels inside (0, 1).

        Returns
        -------
        times : ndarray of shape (n_kinds,) and the shape of ``levels``
        """
        wanted = np.asarray(levels, dtype=np.float64)
        outside = ~((wanted > 0) & (wanted < 1))
        if outside.any():
            raise ValueError(f"levels must be inside (0, 1), got {wanted[outside][0]:g}.")
        ends = np.append(self.time, np.inf)
        return np.stack(
            [ends[np.searchsorted(share, wanted * (1 - _ROUNDING))] for share in self.incidence]
        )


def aalen_johansen(
    time: ArrayLike,
    event: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    entry: ArrayLike | None = None,
) -> AalenJohansen:
    """Shares of a population that have had an event of each kind, by Aalen and Johansen.

    One minus the Kaplan-Meier curve of a kind, with other kinds as censored, is the share in a
    world without them, and too high in this one. These shares and that of rows without an event sum
    to 1. The estimate assumes that censoring is independent of the event. At a tie events come
    before censorings.

    Parameters
    ----------
    time : array-like of shape (n,)
        Time of the event or of the end of follow-up.
    event : array-like of shape (n,)
        0 where no event was seen, else the number of its kind, from 1 on without a gap; or the
        name of its kind, ``"censored"`` or missing where there was none.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.
    entry : array-like of shape (n,), optional
        Time since which each row was under observation, where that is not the start. Shares are
        then given no event before the earliest entry, and early ones rest on few rows.

    Returns
    -------
    curve : AalenJohansen

    References
    ----------
    .. [1] O. O. Aalen, S. Johansen (1978). An empirical transition matrix for non-homogeneous
       Markov chains based on censored observations. *Scandinavian Journal of Statistics* 5.
    .. [2] E. Marubini, M. G. Valsecchi (1995). Analysing Survival Data from Clinical Trials and
       Observational Studies. Wiley.

    Examples
    --------
    >>> from censquant.survival import aalen_johansen
    >>> curve = aalen_johansen([2, 4, 4, 6], ["relapse", "death", "relapse", "censored"])
    >>> curve.kinds.tolist()
    ['death', 'relapse']
    >>> curve.incidence[:, -1], curve.survival[-1]
    (array([0.25, 0.5 ]), np.float64(0.25))
    """
    y = (time, event) if entry is None else {"time": time, "event": event, "entry": entry}
    return aalen_johansen_of(read_causes(y, accepts=_TAKES), sample_weight)


def aalen_johansen_of(causes: Causes, sample_weight: ArrayLike | None = None) -> AalenJohansen:
    """Return the curves of rows that are read already."""
    weight = read_weights(sample_weight, len(causes))
    kept = weight > 0
    target, weight = causes.target.take(kept), weight[kept]
    times, place = np.unique(target.time, return_inverse=True)
    n_kinds = len(causes.kinds)
    counts = np.zeros((n_kinds + 1, times.size))
    np.add.at(counts, (target.kind, place), weight)
    # Added up from the last time on, so that the risk sets of the tail, the smallest, are exact.
    at_risk = np.cumsum(counts.sum(axis=0)[::-1])[::-1]
    # Who enters at the time of an event is not yet at risk.
    late = np.bincount(np.searchsorted(times, target.entry, side="right"), weight, times.size + 1)
    at_risk = at_risk - np.cumsum(late[::-1])[::-1][1:]
    events = counts[1:]
    survival = np.cumprod(1.0 - events.sum(axis=0) / at_risk)
    before = np.concatenate(([1.0], survival[:-1]))
    incidence = np.cumsum(before * events / at_risk, axis=1)
    return AalenJohansen(times, incidence, survival, at_risk, events, causes.kinds)
