"""The predictive distribution of each individual, held as quantiles on a grid of levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant.quantiles._grid import (
    check_levels,
    check_quantiles,
    crossed,
    levels_of,
    quantiles_of,
    restricted_mean_of,
    sorted_rows,
    stored_quantiles,
    tail_remaining,
)

if TYPE_CHECKING:
    from censquant.quantiles._distribution_curve import TailLimit

# A level differs from the reach by more than the rounding of its own computation.
_LEVEL_ROUNDING = 1e-12
# Two computations of one time may differ by this share.
_SAME_TIME = 1e-9
LARGEST_UNSEEN_SHARE = 0.02
"""Share of events before the data begin up to which levels count from the start nevertheless.

Each level is then wrong by about as much at most.
"""


@dataclass(frozen=True, eq=False)
class QuantileCurve:
    r"""One predictive distribution per row, known by its quantiles on a common grid of levels.

    All predictions for an individual (a quantile off the grid, a survival probability, the
    remaining life, the level of an observed time) derive from this one distribution, so that no
    two of them contradict each other:

    - between two grid levels the distribution function is linear in time;
    - below the first level the first segment is prolonged down to level 0, but not below `lower`;
    - above the last level the survival function decays exponentially, with the rate of the last
      segment, :math:`\lambda = \log\{(1-\tau_{M-1})/(1-\tau_M)\} / (v_M - v_{M-1})`.

    The two outer pieces are assumptions and not data: a heavier tail than the exponential puts
    levels beyond the grid too low. Where neighbouring quantiles are equal the distribution has a
    point mass, and the distribution function takes the highest of the tied levels; if the last two
    are equal, all of the tail sits at that point. With a single level nothing is known but that
    level: `cdf` is NaN at every time other than its value.

    A curve also has a `reach`: the highest level of each row that the data identify, 1 by default
    (`with_reach`). Where rows came under observation late, it has `known_from` (`with_start`): no
    data say what happens before, and where the curve puts more than 2 % of the events there, no
    level counted from the start is identified. What is asked given no event until then is.

    Parameters
    ----------
    values : array-like of shape (n_samples, n_levels)
        Finite quantiles, not decreasing along each row and not below `lower`. Predictions that may
        cross go through `from_predictions`, which sorts them.
    taus : array-like of shape (n_levels,), inside (0, 1)
        Strictly increasing levels of the columns.
    lower : float
        Smallest possible time, 0 for durations; minus infinity when there is none.

    Examples
    --------
    >>> from censquant.quantiles import QuantileCurve
    >>> curve = QuantileCurve([[1.0, 2.0, 4.0]], taus=[0.25, 0.5, 0.75], lower=0.0)
    >>> curve.at([0.5, 0.625])
    array([[2., 3.]])
    >>> curve.cdf([3.0])
    array([0.625])
    >>> curve.survival([0.0, 1.0, 2.0])
    array([[1.  , 0.75, 0.5 ]])
    """

    values: Floats
    taus: Floats
    lower: float = -np.inf

    def __post_init__(self) -> None:
        values, taus = _read_matrix(self.values), check_quantiles(self.taus, name="taus")
        lower = float(self.lower)
        _require_distribution(values, len(taus), lower)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "taus", taus)
        object.__setattr__(self, "lower", lower)

    @classmethod
    def from_predictions(
        cls, values: ArrayLike, taus: ArrayLike, lower: float = -np.inf
    ) -> QuantileCurve:
        """Curve of a model's predictions, sorted along each row and clipped from below.

        Sorting is the rearrangement of crossed quantiles: it never moves them away from the true
        ones. Rows that are in order already are used as they are.

        Parameters
        ----------
        values : array-like of shape (n_samples, n_levels)
            Finite predictions, in any order along a row.
        taus : array-like of shape (n_levels,), inside (0, 1)
            Strictly increasing levels.
        lower : float
            Smallest possible time; smaller predictions are moved up to it.

        Returns
        -------
        curve : QuantileCurve

        Examples
        --------
        >>> from censquant.quantiles import QuantileCurve
        >>> QuantileCurve.from_predictions([[3.0, -1.0]], taus=[0.2, 0.8], lower=0.0).values
        array([[0., 3.]])
        """
        matrix = sorted_rows(_read_matrix(values))
        if _starts_below(matrix, lower):
            matrix = np.maximum(matrix, lower)
        return cls(matrix, np.asarray(taus), lower)

    @classmethod
    def adopt(cls, values: Floats, taus: Floats, lower: float = -np.inf) -> Self:
        """Curve of finite predictions in an array that the caller gives away.

        As `from_predictions`, but the array itself is sorted and clipped, and nothing is checked:
        for a model's predictions of many rows, where every further pass counts.

        Parameters
        ----------
        values : ndarray of shape (n_samples, n_levels), float64
            Finite predictions; changed in place.
        taus : ndarray of shape (n_levels,), float64, inside (0, 1)
            Strictly increasing levels.
        lower : float
            Smallest possible time.

        Returns
        -------
        curve : QuantileCurve

        Examples
        --------
        >>> import numpy as np
        >>> from censquant.quantiles import QuantileCurve
        >>> QuantileCurve.adopt(np.array([[3.0, -1.0]]), np.array([0.2, 0.8]), 0.0).values
        array([[0., 3.]])
        """
        from censquant.quantiles._row_kernels import sort_rows

        sort_rows(values)
        if _starts_below(values, lower):
            np.maximum(values, lower, out=values)
        curve = object.__new__(cls)
        for name, value in (("values", values), ("taus", taus), ("lower", lower)):
            object.__setattr__(curve, name, value)
        return curve

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Any, *, reach: bool = True) -> QuantileCurve:
        """Curve of some of the rows, with their reach.

        Parameters
        ----------
        rows : slice, or array-like of int or bool
        reach : bool, default True
            Whether to hand the reach on, for which it has to be known.

        Returns
        -------
        curve : QuantileCurve

        Examples
        --------
        >>> from censquant.quantiles import QuantileCurve
        >>> QuantileCurve([[1.0], [2.0]], taus=[0.5]).take([1]).values
        array([[2.]])
        """
        chosen = self._rows(rows)
        if not reach:
            return chosen
        if "_reach" in vars(self):
            chosen = chosen.with_reach(self._own_reach[rows], lowest=self.reach_is_lowest)
        if "_known_from" in vars(self):
            empirical = vars(self)["_is_empirical"]
            chosen = chosen.with_start(self.known_from[rows], empirical=empirical)
        return chosen

    def _rows(self, rows: Any) -> QuantileCurve:
        """Return some of the rows without their reach."""
        return QuantileCurve(self.values[rows], self.taus, self.lower)

    def limited(self, tail: TailLimit) -> Self:
        """Curve whose quantiles after the last observed time are not later than a limit.

        Parameters
        ----------
        tail : TailLimit

        Returns
        -------
        curve : QuantileCurve
            With the same reach rule; the same object if no quantile on the grid is that late.

        Examples
        --------
        >>> from censquant.quantiles import QuantileCurve
        >>> from censquant.quantiles._distribution_curve import TailLimit
        >>> curve = QuantileCurve([[1.0, 5.0], [1.0, 90.0]], taus=[0.25, 0.75], lower=0.0)
        >>> curve.limited(TailLimit(end=2.0)).values.round(2)
        array([[1.  , 3.98],
               [1.  , 4.53]])
        """
        values = tail.limited_grid(self.values, self.taus, self.lower)
        return self if values is self.values else self._with(values=values)

    def limit(self) -> Floats:
        """Time of each row up to which the data support its curve: the quantile at its reach.

        Returns
        -------
        time : ndarray of shape (n_samples,)
            Where no level is identified, the earliest time of the curve (for left-censored times
            the latest).

        Examples
        --------
        >>> from censquant.quantiles import QuantileCurve
        >>> curve = QuantileCurve([[1.0, 2.0]], taus=[0.25, 0.75]).with_reach([0.5])
        >>> curve.limit()
        array([1.5])
        """
        if not self.is_whole:  # one level is supported, or not even that one
            return self.values[:, 0]
        tiny = np.finfo(np.float64).tiny
        return self.at_each(np.clip(self.reach, tiny, np.nextafter(1.0, 0.0))[:, None])[:, 0]

    def _with(self, **changes: Any) -> Self:
        """Return a twin with some attributes changed."""
        twin = object.__new__(type(self))
        vars(twin).update({**vars(self), **changes})
        return twin

    # Quantiles, levels and means

    def _quantiles(self, levels: Floats) -> Floats:
        """Return quantiles at checked levels of shape (k,) or (n, k)."""
        return quantiles_of(self.values, self.taus, self.lower, levels)

    def _levels(self, times: Floats) -> Floats:
        """Return F(t) at times of shape (T,) or (n, T)."""
        return levels_of(self.values, self.taus, self.lower, times)

    def at(self, levels: ArrayLike) -> Floats:
        """Quantiles of every row at common levels.

        Parameters
        ----------
        levels : array-like of shape (k,) or float, inside (0, 1)
            Levels in any order, on or off the grid. A curve of one level knows only that one.

        Returns
        -------
        quantiles : ndarray of shape (n_samples, k)
            Not decreasing in the level; at a grid level exactly the stored value.

        Examples
        --------
        >>> from censquant.quantiles import QuantileCurve
        >>> QuantileCurve([[1.0, 2.0]], taus=[0.25, 0.75]).at([0.75, 0.5])
        array([[2. , 1.5]])
        """
        checked = check_levels(levels)
        known = stored_quantiles(self.values, self.taus, checked)
        return self._quantiles(checked) if known is None else known

    def at_each(self, levels: ArrayLike) -> Floats:
        """Quantiles at levels that differ from row to row.

        Parameters
        ----------
        levels : array-like of shape (n_samples, k), inside (0, 1)
            Levels of each row.

        Returns
        -------
        quantiles : ndarray of shape (n_samples, k)

        Examples
        --------
        >>> from censquant.quantiles import QuantileCurve
        >>> QuantileCurve([[1.0, 2.0], [1.0, 2.0]], [0.25, 0.75]).at_each([[0.25], [0.5]])
        array([[1. ],
               [1.5]])
        """
        array = np.asarray(levels, dtype=np.float64)
        if array.ndim != 2 or len(array) != len(self):
            raise ValueError(
                f"levels must have shape (n_samples, k) with n_samples={len(self)}, "
                f"got {array.shape}."
            )
        outside = ~((array > 0) & (array < 1))
        if outside.any():
            raise ValueError(f"levels must be inside (0, 1), got {array[outside][0]}.")
        return self._quantiles(array)

    def median(self) -> Floats:
        """Median time of every row, shape (n_samples,)."""
        return self.at([0.5])[:, 0]

    def cdf(self, times: ArrayLike) -> Floats:
        """Level that each row gives to its own times, F(t) = P(T <= t).

        Parameters
        ----------
        times : array-like of shape (n_samples,) or (n_samples, n_times)
            Times of each row, infinite ones allowed. For times common to all rows see `survival`.

        Returns
        -------
        levels : ndarray of the shape of `times`, in [0, 1]

        Examples
        --------
        >>> from censquant.quantiles import QuantileCurve
        >>> curve = QuantileCurve([[1.0, 2.0], [2.0, 4.0]], taus=[0.25, 0.75])
        >>> curve.cdf([1.5, 2.0])
        array([0.5 , 0.25])
        """
        array = np.asarray(times, dtype=np.float64)
        if array.ndim not in (1, 2) or len(array) != len(self):
            raise ValueError(
                f"times must have shape (n_samples,) or (n_samples, n_times) with "
                f"n_samples={len(self)}, got {array.shape}; use survival for common times."
            )
        levels = self._levels(array if array.ndim == 2 else array[:, None])
        return levels.reshape(array.shape)

    def survival(self, times: ArrayLike) -> Floats:
        """Probability of each row that its event comes later than each of the common times.

        Parameters
        ----------
        times : array-like of shape (n_times,) or float
            Times for all rows, in any order.

        Returns
        -------
        survival : ndarray of shape (n_samples, n_times), in [0, 1]

        Examples
        --------
        >>> from censquant.quantiles import QuantileCurve
        >>> QuantileCurve([[1.0, 2.0], [2.0, 4.0]], taus=[0.25, 0.75]).survival([2.0])
        array([[0.25],
               [0.75]])
        """
        array = np.asarray(times, dtype=np.float64)
        if array.ndim > 1:
            raise ValueError(
                f"times must be one-dimensional, got an array of shape {array.shape}; "
                "use cdf for times that differ from row to row."
            )
        levels = self._levels(np.atleast_1d(array))
        return np.subtract(1.0, levels, out=levels)

    def restricted_mean(self, horizon: float) -> Floats:
        r"""Mean time up to a horizon, :math:`E[\min(T, h)]`, of every row.

        The mean itself depends on a tail that no censored data show; up to a horizon that some
        individuals were followed to, it is as well known as the survival function.

        Parameters
        ----------
        horizon : float
            Infinity gives the mean of the curve, tail included.

        Returns
        -------
        mean : ndarray of shape (n_samples,)

        Examples
        --------
        >>> from censquant.quantiles import QuantileCurve
        >>> curve = QuantileCurve([[1.0, 2.0, 3.0]], taus=[0.25, 0.5, 0.75], lower=0.0)
        >>> curve.restricted_mean(2.0)
        array([1.5])
        """
        if np.isnan(horizon):
            raise ValueError("horizon must be a number or infinity, got NaN.")
        self._need_two_levels("restricted_mean")
        return self._restricted_mean(float(horizon))

    def _restricted_mean(self, horizon: float) -> Floats:
        return restricted_mean_of(self.values, self.taus, self.lower, horizon)

    @property
    def is_whole(self) -> bool:
        """Whether the curve knows a distribution and not one level alone."""
        return len(self.taus) > 1

    def _need_two_levels(self, method: str) -> None:
        if not self.is_whole:
            raise ValueError(
                f"{method} needs a curve of at least two levels, got one with {self.taus[0]} only."
            )

    def remaining(self, elapsed: ArrayLike, levels: ArrayLike) -> Floats:
        r"""Quantiles of the time still to come, given no event up to now.

        For a row that has lasted :math:`s` it is
        :math:`Q\{1 - (1 - \tau) S(s)\} - s`, never negative. A row that has outlived its last
        grid value lives on the exponential tail, where the result no longer depends on
        :math:`s` and is an extrapolation. Where :math:`S(s) = 0` because of a point mass at the
        end, it is 0.

        Parameters
        ----------
        elapsed : array-like of shape (n_samples,) or float
            Time already lasted; a number holds for all rows.
        levels : array-like of shape (k,) or float, inside (0, 1)
            Levels of the remaining time.

        Returns
        -------
        remaining : ndarray of shape (n_samples, k)
            Not decreasing in the level.

        Examples
        --------
        >>> from censquant.quantiles import QuantileCurve
        >>> curve = QuantileCurve([[1.0, 2.0, 3.0]], taus=[0.25, 0.5, 0.75], lower=0.0)
        >>> curve.remaining(1.0, levels=[1 / 3, 2 / 3])
        array([[1., 2.]])
        """
        wanted, now = check_levels(levels), np.asarray(elapsed, dtype=np.float64)
        if now.shape not in ((), (len(self),)):
            raise ValueError(
                f"elapsed must be a number or have shape ({len(self)},), got {now.shape}."
            )
        if not np.isfinite(now).all():
            raise ValueError("elapsed must be finite, got NaN or infinity.")
        self._need_two_levels("remaining")
        now = np.broadcast_to(now, (len(self),))[:, None]
        return self._remaining(now, wanted, self._conditional_levels(now, wanted))

    def risk_within(self, elapsed: ArrayLike, times: ArrayLike) -> Floats:
        r"""Probability of the event within further times, given no event up to now.

        For a row that has lasted :math:`s` it is :math:`1 - S(s + t) / S(s)`; 1 where
        :math:`S(s) = 0`.

        Parameters
        ----------
        elapsed : array-like of shape (n_samples,) or float
            Time already lasted; a number holds for all rows.
        times : array-like of shape (k,) or float
            Times from now on, 0 or more.

        Returns
        -------
        risk : ndarray of shape (n_samples, k), in [0, 1]
            Not decreasing in time.

        Examples
        --------
        >>> from censquant.quantiles import QuantileCurve
        >>> curve = QuantileCurve([[1.0, 2.0, 3.0]], taus=[0.25, 0.5, 0.75], lower=0.0)
        >>> curve.risk_within(1.0, [0.0, 1.0, 2.0]).round(2)
        array([[0.  , 0.33, 0.67]])
        """
        self._need_two_levels("risk_within")
        now = np.broadcast_to(np.asarray(elapsed, dtype=np.float64), (len(self),))[:, None]
        ahead = np.atleast_1d(np.asarray(times, dtype=np.float64))
        left = 1.0 - self._levels(now)
        share = np.ones((len(self), len(ahead)))
        np.divide(self._levels(now + ahead) - (1.0 - left), left, out=share, where=left > 0)
        return np.clip(share, 0.0, 1.0)

    def _conditional_levels(self, now: Floats, wanted: Floats) -> Floats:
        """Return the levels, from the start, of levels among those who have lasted until now."""
        # Unlike 1 - (1 - tau) S(s) this is tau itself, with no rounding, where S(s) = 1.
        return wanted + (1.0 - wanted) * self._levels(now)

    def _remaining(self, now: Floats, wanted: Floats, conditional: Floats) -> Floats:
        below_one = np.minimum(conditional, np.nextafter(1.0, 0.0))
        result = np.maximum(self._quantiles(below_one) - now, 0.0)
        outlived = now[:, 0] >= self.values[:, -1]
        result[outlived] = tail_remaining(self.values[outlived], self.taus, wanted)
        return result

    # Up to which level the data identify each row

    def with_reach(
        self, reach: ArrayLike | Callable[[Any], ArrayLike], *, lowest: bool = False
    ) -> Self:
        """Return the same curve with the highest level that the data identify in each row.

        A rule is evaluated once, when the reach is first needed: predictions without it stay cheap.
        """
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        known = reach if callable(reach) else self._checked(reach)
        vars(twin).update(_reach=known, _reach_is_lowest=bool(lowest))
        return twin

    def _checked(self, reach: ArrayLike) -> Floats:
        levels = np.asarray(reach, dtype=np.float64)
        if levels.shape != (len(self),):
            raise ValueError(f"reach must have shape ({len(self)},), got {levels.shape}.")
        return levels

    def with_start(
        self, known_from: ArrayLike | Callable[[Any], ArrayLike], *, empirical: bool = False
    ) -> Self:
        """Return the same curve with the time of each row before which no data were seen.

        A rule is evaluated once, when the time is first needed. An ``empirical`` curve knows of no
        events where none were seen: as many are taken to come before that time as in as long a time
        after it.
        """
        known = known_from if callable(known_from) else self._checked(known_from)
        return self._with(_known_from=known, _is_empirical=empirical)

    def given(self, elapsed: ArrayLike) -> Self:
        """Return the curve for questions about rows without an event until an elapsed time.

        Nothing is asked of the time before, so that `known_from` does not matter where it is not
        later.
        """
        if "_known_from" not in vars(self):
            return self
        now = np.broadcast_to(np.asarray(elapsed, dtype=np.float64), (len(self),))
        asked = now * (1.0 + _SAME_TIME) < self.known_from
        start = np.where(asked, self.known_from, self.lower)
        return self.with_start(start, empirical=vars(self)["_is_empirical"])

    @property
    def known_from(self) -> Floats:
        """Time of each row before which no data were seen, `lower` by default."""
        known = vars(self).get("_known_from")
        if known is None:
            return np.full(len(self), self.lower)
        if callable(known):
            known = self._checked(known(self))
            vars(self)["_known_from"] = known
        times: Floats = known
        return times

    @property
    def starts_late(self) -> NDArray[np.bool_]:
        """Rows of which no level counted from the start is identified, shape (n_samples,)."""
        # A curve of one level does not know its share, which is no reason to trust it.
        return np.asarray(~(self.unseen_share <= LARGEST_UNSEEN_SHARE))

    @property
    def unseen_share(self) -> Floats:
        """Share of the events of each row before `known_from`, shape (n_samples,)."""
        start = self.known_from
        if (start <= self.lower).all():
            return np.zeros(len(self))
        before = self.cdf(start)
        if vars(self).get("_is_empirical", False):
            with np.errstate(divide="ignore", invalid="ignore"):
                after = (self.cdf(2.0 * start) - before) / (1.0 - before)
            before = np.maximum(before, np.where(before < 1.0, after, 1.0))
        return np.where(start <= self.lower, 0.0, before)

    @property
    def reach(self) -> Floats:
        """Highest level of each row that the data identify, shape (n_samples,); 1 by default.

        0 where the data begin late (`starts_late`).
        """
        own = self._own_reach
        return np.where(self.starts_late, 0.0, own) if "_known_from" in vars(self) else own

    @property
    def _own_reach(self) -> Floats:
        """Highest level up to which rows were followed."""
        known = vars(self).get("_reach")
        if known is None:
            return np.ones(len(self))
        if callable(known):
            known = self._checked(known(self))
            vars(self)["_reach"] = known
        levels: Floats = known
        return levels

    @property
    def reach_is_lowest(self) -> bool:
        """Whether `reach` is the lowest such level: the data identify it and those above."""
        return bool(vars(self).get("_reach_is_lowest", False))

    def is_identified(self, levels: ArrayLike) -> NDArray[np.bool_]:
        """Whether the data identify levels, of shape (n_samples, k)."""
        wanted, reach = np.atleast_1d(np.asarray(levels, dtype=np.float64)), self.reach[:, None]
        if self.reach_is_lowest:
            return np.asarray(wanted >= reach - _LEVEL_ROUNDING)
        known = wanted <= reach + _LEVEL_ROUNDING
        if "_known_from" in vars(self):
            known &= ~self.starts_late[:, None]  # not even that nothing happens early
        return np.asarray(known)

    def identifies_all(self, levels: ArrayLike) -> bool:
        """Whether the data identify all levels of all rows."""
        wanted = np.atleast_1d(np.asarray(levels, dtype=np.float64))
        # For each row the level farthest out stands for all of them.
        if self.reach_is_lowest:
            return bool((wanted.min(axis=-1) >= self.reach - _LEVEL_ROUNDING).all())
        if "_known_from" in vars(self) and self.starts_late.any():
            return False
        return bool((wanted.max(axis=-1) <= self.reach + _LEVEL_ROUNDING).all())

    def conditional_levels(self, elapsed: ArrayLike, levels: ArrayLike) -> Floats:
        """Levels, from the start, of quantiles of the remaining time."""
        now = np.broadcast_to(np.asarray(elapsed, dtype=np.float64), (len(self),))[:, None]
        return self._conditional_levels(now, check_levels(levels))

    def __getstate__(self) -> dict[str, Any]:
        # A rule need not survive pickling; the values it gives do.
        known = {"_reach": self._own_reach} if "_reach" in vars(self) else {}
        if "_known_from" in vars(self):
            known["_known_from"] = self.known_from
        return {**vars(self), **known}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


def reach_until(curve: QuantileCurve, limit: ArrayLike, *, lowest: bool = False) -> Floats:
    """Level that each row's curve has at the time up to which rows like it were followed.

    A quantile is learned from individuals who were still under observation when it was reached, so
    a curve can be trusted up to the level of the last time at which there were some, and no
    further than its last fitted level.
    """
    last, end = np.asarray(limit, dtype=np.float64), curve.taus[0] if lowest else curve.taus[-1]
    if (last == (-np.inf if lowest else np.inf)).all():
        return np.full(len(last), end)
    if curve.is_whole:
        level = curve.cdf(last)
    else:  # nothing is known between the levels 0 and 1 but the one that was fitted
        known = last <= curve.values[:, 0] if lowest else last >= curve.values[:, 0]
        level = np.where(known, curve.taus[0], 1.0 if lowest else 0.0)
    return np.asarray(np.maximum(level, end) if lowest else np.minimum(level, end))


def _read_matrix(values: ArrayLike) -> Floats:
    """Return finite predictions as a float matrix; ValueError if they are none."""
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"values must have shape (n_samples, n_levels), got {matrix.shape}.")
    finite = np.isfinite(matrix)
    if not finite.all():
        rows = ~finite.all(axis=1)
        raise ValueError(
            f"values must be finite, got NaN or infinity in {rows.sum()} of {len(matrix)} rows, "
            f"first in row {int(np.argmax(rows))}."
        )
    return matrix


def _starts_below(values: Floats, lower: float) -> bool:
    """Whether some row of a matrix in order begins below the smallest possible time."""
    return values.size > 0 and bool(values[:, 0].min() < lower)


def _require_distribution(values: Floats, n_levels: int, lower: float) -> None:
    """Raise unless each row holds `n_levels` quantiles in order and above `lower`."""
    if values.shape[1] != n_levels:
        raise ValueError(
            f"values must have one column for each of the {n_levels} taus, "
            f"got {values.shape[1]} columns."
        )
    if not lower < np.inf:
        raise ValueError(f"lower must be a number or minus infinity, got {lower}.")
    if crossed(values):
        row = int(np.argmax(np.any(values[:, 1:] < values[:, :-1], axis=1)))
        raise ValueError(
            f"values must not decrease along a row, but row {row} does; "
            "use QuantileCurve.from_predictions to sort them."
        )
    if _starts_below(values, lower):
        raise ValueError(
            f"values must not be below lower={lower}, got a minimum of {values[:, 0].min()}; "
            "use QuantileCurve.from_predictions to clip them."
        )
