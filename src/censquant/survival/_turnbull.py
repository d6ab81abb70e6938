"""Turnbull's estimate: the distribution of events that are known to lie between two times."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.exceptions import IdentifiabilityWarning
from censquant.survival._columns import read_weights
from censquant.survival._read_target import read_target
from censquant.survival._target import GeneralTarget, require_events

_MOST_ROUNDS = 1_000
_N_CELLS, _COARSE_ROUNDS = 300, 100
# Largest slope of the log-likelihood per row: of rows without entries it is also the most that the
# mean log-likelihood could still rise.
_FLAT, _STEEP = 1e-7, 1e-3
# Where all rows at risk have the event, later ones keep a share that can be told from none.
_LARGEST_HAZARD = 1.0 - 1e-9
_LONGEST = 1e6
_SMALLEST = 1e-3  # share of what an interval had that a longer step leaves it at least
_NOTHING = 1e-3  # events of an interval that are taken for none
_NOBODY = 1e-6
_ROUNDING = 1e-10
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Turnbull:
    """Distribution of a population whose events lie in intervals.

    Made by `turnbull`. The data say how much of the population has its event in each of a few
    intervals (lower, upper], and nothing about where in them.

    Parameters
    ----------
    lower, upper : ndarray of shape (k,), float64
        Ends of the intervals, increasing. Equal ends are a time that is known exactly; ``lower`` of
        the first may be -inf (before ``upper``), ``upper`` of the last inf (after ``lower``, at
        whatever time).
    mass : ndarray of shape (k,), float64
        Share of the population in each interval, adding up to 1.
    known_from : float
        With delayed entry, the smallest one: all shares are of those without an event until then.
        0 where a row was under observation from the start.

    Examples
    --------
    >>> from censquant import Surv
    >>> from censquant.survival import turnbull
    >>> curve = turnbull(Surv.from_intervals([0, 2, 4, 6], [2, 5, 5, float("inf")]))
    >>> curve.lower, curve.upper
    (array([-inf,   4.,   6.]), array([ 2.,  5., inf]))
    >>> curve.mass.round(3)
    array([0.25, 0.5 , 0.25])
    >>> curve([2.0, 4.5, 5.0]).round(3)
    array([0.75, 0.5 , 0.25])
    >>> low, high = curve.bounds([4.5])
    >>> low.round(3), high.round(3)
    (array([0.25]), array([0.75]))
    >>> curve.quantile([0.5])
    array([[4., 5.]])
    """

    lower: Floats
    upper: Floats
    mass: Floats
    known_from: float

    @property
    def survival(self) -> Floats:
        """Share that is event-free after each interval."""
        return np.maximum(1.0 - np.cumsum(self.mass), 0.0)

    def __call__(self, t: ArrayLike) -> Floats:
        """Share that is event-free after the given times, if events are spread evenly in intervals.

        That is an assumption: `bounds` are what the data say. In the last interval, if it has no
        end, the share is that at its beginning.
        """
        at = np.asarray(t, dtype=np.float64)
        known = np.isfinite(self.upper)
        high = self.upper[known]
        # Events are durations where any is in an interval.
        low = np.where(np.isinf(self.lower[known]), 0.0, self.lower[known])
        ends = np.column_stack((low, high)).ravel()
        shares = np.column_stack((np.append(1.0, self.survival[:-1])[known], self.survival[known]))
        place = np.searchsorted(ends, at, side="right")
        inside = np.interp(at, ends, shares.ravel()) if ends.size else np.ones(at.shape)
        # At and between the ends of intervals nothing has to be shared out.
        steps = np.append(1.0, shares.ravel())[place]
        return np.where(np.isnan(at), np.nan, np.where(place % 2 == 1, inside, steps))

    def bounds(self, t: ArrayLike) -> tuple[Floats, Floats]:
        """Smallest and largest share that may be event-free after the given times.

        The events of an interval that has begun and not ended may all have happened, or none. This
        is what intervals hide, not what a finite sample leaves open.

        Parameters
        ----------
        t : array-like of any shape
            Times; NaN gives NaN.

        Returns
        -------
        low, high : ndarray of the shape of ``t``
        """
        at = np.asarray(t, dtype=np.float64)
        left = np.concatenate(([1.0], self.survival))
        ended = left[np.searchsorted(self.upper, at, side="right")]
        exact = self.lower == self.upper
        # The event at an exact time has happened at that time, an interval begins after its end.
        begun = np.searchsorted(self.lower, at, side="left")
        begun += np.isin(at, self.lower[exact])
        missing = np.isnan(at)
        low, high = left[np.where(missing, 0, begun)], ended
        return np.where(missing, np.nan, low), np.where(missing, np.nan, high)

    def quantile(self, levels: ArrayLike) -> Floats:
        """Intervals that contain the times by which the given shares have had the event.

        Parameters
        ----------
        levels : array-like of any shape
            Levels inside (0, 1).

        Returns
        -------
        times : ndarray of the shape of ``levels``, and 2
            The quantile is above the first and at most the second time. The second is inf where
            follow-up was too short.
        """
        wanted = np.asarray(levels, dtype=np.float64)
        outside = ~((wanted > 0) & (wanted < 1))
        if outside.any():
            raise ValueError(f"levels must be inside (0, 1), got {wanted[outside][0]:g}.")
        left = (1.0 - wanted) * (1.0 + _ROUNDING)
        place = np.minimum(np.searchsorted(-self.survival, -left), self.mass.size - 1)
        return np.stack((self.lower[place], self.upper[place]), axis=-1)


def turnbull(y: object, sample_weight: ArrayLike | None = None) -> Turnbull:
    """Turnbull's estimate of the distribution of events that lie in intervals.

    The distribution without a shape that makes the rows most likely. With right-censored rows alone
    it is the Kaplan-Meier estimate, with delayed entry the product-limit estimate of left-truncated
    rows. Censoring, visits and entries are assumed to be independent of the event.

    Where few rows are under observation early on, an event among them is a large share of the
    population: with delayed entry look at the first intervals, and begin later, with the rows that
    are still under observation then, if one of them holds a share that you do not believe. There
    are no standard errors; the estimate converges too slowly for those of the usual kind.

    Parameters
    ----------
    y : target of n rows, in any form
        See `Surv`: exact times, intervals, entries, in any mixture.
    sample_weight : array-like of shape (n,), optional
        Weights in [0, inf); a weight of k counts as k equal rows.

    Returns
    -------
    curve : Turnbull

    References
    ----------
    .. [1] B. W. Turnbull (1976), The empirical distribution function with arbitrarily grouped,
       censored and truncated data, JRSS B 38.

    Examples
    --------
    >>> from censquant import Surv
    >>> from censquant.survival import turnbull
    >>> turnbull(Surv.from_arrays([1, 0, 1, 1], [1, 2, 3, 4])).survival
    array([0.75 , 0.375, 0.   ])
    """
    read = read_target(y, accepts=("right", "interval", "delayed_entry"))
    weight = read_weights(sample_weight, len(read))
    require_events(read)
    target = GeneralTarget.of(read).take(weight > 0)
    rows = _Rows.of(target, weight[weight > 0])
    mass, steepest = _most_likely(rows, _MOST_ROUNDS)
    _warn_if_steep(steepest)
    entry = float(target.entry.min())
    known_from = entry if np.isfinite(entry) else 0.0
    left = np.cumsum(mass[::-1])[::-1]
    kept = mass * rows.weight.sum() > _NOTHING * left
    _warn_of_an_early_end(rows.high[kept], left[kept])
    return Turnbull(rows.low[kept], rows.high[kept], mass[kept] / mass[kept].sum(), known_from)


def _warn_of_an_early_end(high: Floats, left: Floats) -> None:
    """Warn if nobody is left after an interval although rows are under observation later."""
    gone = np.flatnonzero(left < _NOBODY)
    if gone.size:
        end = high[gone[0] - 1]
        warnings.warn(
            f"All rows that were under observation at {end:g} had their event, so that the "
            "estimate has nobody left although other rows enter or stay later: begin later, with "
            "entries of at least a time at which enough rows are under observation.",
            IdentifiabilityWarning,
            stacklevel=3,
        )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows as ranges of the intervals that may hold events, in their order.

    Of two intervals one of which lies in more rows and after no more entries, the likelihood puts
    everything into that one. So there are only intervals that begin where a row's begins and end
    where a row's ends, or where a row enters, with nothing in between.
    """

    low: Floats  # ends of the intervals
    high: Floats
    first: Places  # of each row
    last: Places
    begin: Places  # the first interval after its entry
    weight: Floats
    known: Floats  # weights of rows that are not right-censored
    n_besides: Floats  # right-censored rows at risk in each interval, less the rows still to enter

    @classmethod
    def of(cls, target: GeneralTarget, weight: Floats) -> "_Rows":
        ends = (target.lower, target.upper, target.entry)
        value, place = np.unique(np.concatenate(ends), return_inverse=True)
        lower, upper, entry = np.split(place.ravel(), 3)
        # Twice the place of a value is just before it, one more is just after.
        left = 2 * lower + ~target.exact
        right, start = 2 * upper + 1, 2 * entry + 1
        lefts, rights = np.unique(left), np.unique(np.concatenate((right, start)))
        among = np.minimum(np.searchsorted(rights, lefts, side="right"), len(rights) - 1)
        following = np.append(lefts[1:], 2 * len(value) + 2)
        kept = (rights[among] > lefts) & (rights[among] <= following)
        a, b = lefts[kept], rights[among][kept]
        first, last = np.searchsorted(a, left), np.searchsorted(b, right, side="right") - 1
        # Equal rows count together.
        (first, last, begin, censored), place = np.unique(
            np.stack((first, last, np.searchsorted(a, start), target.right)),
            axis=1,
            return_inverse=True,
        )
        counts: Floats = np.bincount(place.ravel(), weight).astype(np.float64)
        known = np.where(censored == 1, 0.0, counts)
        n_besides = np.cumsum(
            np.bincount(first, counts - known, len(a) + 1)[::-1]
            - np.bincount(begin, counts, len(a) + 1)[::-1]
        )[::-1]
        return cls(value[a // 2], value[b // 2], first, last, begin, counts, known, n_besides[1:])

    def __len__(self) -> int:
        return len(self.low)

    def sums(self, first: Places, last: Places | None, values: Floats) -> Floats:
        """Return, for each interval, the sum of the values of the rows whose ranges hold it."""
        change = np.bincount(first, values, len(self) + 1)
        if last is not None:
            change -= np.bincount(last + 1, values, len(self) + 1)
        return np.asarray(np.cumsum(change)[:-1], dtype=np.float64)

    def chances(self, mass: Floats) -> tuple[Floats, Floats]:
        """Return the probability of each row's range, and of no event until its entry."""
        # From the end on, so that the smallest tails are exact.
        above = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
        return above[self.first] - above[self.last + 1], above[self.begin]

    def log_likelihood(self, mass: Floats) -> float:
        inside, after = self.chances(mass)
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(self.weight @ (np.log(inside) - np.log(after)))

    def slopes(self, mass: Floats) -> Floats:
        """Return the derivatives of the log-likelihood by shares of what is left by then."""
        inside, after = self.chances(mass)
        by_event = self.sums(self.first, self.last, self.weight / inside)
        slopes = by_event - self.sums(self.begin, None, self.weight / after)
        return slopes * np.cumsum(mass[::-1])[::-1]

    def step(self, mass: Floats) -> Floats:
        """Return shares by hazards: rows' events, spread by the shares so far, over rows at risk.

        Right-censored rows are at risk until their ranges begin, as in Kaplan and Meier's estimate.
        """
        inside, _ = self.chances(mass)
        events = mass * self.sums(self.first, self.last, self.known / inside)
        at_risk = np.maximum(np.cumsum(events[::-1])[::-1] + self.n_besides, events)
        hazard = np.divide(events, at_risk, out=np.zeros(len(self)), where=at_risk > 0)
        # What comes later stays possible where all at risk had the event.
        hazard = np.append(np.minimum(hazard[:-1], _LARGEST_HAZARD), 1.0)
        left = np.concatenate(([1.0], np.cumprod(1.0 - hazard[:-1])))
        return np.asarray(left * hazard)


def coarse_levels(target: GeneralTarget, weight: Floats) -> tuple[Floats, Floats]:
    """Return a few times and the shares of a population that have had the event by then.

    Turnbull's estimate of rows whose ends and entries are moved outwards to a grid: enough for a
    smooth distribution, and quick where no two rows have the same ends.
    """
    ends = np.concatenate((target.time, target.lower))
    ends = ends[np.isfinite(ends)]
    grid = np.unique(np.quantile(ends, np.linspace(0.0, 1.0, _N_CELLS + 1), method="nearest"))
    edges = np.concatenate(([-np.inf], grid, [np.inf]))
    # An exact time lies in the cell that ends at it or after it.
    cell = np.searchsorted(grid, target.time)
    left = np.searchsorted(grid, target.lower, side="right")
    lower = edges[np.where(target.exact, cell, left)]
    upper = np.where(target.event, edges[cell + 1], np.inf)
    entry = np.minimum(edges[np.searchsorted(grid, target.entry, side="right")], lower)
    rows = _Rows.of(GeneralTarget.of_rows(lower, upper, entry, target.kind), weight)
    mass, _ = _most_likely(rows, _COARSE_ROUNDS)
    known = np.isfinite(rows.high)
    return rows.high[known], np.cumsum(mass)[known]


def _most_likely(rows: _Rows, most_rounds: int) -> tuple[Floats, float]:
    """Return the shares of the intervals that maximise the likelihood, and how steep it is there.

    Rows that are not interval-censored need one step. Two steps give a direction in which a longer
    one is tried.
    """
    mass = np.full(len(rows), 1.0 / len(rows))
    steepest = np.inf
    for _ in range(most_rounds):
        once = rows.step(mass)
        twice = rows.step(once)
        change, bend = once - mass, twice - 2.0 * once + mass
        length = float(np.sqrt((change**2).sum() / max((bend**2).sum(), 1e-300)))
        mass = twice
        if 1.0 < length < _LONGEST:
            further = once - change + 2.0 * length * change + length**2 * bend
            further = np.maximum(further, _SMALLEST * twice)
            further /= further.sum()
            if rows.log_likelihood(further) > rows.log_likelihood(twice):
                mass = further
        steepest = rows.slopes(mass).max() / rows.weight.sum()
        if steepest <= _FLAT:
            break
    return mass, float(steepest)


def _warn_if_steep(steepest: float) -> None:
    """Warn if the likelihood could still rise."""
    if steepest <= _STEEP:
        return
    from sklearn.exceptions import ConvergenceWarning  # slow to import, and seldom needed

    warnings.warn(
        f"The search for Turnbull's estimate ended after {_MOST_ROUNDS:,} rounds, before its "
        "likelihood was flat: the shares of neighbouring intervals are not exact; round the bounds "
        "of the intervals.",
        ConvergenceWarning,
        stacklevel=3,
    )
