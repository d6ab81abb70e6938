"""The mixture of several distributions per individual: their mean, with tails that agree."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from censquant._compile import exact, exact_part
from censquant._typing import Floats
from censquant.quantiles._distribution_curve import TailLimit
from censquant.quantiles._grid import CURVE_QUANTILES

LEVELS: Floats = np.array(CURVE_QUANTILES)
"""Levels at which candidates are predicted and pooled."""

ALMOST_ONE = 1.0 - 1e-9
_LARGEST_HAZARD = 50.0
MOST_STEPS, _TOLERANCE = 30, 1e-12


class Prediction(NamedTuple):
    """Quantiles of rows at ``LEVELS``, in the units of a right-censored time.

    ``end`` holds a time and a level per row past which a candidate has no data of its own; it is
    None if the candidate extrapolates by itself.
    """

    values: NDArray[Any]
    end: tuple[Floats, Floats] | None


def predict_mean(models: list[Any], x: NDArray[Any]) -> Prediction:
    """Return the mean of the models' quantiles for checked features."""
    parts = [Prediction(*model._predict_checked(x, LEVELS)) for model in models]
    if len(parts) == 1:
        return parts[0]
    ends = [part.end for part in parts if part.end is not None]
    end = None
    if ends:
        times, levels = zip(*ends, strict=True)
        end = (np.mean(times, axis=0), np.mean(levels, axis=0))
    return Prediction(np.mean([part.values for part in parts], axis=0), end)


@dataclass(frozen=True)
class Bounds:
    """Times that limit quantiles."""

    lower: float  # smallest possible time
    low: float  # no candidate may go below it: on this side all events were observed
    tail: TailLimit  # what quantiles after the last observed time may be


@dataclass(frozen=True, eq=False)
class Mixture:
    """Makes one distribution per individual of the predictions of several candidates."""

    weights: Floats
    # Weights of the candidates whose mean continues the others past the end of their data; 0 for
    # candidates that end themselves.
    reference: Floats
    bounds: Bounds

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which candidates are needed for predictions."""
        return (self.weights > 0) | (self.reference > 0)

    def continue_tails(self, predictions: Sequence[Prediction]) -> Floats:
        """Return quantiles of shape (k, n, levels), continued where a candidate's data end."""
        values = np.stack([prediction.values for prediction in predictions])
        if not self.reference.any():
            return values
        reference = np.tensordot(self.reference, values, axes=1)
        for own, prediction in zip(values, predictions, strict=True):
            if prediction.end is not None:
                _continue_tails(own, *prediction.end, reference, LEVELS, self.bounds.lower)
        return values

    def quantiles(self, predictions: Sequence[Prediction], wanted: NDArray[Any]) -> Floats:
        """Return the quantiles of the pool at increasing levels, shape (n, len(wanted))."""
        kept = self.weights > 0
        values = np.ascontiguousarray(self.continue_tails(predictions)[kept])
        weights, bounds = self.weights[kept], self.bounds
        for place in range(len(values)):
            values[place] = bounds.tail.limited_grid(values[place], LEVELS, bounds.lower)
        np.maximum(values, bounds.low, out=values)
        out = np.empty((values.shape[1], len(wanted)))
        passed = np.empty(len(values), dtype=np.intp)
        mixture_quantiles(values, weights, LEVELS, bounds.lower, wanted, passed, out)
        return out

    def among(self, kept: NDArray[np.bool_]) -> "Mixture":
        """Return the mixture of some of the candidates, the only ones with a weight."""
        return Mixture(self.weights[kept], self.reference[kept], self.bounds)


# Compiled arithmetic on rows of quantiles


@exact_part
def _lower_reach(row: Any, levels: Any, lower: float) -> Any:
    """Return how far below its first quantile a distribution starts."""
    return min((row[1] - row[0]) * levels[0] / (levels[1] - levels[0]), row[0] - lower)


@exact_part
def _piece_level(row: Any, levels: Any, lower: float, n_passed: int, t: float) -> Any:
    """Return F(t) where the number of quantiles at or below t is known."""
    n = len(levels)
    if n_passed == 0:
        reach = _lower_reach(row, levels, lower)
        return levels[0] * max(0.0, 1.0 - (row[0] - t) / reach) if reach > 0.0 else 0.0
    if n_passed == n:
        gap = row[n - 1] - row[n - 2]
        if gap <= 0.0:
            return 1.0
        rate = math.log((1.0 - levels[n - 2]) / (1.0 - levels[n - 1])) / gap
        hazard = min(rate * (t - row[n - 1]), _LARGEST_HAZARD)
        return 1.0 - (1.0 - levels[n - 1]) * math.exp(-hazard)
    gap = row[n_passed] - row[n_passed - 1]
    if gap <= 0.0:
        return levels[n_passed]
    below = levels[n_passed - 1]
    return below + (levels[n_passed] - below) * (t - row[n_passed - 1]) / gap


@exact_part
def level_of(row: Any, levels: Any, lower: float, t: float) -> Any:
    """Return F(t) of the distribution that quantiles on a grid imply.

    The rules are those of QuantileCurve: linear between quantiles, the first segment prolonged to
    level 0 but not below ``lower``, an exponential tail.
    """
    low, high = 0, len(levels)
    while low < high:
        middle = (low + high) // 2
        if row[middle] <= t:
            low = middle + 1
        else:
            high = middle
    return _piece_level(row, levels, lower, low, t)


