"""Survival curves at common times, and the quantiles and distributions read from them."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from censquant._typing import Floats
from censquant._validation import check_choice
from censquant.quantiles._grid import check_levels
from censquant.survival._columns import read_numbers

Shape = Literal["linear", "step"]

# A curve is a running product or sum: it may miss a level that it reaches by a few last places.
_ROUNDING = 1e-10
# A curve that has not fallen at all by its last time leaves no hazard to continue with; this is
# the smallest probability of an event by then that is assumed.
_LEAST_INCIDENCE = 1e-3


def quantiles_from_survival(
    times: ArrayLike,
    survival: ArrayLike,
    quantiles: ArrayLike,
    *,
    beyond: str,
    shape: Shape = "linear",
) -> Floats:
    """Quantiles of the distributions whose survival curves are known at common times.

    The quantile of level tau is the smallest t with S(t) <= 1 - tau. With ``shape="step"`` the
    curve falls at the given times only, which is the textbook inverse of a Kaplan-Meier curve.
    With ``shape="linear"`` it is a straight line between them: networks and boosters give S on a
    grid of some fifty times, where a step would move every quantile up by half a cell. Where the
    times are those of the events, the two differ by less than the gap between neighbours. A curve
    that is below 1 at its first time has a point mass there.

    A curve that rises somewhere is sorted first: as with crossed quantiles, sorting never moves it
    away from the true one. Above the level of the last time nothing is known. A method that is
    asked for a number there has to give one, and ``beyond="last"`` gives the last time, which is
    too low; how often that happens is a property of the follow-up and not of the method.

    Parameters
    ----------
    times : array-like of shape (n_times,)
        Finite and strictly increasing times.
    survival : array-like of shape (n_samples, n_times)
        P(T > t) of each row at these times; what rounding pushed out of [0, 1] is moved back.
    quantiles : array-like of shape (k,) or float, inside (0, 1)
        Levels in any order.
    beyond : {"last", "inf", "nan"}
        What is returned at levels that a curve never reaches: its last time, infinity or NaN.
    shape : {"linear", "step"}, default="linear"
        The curve between two times.

    Returns
    -------
    values : ndarray of shape (n_samples, k)
        Not decreasing in the level.

    Examples
    --------
    >>> from censquant.adapters import quantiles_from_survival
    >>> curve = [[1.0, 0.6, 0.4]]
    >>> quantiles_from_survival([0, 2, 4], curve, [0.2, 0.5, 0.9], beyond="last")
    array([[1., 3., 4.]])
    >>> quantiles_from_survival([0, 2, 4], curve, [0.2, 0.5, 0.9], beyond="last", shape="step")
    array([[2., 4., 4.]])
    """
    grid, curves = read_curves(times, survival)
    check_choice("beyond", beyond, ("last", "inf", "nan"))
    check_choice("shape", shape, ("linear", "step"))
    left = 1.0 - check_levels(quantiles, name="quantiles")
    values, reached = inverted(grid, curves, left, shape)
    return np.where(reached, values, {"last": grid[-1], "inf": np.inf, "nan": np.nan}[beyond])


def read_curves(times: ArrayLike, survival: ArrayLike) -> tuple[Floats, Floats]:
    """Return increasing times and curves that fall within [0, 1], or raise one sentence."""
    grid = read_numbers(times, name="times")
    # Written so that a NaN is wrong.
    if grid.size == 0 or not (np.isfinite(grid).all() and (np.diff(grid) > 0).all()):
        raise ValueError(
            "times must be one or more finite numbers in strictly increasing order, "
            f"got {grid.size} that are not: sort them and drop repeated ones."
        )
    curves = np.clip(np.asarray(survival, dtype=np.float64), 0.0, 1.0)
    if curves.ndim != 2 or curves.shape[1] != grid.size:
        raise ValueError(
            f"survival must have shape (n_samples, {grid.size}), one column for each of times, "
            f"got {curves.shape}."
        )
    if np.isnan(curves).any():
        raise ValueError(
            f"survival must hold probabilities, got NaN in {np.isnan(curves).any(axis=1).sum()} "
            f"of {len(curves)} rows."
        )
    if not (np.diff(curves, axis=1) <= 0).all():
        curves = -np.sort(-curves, axis=1)
    return grid, curves


def inverted(
    grid: Floats, curves: Floats, left: Floats, shape: Shape
) -> tuple[Floats, NDArray[np.bool_]]:
    """First time at which each falling curve is at or below each share, and whether there is one.

    Where there is none the time is the last one.
    """
    place = np.array([np.searchsorted(-row, -left - _ROUNDING) for row in curves], dtype=np.intp)
    place = place.reshape(len(curves), left.size)
    after = np.minimum(place, grid.size - 1)
    if shape == "step":
        return grid[after], place < grid.size
    before = np.maximum(after - 1, 0)
    high = np.take_along_axis(curves, before, axis=1)
    low = np.take_along_axis(curves, after, axis=1)
    drop = high - low
    # Where nothing drops, the first time of the curve is the answer, and the share does not matter.
    share = np.divide(high - left, drop, out=np.zeros_like(drop), where=drop > 0)
    values = grid[before] + np.clip(share, 0.0, 1.0) * (grid[after] - grid[before])
    reached = place < grid.size
    return np.where(reached, values, grid[-1]), reached


@dataclass(frozen=True, eq=False)
class SurvivalCurves:
    """One distribution per row, known by P(T > t) at common times.

    Between the times the curve is a step or a line, see `quantiles_from_survival`. Durations start
    at 0, where a linear curve begins with 1. Past the last time the mean hazard up to there
    continues: an extrapolation that keeps the order of the rows, and that the reach marks.
    """

    times: Floats
    survival: Floats
    shape: Shape

    @classmethod
    def read(cls, times: ArrayLike, survival: ArrayLike, shape: Shape) -> "SurvivalCurves":
        """Curves of checked times and probabilities."""
        grid, curves = read_curves(times, survival)
        if shape == "linear" and grid[0] > 0:
            grid = np.concatenate(([0.0], grid))
            curves = np.concatenate((np.ones((len(curves), 1)), curves), axis=1)
        return cls(grid, curves, shape)

    @property
    def reach(self) -> Floats:
        """Level of each row that its curve comes down to by the last time."""
        return 1.0 - self.survival[:, -1]

    def quantiles(self, levels: Floats) -> Floats:
        """Quantiles at levels inside (0, 1), shape (n, k); beyond the reach extrapolated."""
        values, reached = inverted(self.times, self.survival, 1.0 - levels, self.shape)
        if reached.all():
            return values
        # The maximum matters to levels that are reached only: it keeps their logarithm finite.
        excess = np.log(np.maximum(self._last[:, None], 1.0 - levels) / (1.0 - levels))
        return np.where(reached, values, self.times[-1] + excess / self._rate[:, None])

    def at(self, times: Floats) -> Floats:
        """Survival probabilities at common times, shape (n, n_times)."""
        inside = np.minimum(times, self.times[-1])
        place = np.searchsorted(self.times, inside, side="right")
        known = np.concatenate((np.ones((len(self.survival), 1)), self.survival), axis=1)
        found = known[:, place]
        if self.shape == "linear":
            following = np.minimum(place, self.times.size - 1)
            start = np.maximum(place - 1, 0)
            gap = self.times[following] - self.times[start]
            share = np.divide(
                inside - self.times[start], gap, out=np.zeros_like(gap), where=gap > 0
            )
            end = self.survival[:, following]
            found = np.where(place > 0, found + np.clip(share, 0.0, 1.0) * (end - found), found)
        late = np.maximum(times - self.times[-1], 0.0)
        # Where nobody survives the last time the rate is infinite.
        with np.errstate(invalid="ignore"):
            tail = np.exp(-self._rate[:, None] * late)
        return np.where(late > 0, found * tail, found)

    def restricted_mean(self, horizon: float) -> Floats:
        """Mean time up to a finite horizon: the area under the curve."""
        start = min(0.0, float(self.times[0]))
        if horizon <= start:
            return np.full(len(self.survival), horizon)
        knots = np.minimum(np.concatenate(([start], self.times)), horizon)
        if self.shape == "step":
            heights = np.concatenate((np.ones((len(self.survival), 1)), self.survival), axis=1)
            area = heights[:, :-1] @ np.diff(knots)
        else:
            area = np.trapezoid(self.at(knots), knots, axis=1)
        late = max(horizon - float(self.times[-1]), 0.0)
        with np.errstate(invalid="ignore"):
            tail = -np.expm1(-self._rate * late) * self._last / self._rate
        return np.asarray(start + area + np.where(self._last > 0, tail, 0.0))

    @property
    def _last(self) -> Floats:
        """Survival probability of each row at the last time."""
        return self.survival[:, -1]

    @property
    def _rate(self) -> Floats:
        """Mean hazard of each row up to the last time; infinite where nobody survives it."""
        first, last = float(self.times[0]), float(self.times[-1])
        span = last if first >= 0 and last > 0 else last - first
        with np.errstate(divide="ignore"):
            hazard = -np.log(np.minimum(self._last, 1.0 - _LEAST_INCIDENCE))
        # A single time at or before 0 has no span to take a mean over: any unit does.
        return np.asarray(hazard / (span or 1.0))
