"""Survival curves turned into quantiles."""

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
