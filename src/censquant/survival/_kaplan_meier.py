"""Kaplan-Meier curves of events and of censoring, weights by the latter, the end of follow-up."""

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._frames import pandas_for
from censquant._typing import Floats
from censquant._validation import check_choice, check_number
from censquant.exceptions import IdentifiabilityWarning
from censquant.survival._columns import read_entry, read_numbers, read_times, read_weights
from censquant.survival._comparisons import Estimate, normal_deviate
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
# A fall of the curve by this share, while fewer than a tenth of the most rows are at risk because
# the others have not entered yet, is told to the user: the curve never recovers from it.
_EARLY_FALL, _EARLY = 0.2, 0.1
# A sum of weights below this share of all is rounding.
_NO_WEIGHT = 1e-12
_LIMITS = ("log-log", "log", "plain")


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
    known_from : float
        With delayed entry, the curve is that of individuals still without the event at this time,
        the first entry or ``start_time``: nobody was under observation before. Minus infinity
        where everybody was from the start.

    Notes
    -----
    Other programs differ in conventions, not in the curve. Limits of R's ``survfit`` are those of
    ``conf_type="log"``, SAS's and lifelines' of ``"log-log"``. Where the curve is exactly 1 or 0, R
    has no width or no limits, and here are exact binomial ones. A quantile of R and SAS is the
    middle of the times where the curve equals the level exactly; here, as in lifelines, it is the
    first of them. SAS multiplies the variance of a mean by m / (m - 1) for m events.

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
    known_from: float = -np.inf
    _rows: "_Rows | None" = field(default=None, init=False, repr=False)

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

        Where weights are not whole numbers, so that they count no rows, it is the robust one (the
        infinitesimal jackknife), as in R's ``survfit``: it does not change if all weights are
        multiplied by the same number.

        Parameters
        ----------
        t : array-like of any shape
            Times; NaN gives NaN.

        Returns
        -------
        standard_error : ndarray of the shape of ``t``
            Zero before the first event, and where nobody is left.
        """
        errors = np.concatenate(([0.0], self.survival * np.sqrt(self._log_variance)))
        at = np.asarray(t, dtype=np.float64)
        found = errors[np.searchsorted(self.time, at, side="right")]
        return np.where(np.isnan(at), np.nan, found)

    @cached_property
    def _log_variance(self) -> Floats:
        """Variance of the logarithm of the share after each time."""
        if self._rows is not None and self._rows.are_fractions:
            return self._rows.log_variance(self)
        return np.cumsum(self._greenwood_steps())

    def _greenwood_steps(self) -> Floats:
        left = self.n_at_risk - self.n_events
        steps = np.zeros(self.time.size)
        # The last step to zero has no finite term, and a share of zero no error.
        np.divide(self.n_events, self.n_at_risk * left, out=steps, where=left > 0)
        return steps

    def limits(
        self, t: ArrayLike, confidence: float = 0.95, *, conf_type: str = "log-log"
    ) -> tuple[Floats, Floats]:
        """Pointwise confidence limits after the given times, by the normal law.

        Where no event was observed so far, or where nobody is left, that law has no width, and the
        exact binomial limits (Clopper-Pearson) of the rows at risk take its place: of n rows at
        risk without an event, the share with one may be up to 1 - (alpha / 2)^(1 / n).

        Parameters
        ----------
        t : array-like of any shape
            Times; NaN gives NaN.
        confidence : float in (0, 1), default=0.95
        conf_type : {"log-log", "log", "plain"}, default="log-log"
            What is taken to be normal: log(-log S), the default of SAS, lifelines and
            scikit-survival, log S, the default of R, or S itself. The first covers best with few
            rows; the others are cut at 0 and 1.

        Returns
        -------
        low, high : ndarray of the shape of ``t``, in [0, 1]
        """
        check_choice("conf_type", conf_type, _LIMITS)
        z = normal_deviate(confidence)
        share, error = self(t), self.standard_error(t)
        inside = (share > 0) & (share < 1)
        log = np.log(np.where(inside, share, 0.5))
        reach = z * error / np.where(inside, share, 1.0)
        if conf_type == "log-log":
            reach = reach / log
            ends = [np.exp(log * np.exp(side * reach)) for side in (-1, 1)]
        elif conf_type == "log":
            ends = [np.exp(np.minimum(log + side * reach, 0.0)) for side in (-1, 1)]
        else:
            ends = [np.clip(share + side * z * error, 0.0, 1.0) for side in (-1, 1)]
        ends = [np.where(inside, end, share) for end in ends]
        low, high = np.minimum(*ends), np.maximum(*ends)
        tail = (1.0 - confidence) / 2.0
        at = np.asarray(t, dtype=np.float64)
        # Rows that were at risk when the curve ended; past the last time there are none.
        fewest = self.n_at_risk if self._rows is None else self._rows.fewest_at_risk(self)
        n_left = np.append(fewest, 0.0)[np.searchsorted(self.time, at, side="left")]
        least = np.where(n_left > 0, tail ** (1.0 / np.maximum(n_left, 1.0)), 0.0)
        # At the start nothing can have happened yet.
        start = max(min(0.0, float(self.time[0])), self.known_from)
        low = np.where((share == 1) & (at > start), least, low)
        end = int(np.searchsorted(-self.survival, 0.0, side="left"))
        if end < self.survival.size:
            before = self.survival[end - 1] if end else 1.0
            most = before * (1.0 - tail ** (1.0 / max(float(fewest[end]), 1.0)))
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

    def quantile_limits(
        self, levels: ArrayLike, confidence: float = 0.95, *, conf_type: str = "log-log"
    ) -> tuple[Floats, Floats]:
        """Confidence limits of quantiles: the times at which those of the curve reach the levels.

        They are the intervals of Brookmeyer and Crowley, of all times whose share the curve's own
        limits do not exclude.

        Parameters
        ----------
        levels : array-like of any shape
            Levels inside (0, 1).
        confidence : float in (0, 1), default=0.95
        conf_type : {"log-log", "log", "plain"}, default="log-log"
            As for :meth:`limits`.

        Returns
        -------
        low, high : ndarray of the shape of ``levels``
            ``high`` is infinite where the upper limit of the curve stays above the level.

        Examples
        --------
        >>> from censquant.survival import kaplan_meier
        >>> curve = kaplan_meier([1, 2, 3, 4, 5, 6, 7, 8], [1, 1, 0, 1, 1, 1, 0, 1])
        >>> curve.quantile_limits([0.25, 0.5], conf_type="plain")
        (array([1., 2.]), array([6., 8.]))
        """
        self.quantile(levels)  # checks the levels
        left = (1 - np.asarray(levels, dtype=np.float64)) * (1 + _ROUNDING)
        ends = np.append(self.time, np.inf)
        # The first time at which a limit is low enough: limits need not fall everywhere.
        falling = [
            np.minimum.accumulate(limit)
            for limit in self.limits(self.time, confidence, conf_type=conf_type)
        ]
        low, high = (ends[np.searchsorted(-limit, -left, side="left")] for limit in falling)
        return low, high

    def restricted_mean(self, horizon: float | None = None) -> Estimate:
        """Mean of the time up to a horizon, with its standard error.

        It is the area under the curve. Subtract that of another group for the difference, whose
        limits and p-value need no proportional hazards.

        Parameters
        ----------
        horizon : float, optional
            By default the last time at which one in twenty of the rows is still at risk. It may not
            lie after the last time unless the curve is 0 there: nothing is known of the area.

        Returns
        -------
        mean : Estimate
            With ``value``, ``standard_error``, ``limits()`` and ``p_value``. With delayed entry it
            is the mean of those still without the event at ``known_from``.

        Examples
        --------
        >>> from censquant.survival import kaplan_meier
        >>> first = kaplan_meier([2, 4, 6, 8], [1, 1, 1, 0]).restricted_mean(6)
        >>> second = kaplan_meier([1, 2, 3, 6], [1, 1, 1, 0]).restricted_mean(6)
        >>> first.value, second.value
        (4.5, 3.0)
        >>> low, high = (first - second).limits()
        >>> round(low, 2), round(high, 2)
        (-0.95, 3.95)
        """
        if horizon is None:
            enough = SMALLEST_FOLLOWED_SHARE * self.n_at_risk.max() * (1.0 - _SAME_SHARE)
            horizon = float(self.time[np.flatnonzero(self.n_at_risk >= enough)[-1]])
        end = check_number("horizon", horizon)
        if end > self.time[-1] and self.survival[-1] > 0:
            raise ValueError(
                "horizon must not lie after the last time, where the curve is above 0, got "
                f"{end:g} and the last time {self.time[-1]:g}: choose an earlier one."
            )
        places = np.minimum(np.append(self.time, np.inf), end)
        # No event comes before the first time, so that areas are counted from there.
        areas = self.survival * np.diff(places)
        after = np.cumsum(areas[::-1])[::-1]
        steps = np.maximum(np.diff(self._log_variance, prepend=0.0), 0.0)
        return Estimate(float(places[0] + areas.sum()), float(np.sqrt(after**2 @ steps)))

    def to_frame(self, confidence: float = 0.95, *, conf_type: str = "log-log") -> Any:
        """Table of the curve with its limits, as a DataFrame.

        Parameters
        ----------
        confidence : float in (0, 1), default=0.95
        conf_type : {"log-log", "log", "plain"}, default="log-log"
            As for :meth:`limits`.

        Returns
        -------
        frame : DataFrame of k rows
            Indexed by ``time``, with the columns ``n_at_risk``, ``n_events``, ``n_censored``,
            ``survival``, ``standard_error``, ``lower`` and ``upper``.

        Examples
        --------
        >>> from censquant.survival import kaplan_meier
        >>> kaplan_meier([1, 2, 4], [1, 0, 1]).to_frame()["survival"].round(3).to_list()
        [0.667, 0.667, 0.0]
        """
        pd = pandas_for("to_frame")
        lower, upper = self.limits(self.time, confidence, conf_type=conf_type)
        columns = {
            "n_at_risk": self.n_at_risk,
            "n_events": self.n_events,
            "n_censored": self.n_censored,
            "survival": self.survival,
            "standard_error": self.standard_error(self.time),
            "lower": lower,
            "upper": upper,
        }
        return pd.DataFrame(columns, index=pd.Index(self.time, name="time"))


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a curve whose precision does not follow from its counts alone."""

    place: NDArray[np.intp]  # of each row's time among those of the curve
    event: NDArray[np.bool_]
    weight: Floats
    entry: Floats | None

    @cached_property
    def are_fractions(self) -> bool:
        """Whether weights do not count rows."""
        return bool((self.weight != np.round(self.weight)).any())

    def log_variance(self, curve: KaplanMeier) -> Floats:
        """Return the sum of the squared influences of all rows on the logarithm of the curve.

        A row has no influence before its entry, that of the hazard while it is at risk, and less,
        from its event on, what this step takes away.
        """
        steps, left = curve._greenwood_steps(), curve.n_at_risk - curve.n_events
        hazard, size = np.cumsum(steps), len(steps)
        at_entry = np.zeros(len(self.place))
        first = np.zeros(len(self.place), dtype=np.intp)
        if self.entry is not None:
            first = np.searchsorted(curve.time, self.entry, side="right")
            at_entry = np.append(0.0, hazard)[first]
        own = np.zeros(size)
        np.divide(1.0, left, out=own, where=left > 0)
        ended = hazard[self.place] - at_entry - np.where(self.event, own[self.place], 0.0)
        square = self.weight**2
        done = np.cumsum(_sums(self.place, square * ended**2, size))
        # Sums over rows that have entered, and not left, after each time.
        inside = [
            np.cumsum(
                np.bincount(first, values, minlength=size + 1)[:size]
                - np.bincount(self.place, values, minlength=size)
            )
            for values in (square, square * at_entry, square * at_entry**2)
        ]
        going = hazard**2 * inside[0] - 2.0 * hazard * inside[1] + inside[2]
        return np.asarray(done + np.maximum(going, 0.0))

    def fewest_at_risk(self, curve: KaplanMeier) -> Floats:
        """Return how many rows speak for the share up to each time, the fewest since the start.

        Weights that count no rows are worth (sum w)^2 / sum w^2 of them.
        """
        n = self.going_on(curve, self.weight)
        if self.are_fractions:
            squares = self.going_on(curve, self.weight**2)
            n = np.divide(n**2, squares, out=np.zeros(len(n)), where=squares > 0)
        return np.asarray(np.minimum.accumulate(n))

    def going_on(self, curve: KaplanMeier, values: Floats) -> Floats:
        """Return sums over rows that are at risk from just after the time before each time on.

        With delayed entry they may be fewer than those at risk at the time itself.
        """
        size = len(curve.time)
        entered = np.zeros(len(self.place), dtype=np.intp)
        if self.entry is not None:
            # 0 for who is there at the start, k for who is there just after the k-th time.
            entered = np.searchsorted(curve.time, self.entry, side="left") + 1
            entered[self.entry <= curve.known_from] = 0
        later = _sums(self.place, values, size)[::-1].cumsum()[::-1]
        waiting = np.bincount(entered, values, minlength=size + 1)[::-1].cumsum()[::-1][1:]
        left = later - waiting
        return np.where(left < _NO_WEIGHT * later[0], 0.0, left)