@exact_part
def quantile_of(row: Any, levels: Any, lower: float, p: float) -> Any:
    """Return the quantile at any level of the distribution that quantiles on a grid imply."""
    n = len(levels)
    if p >= levels[n - 1]:
        gap = row[n - 1] - row[n - 2]
        scale = gap / math.log((1.0 - levels[n - 2]) / (1.0 - levels[n - 1]))
        return row[n - 1] + scale * math.log((1.0 - levels[n - 1]) / (1.0 - p))
    if p <= levels[0]:
        reach = _lower_reach(row, levels, lower)
        return row[0] - reach * (1.0 - p / levels[0])
    right = 1
    while levels[right] < p:
        right += 1
    share = (p - levels[right - 1]) / (levels[right] - levels[right - 1])
    return row[right - 1] + (row[right] - row[right - 1]) * share


@exact
def _continue_tails(
    values: Any, end_time: Any, end_level: Any, reference: Any, levels: Any, lower: float
) -> None:
    """Replace quantiles above the end of a curve by those of a reference, given survival to it."""
    n_rows, n = values.shape
    for i in range(n_rows):
        end = min(end_level[i], ALMOST_ONE)
        if levels[n - 1] <= end:
            continue
        passed = level_of(reference[i], levels, lower, end_time[i])
        for j in range(n):
            if levels[j] > end:
                p = 1.0 - (1.0 - levels[j]) / (1.0 - end) * (1.0 - passed)
                p = min(max(p, 0.0), ALMOST_ONE)
                values[i, j] = max(quantile_of(reference[i], levels, lower, p), end_time[i])


@exact
def survival_on_grid(values: Any, levels: Any, lower: float, grid: Any, out: Any) -> None:
    """Write the survival function of each row at common times."""
    for i in range(values.shape[0]):
        for g in range(len(grid)):
            out[i, g] = 1.0 - level_of(values[i], levels, lower, grid[g])


@exact_part
def _mean_level(
    values: Any, i: int, weights: Any, levels: Any, lower: float, passed: Any, t: float
) -> Any:
    """Return the mean of the candidates' levels of one row at a time."""
    total = 0.0
    for c in range(values.shape[0]):
        total += weights[c] * _piece_level(values[c, i], levels, lower, passed[c], t)
    return total


@exact_part
def _root(
    values: Any,
    i: int,
    weights: Any,
    levels: Any,
    lower: float,
    passed: Any,
    wanted: float,
    low: float,
    below: float,
    high: float,
    above: float,
) -> Any:
    """Return the time between two knots at which the mean level is the wanted one.

    The Illinois variant of the rule of false position: a few steps where bisection takes forty.
    """
    below, above = below - wanted, above - wanted
    side = 0
    for _ in range(MOST_STEPS):
        if above == below or high - low <= _TOLERANCE * abs(high):
            break
        middle = high - above * (high - low) / (above - below)
        excess = _mean_level(values, i, weights, levels, lower, passed, middle) - wanted
        if excess > 0.0:
            high, above = middle, excess
            below = 0.5 * below if side == 1 else below
            side = 1
        elif excess < 0.0:
            low, below = middle, excess
            above = 0.5 * above if side == -1 else above
            side = -1
        else:
            return middle
    return high if above <= -below else low


@exact
def mixture_quantiles(
    values: Any, weights: Any, levels: Any, lower: float, wanted: Any, passed: Any, out: Any
) -> None:
    """Write the quantiles of the weighted mean of the candidates' distribution functions.

    Between any two neighbours among all quantiles of a row the mean is linear, so it is inverted
    without a search, up to the first time at which a candidate is in its exponential tail. A jump
    of a candidate stays a jump. ``passed`` is room for the number of quantiles that each candidate
    has up to a time.
    """
    n_candidates, n_rows, n_levels = values.shape
    for i in range(n_rows):
        start = np.inf
        for c in range(n_candidates):
            passed[c] = 0
            start = min(start, values[c, i, 0] - _lower_reach(values[c, i], levels, lower))
        before_time, before, place = start, 0.0, 0
        is_straight = True
        while place < len(wanted):
            t = np.inf
            for c in range(n_candidates):
                if passed[c] < n_levels:
                    t = min(t, values[c, i, passed[c]])
            if t == np.inf:
                break
            # A candidate that starts in between bends the mean.
            bends = not is_straight
            for c in range(n_candidates):
                if passed[c] == 0:
                    first = values[c, i, 0] - _lower_reach(values[c, i], levels, lower)
                    bends = bends or before_time < first < t
            # The pieces that end at t, before any of their quantiles is passed.
            left = _mean_level(values, i, weights, levels, lower, passed, t)
            while place < len(wanted) and wanted[place] <= left:
                if not bends:
                    share = (wanted[place] - before) / (left - before) if left > before else 1.0
                    share = min(max(share, 0.0), 1.0)
                    out[i, place] = before_time + (t - before_time) * share
                else:
                    out[i, place] = _root(
                        values,
                        i,
                        weights,
                        levels,
                        lower,
                        passed,
                        wanted[place],
                        before_time,
                        before,
                        t,
                        left,
                    )
                place += 1
            right, jumps = left, False
            for c in range(n_candidates):
                first = passed[c]
                while passed[c] < n_levels and values[c, i, passed[c]] <= t:
                    passed[c] += 1
                if passed[c] == n_levels:
                    is_straight = False
                if passed[c] > first + 1 or (first == 0 and passed[c] == 1):
                    jumps = True
            if jumps:
                right = _mean_level(values, i, weights, levels, lower, passed, t)
            while place < len(wanted) and wanted[place] <= right:
                out[i, place] = t
                place += 1
            before_time, before = t, right
        while place < len(wanted):  # levels above those of all candidates' grids
            highest = -np.inf
            for c in range(n_candidates):
                highest = max(highest, quantile_of(values[c, i], levels, lower, wanted[place]))
            out[i, place] = highest
            place += 1
        for j in range(1, len(wanted)):  # two roots of one piece may differ by rounding
            out[i, j] = max(out[i, j], out[i, j - 1])