def kaplan_meier(
    time: ArrayLike,
    event: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    entry: ArrayLike | None = None,
    start_time: float | None = None,
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
        Weights in [0, inf); a weight of k counts as k equal rows. Where any is not whole, standard
        errors are robust ones.
    entry : array-like of shape (n,), optional
        Time from which on each row was under observation (delayed entry, left truncation), before
        its ``time``; minus infinity where it was from the start. A row is at risk at t if its entry
        is before t and its time is not. It must be independent of the event time.
    start_time : float, optional
        The curve of those still without the event at this time, as ``start.time`` of ``survfit``.
        By default the first entry, or the start where there is no entry.

    Returns
    -------
    curve : KaplanMeier

    Warns
    -----
    IdentifiabilityWarning
        Where, because of late entries, the curve falls to 0 although rows were followed for longer,
        nobody is at risk for a while, or few early rows decide all of the curve.

    Examples
    --------
    >>> from censquant.survival import kaplan_meier
    >>> curve = kaplan_meier([2, 2, 5], [True, False, True])
    >>> curve.time, curve.n_at_risk
    (array([2., 5.]), array([3., 1.]))
    >>> curve = kaplan_meier([3, 5, 6, 8], [1, 1, 1, 0], entry=[0, 0, 0, 4])
    >>> curve.n_at_risk, curve.known_from
    (array([3., 3., 2., 1.]), 0.0)
    """
    if entry is None and start_time is None:
        times, n_events, n_censored, n_later, rows = _counts(time, event, sample_weight)
        n_left = n_later + n_censored
        return _curve(times, n_left + n_events, n_left, n_events, n_censored, rows)
    target = read_columns(time, event)
    weights = read_weights(sample_weight, len(target))
    start = np.full(len(target), -np.inf) if entry is None else read_entry(entry, target.time)
    kept = weights > 0
    known_from = float(start[kept].min())
    if start_time is not None:
        known_from = check_number("start_time", start_time)
        start = np.maximum(start, known_from)
        kept &= target.time > known_from
        if not kept.any():
            raise ValueError(
                "start_time must be before the last time, got "
                f"{known_from:g} and the last time {target.time.max():g}."
            )
    target, start, weights = target.take(kept), start[kept], weights[kept]
    times, n_events, n_censored, n_later, _ = _counts(target.time, target.event, weights)
    place = np.searchsorted(times, target.time)
    first = np.searchsorted(times, start, side="right")
    waiting = np.bincount(first, weights, minlength=times.size + 1)[::-1].cumsum()[::-1][1:]
    n_left = n_later + n_censored - waiting
    n_left = np.where(n_left < _NO_WEIGHT * weights.sum(), 0.0, n_left)
    rows = _Rows(place, target.event, weights, start)
    curve = _curve(times, n_left + n_events, n_left, n_events, n_censored, rows, known_from)
    _warn_of_few_at_risk(curve, rows.going_on(curve, weights))
    return curve


def _warn_of_few_at_risk(curve: KaplanMeier, going_on: Floats) -> None:
    """Warn where late entries leave so few at risk that the curve is not what it seems."""
    empty = np.flatnonzero(going_on[1:] == 0) if len(going_on) > 1 else np.empty(0, dtype=np.intp)
    most = curve.n_at_risk.max()
    early = np.arange(len(curve.time)) < np.argmax(curve.n_at_risk)
    early &= (curve.n_at_risk < _EARLY * most) & (curve.n_events > 0)
    falls = np.flatnonzero(early & (curve.survival <= 1.0 - _EARLY_FALL))
    if empty.size:
        says = "the curve is constant until the next entry, whatever happened then"
        if curve.survival[empty[-1]] == 0:
            says = "the curve falls to 0 and stays there"
        where = empty[-1]
        found = f"nobody at risk after {curve.time[empty[0]]:g}, although rows enter later: {says}"
    elif falls.size:
        where = falls[-1]
        found = (
            f"few at risk early: {curve.n_at_risk[where]:g} rows of later {most:g} at "
            f"{curve.time[where]:g}, by when the curve has fallen to {curve.survival[where]:.2g}"
        )
    else:
        return
    warnings.warn(
        f"entry leaves {found}; start_time={curve.time[where]:g} gives the curve of those still "
        "without the event by then.",
        IdentifiabilityWarning,
        stacklevel=3,
    )


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
    times, n_events, n_censored, n_later, rows = _counts(time, event, sample_weight)
    if rows is not None:
        rows = _Rows(rows.place, ~rows.event, rows.weight, None)
    return _curve(times, n_later + n_censored, n_later, n_censored, n_events, rows)


def _counts(
    time: ArrayLike, event: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Floats, Floats, Floats, Floats, _Rows | None]:
    """Distinct times with the weight of events, of censorings and of all later rows.

    The rows themselves come with them where they are weighted.
    """
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
    rows = None if sample_weight is None else _Rows(place, target.event, weights, None)
    return times, n_events, n_censored, n_later, rows


def _sums(place: NDArray[np.intp], values: Floats, size: int) -> Floats:
    """Sum of the values at each place."""
    return np.asarray(np.bincount(place, values, minlength=size), dtype=np.float64)


def _curve(
    times: Floats,
    n_at_risk: Floats,
    n_left: Floats,
    n_events: Floats,
    n_censored: Floats,
    rows: _Rows | None = None,
    known_from: float = -np.inf,
) -> KaplanMeier:
    """Curve of the running product of the shares that are left at each time."""
    stay = np.ones(times.size)
    # The risk set of the censoring curve is empty where the last rows are all events.
    np.divide(n_left, n_at_risk, out=stay, where=n_at_risk > 0)
    survival = np.cumprod(stay, dtype=np.float64)
    curve = KaplanMeier(times, survival, n_at_risk, n_events, n_censored, known_from)
    object.__setattr__(curve, "_rows", rows)
    return curve


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
