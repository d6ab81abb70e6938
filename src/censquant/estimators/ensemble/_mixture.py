"""The mixture of several distributions per individual: their mean, with tails that agree."""

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from censquant._compile import exact, exact_part
from censquant._typing import Floats
from censquant.estimators._reading import MeanReader
from censquant.quantiles._distribution_curve import TailLimit
from censquant.quantiles._grid import CURVE_QUANTILES

LEVELS: Floats = np.array(CURVE_QUANTILES)
"""Levels at which candidates are predicted and pooled."""

ALMOST_ONE = 1.0 - 1e-9
_LARGEST_HAZARD = 50.0
_ROUNDING = 1e-12  # of times that are the same, relative
# Of steps of Newton's method: the error of its next result is far smaller than the step.
_MOST_STEPS, _TOLERANCE = 1_000, 1e-9


class Prediction(NamedTuple):
    """Quantiles of rows at ``LEVELS``, in the units of a right-censored time.

    ``end`` holds a time and a level per row past which a candidate has no data of its own; it is
    None if the candidate extrapolates by itself.
    """

    values: NDArray[Any]
    end: tuple[Floats, Floats] | None


def predict_mean(models: Sequence[Any], x: NDArray[Any]) -> Prediction:
    """Return the mean of the models' quantiles for checked features."""
    return Prediction(*_mean_reader(models)(x))


def _mean_reader(models: Sequence[Any]) -> MeanReader:
    reader: MeanReader = type(models[0])._mean_reader(models, LEVELS)
    return reader


class Members:
    """The fitted models of an ensemble by the names of its candidates, made ready for questions."""

    def __init__(self, estimators: Mapping[str, Sequence[Any]]) -> None:
        self._models = [model for models in estimators.values() for model in models]
        self._readers = [_mean_reader(models) for models in estimators.values()]

    def are(self, estimators: Mapping[str, Sequence[Any]]) -> bool:
        """Whether the models are still those of an ensemble, whose attribute may be changed."""
        models = [model for models in estimators.values() for model in models]
        return len(models) == len(self._models) and all(map(operator.is_, models, self._models))

    def predictions(self, x: NDArray[Any]) -> list[Prediction]:
        """Return what each candidate predicts for checked features."""
        return [Prediction(*read(x)) for read in self._readers]


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
        reference = (self.reference @ values.reshape(len(values), -1)).reshape(values.shape[1:])
        for own, prediction in zip(values, predictions, strict=True):
            if prediction.end is not None:
                _continue_tails(own, *prediction.end, reference, LEVELS, self.bounds.lower)
        return values

    def quantiles(self, predictions: Sequence[Prediction], wanted: NDArray[Any]) -> Floats:
        """Return the quantiles of the pool at increasing levels, shape (n, len(wanted))."""
        return self.inverted(self.continue_tails(predictions), wanted)

    def inverted(self, values: Floats, wanted: NDArray[Any]) -> Floats:
        """Return what :meth:`quantiles` does from what :meth:`continue_tails` returned."""
        kept, bounds = self.weights > 0, self.bounds
        weights = self.weights
        if not kept.all():
            values, weights = values[kept], weights[kept]
        rows = values.reshape(-1, len(LEVELS))
        bounds.tail.limit_rows(rows, LEVELS, bounds.lower)
        if bounds.low > -np.inf:
            np.maximum(values, bounds.low, out=values)
        out = np.empty((values.shape[1], len(wanted)))
        mixture_quantiles(values, weights, LEVELS, bounds.lower, wanted, out)
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
        # The mean quantiles of several models may be later than the mean of the models' ends.
        start = end_time[i]
        for j in range(n):
            if levels[j] > end:
                p = 1.0 - (1.0 - levels[j]) / (1.0 - end) * (1.0 - passed)
                p = min(max(p, 0.0), ALMOST_ONE)
                values[i, j] = max(quantile_of(reference[i], levels, lower, p), start)
            else:
                start = max(start, values[i, j])


@exact
def survival_on_grid(values: Any, levels: Any, lower: float, grid: Any, out: Any) -> None:
    """Write the survival function of each row at common times."""
    for i in range(values.shape[0]):
        for g in range(len(grid)):
            out[i, g] = 1.0 - level_of(values[i], levels, lower, grid[g])


@exact
def levels_at(values: Any, levels: Any, lower: float, times: Any, out: Any) -> None:
    """Write the distribution function of each row at times of its own."""
    for i in range(values.shape[0]):
        for k in range(times.shape[1]):
            out[i, k] = level_of(values[i], levels, lower, times[i, k])


@exact_part
def _write_pieces(row: Any, levels: Any, lower: float, knots: Any, slopes: Any) -> None:
    """Write where the pieces of a distribution function begin, and how steep each is.

    Before the first knot, its start, it is 0. After the last one it is an exponential tail, whose
    rate is the last slope: infinite where all of the tail sits at that point.
    """
    n = len(levels)
    reach = _lower_reach(row, levels, lower)
    knots[0], slopes[0] = row[0], 0.0
    if reach > 0.0:
        knots[0] = row[0] - reach
    slopes[1] = levels[0] / reach if reach > 0.0 else 0.0
    knots[1] = row[0]
    for j in range(1, n):
        gap = row[j] - row[j - 1]
        knots[j + 1] = row[j]
        slopes[j + 1] = (levels[j] - levels[j - 1]) / gap if gap > 0.0 else 0.0
    gap = row[n - 1] - row[n - 2]
    rate = math.log((1.0 - levels[n - 2]) / (1.0 - levels[n - 1]))
    slopes[n + 1] = rate / gap if gap > 0.0 else np.inf


@exact_part
def _mean_at(t: float, upto: float, knots: Any, slopes: Any, heights: Any, weights: Any) -> Any:
    """Return the mean level at a time, where the knots up to a time are passed, and the slope.

    Then where this piece begins and ends, and whether it is straight. ``heights`` are the levels of
    the knots. The other time is the same one, or the one just before it if what comes before a jump
    is wanted.
    """
    last = len(heights) - 1
    level, slope, begin, end, is_straight = 0.0, 0.0, -np.inf, np.inf, True
    for c in range(len(weights)):
        n = 0
        for j in range(last + 1):  # all of them: a search would wait for each comparison
            n += knots[c, j] <= upto
        if n <= last:
            end = min(end, knots[c, n])
        if n == 0:
            continue
        begin = max(begin, knots[c, n - 1])
        steep = slopes[c, n]
        if n <= last:
            level += weights[c] * (heights[n - 1] + steep * (t - knots[c, n - 1]))
            slope += weights[c] * steep
        elif steep == np.inf:
            level += weights[c]
        else:
            hazard = min(steep * (t - knots[c, last]), _LARGEST_HAZARD)
            rest = (1.0 - heights[last]) * math.exp(-hazard)
            level += weights[c] * (1.0 - rest)
            slope += weights[c] * steep * rest
            is_straight = False
    return level, slope, begin, end, is_straight


@exact_part
def _advance(
    goal: float,
    guess: float,
    final: float,
    place: Any,
    knots: Any,
    slopes: Any,
    heights: Any,
    weights: Any,
) -> Any:
    """Return the first time from a place on at which the mean level is ``goal``, as a place.

    A place is a time, the level just after it, the slope and the end of the piece that follows, and
    whether this is straight. The level just after the ``final`` time is at least the goal. The
    guess is where to look if it is not in the first piece.
    """
    t, level, slope, end, is_straight = place
    if level >= goal:
        return place
    low, high, begin = t, final, t  # the wanted time lies in between, and a piece begins at ``low``
    for _ in range(_MOST_STEPS):
        if level < goal:
            found = t + (goal - level) / slope if slope > 0.0 else np.inf
            if found <= end:
                if is_straight or found - t <= _TOLERANCE * abs(found):
                    # The next piece begins at its end.
                    if found < end:
                        return found, goal, slope, end, is_straight
                    t = found
                    break
                t = found
            else:
                low = end
                if low >= high:
                    t = high
                    break
                t = guess if low < guess < high else found if found < high else 0.5 * (low + high)
                guess = np.inf
        else:
            found = t - (level - goal) / slope if slope > 0.0 else -np.inf
            # Where the piece begins, the level may have been the same long before.
            is_inside = found > begin + _ROUNDING * abs(begin)
            if is_inside and (is_straight or t - found <= _TOLERANCE * abs(t)):
                return found, goal, slope, end, is_straight
            if is_inside:
                t = found  # below the wanted time, since the piece is concave
            elif not is_straight and t > begin >= low:
                t = begin
            else:
                # Not after the beginning of this piece: is it a jump there, or before?
                high = begin
                if high <= low:
                    t = low
                    break
                level, slope, begin, _, is_straight = _mean_at(
                    high, np.nextafter(high, -np.inf), knots, slopes, heights, weights
                )
                if level < goal:
                    t = high
                    break
                found = high - (level - goal) / slope if slope > 0.0 else -np.inf
                if found >= begin and is_straight:
                    t = found
                    break
                t = found if found > low else 0.5 * (low + high)
        level, slope, begin, end, is_straight = _mean_at(t, t, knots, slopes, heights, weights)
    level, slope, begin, end, is_straight = _mean_at(t, t, knots, slopes, heights, weights)
    return t, level, slope, end, is_straight


@exact
def mixture_quantiles(
    values: Any, weights: Any, levels: Any, lower: float, wanted: Any, out: Any
) -> None:
    """Write the quantiles of the weighted mean of the candidates' distribution functions.

    The mean is a line between any two neighbours among all quantiles of a row, up to the first time
    at which a candidate is in its exponential tail; from there on it is concave in between. So
    Newton's method ends in the first straight piece that it meets the level in, and approaches it
    from below in others. A jump of a candidate stays a jump.
    """
    n_candidates, n_rows, n_levels = values.shape
    knots = np.empty((n_candidates, n_levels + 1))
    slopes = np.empty((n_candidates, n_levels + 2))
    rights, shares = np.empty(len(wanted), np.int64), np.empty(len(wanted))
    for place in range(len(wanted)):
        right = 1
        while right < n_levels - 1 and levels[right] < wanted[place]:
            right += 1
        share = (wanted[place] - levels[right - 1]) / (levels[right] - levels[right - 1])
        rights[place], shares[place] = right, min(max(share, 0.0), 1.0)
    heights = np.zeros(n_levels + 1)
    for j in range(n_levels):
        heights[j + 1] = levels[j]
    for i in range(n_rows):
        first, final = np.inf, -np.inf
        for c in range(n_candidates):
            _write_pieces(values[c, i], levels, lower, knots[c], slopes[c])
            first = min(first, knots[c, 0])
            place = n_levels
            while place > 0 and knots[c, place] == np.inf:
                place -= 1
            final = max(final, knots[c, place])
        highest, _, _, _, _ = _mean_at(final, final, knots, slopes, heights, weights)
        t = first
        level, slope, _, end, is_straight = _mean_at(t, t, knots, slopes, heights, weights)
        near = t
        for place in range(len(wanted)):
            goal = wanted[place]
            if goal > highest:  # above all candidates' grids
                for c in range(n_candidates):
                    own = quantile_of(values[c, i], levels, lower, goal)
                    t = own if own > t else t  # not of infinite quantiles, which is no number
                out[i, place] = t
                continue
            # The mean of the candidates' quantiles moves nearly as the quantile of their mean does.
            before, near, right = near, 0.0, rights[place]
            for c in range(n_candidates):
                left_value, right_value = values[c, i, right - 1], values[c, i, right]
                near += weights[c] * (left_value + shares[place] * (right_value - left_value))
            t, level, slope, end, is_straight = _advance(
                goal,
                t + (near - before),
                final,
                (t, level, slope, end, is_straight),
                knots,
                slopes,
                heights,
                weights,
            )
            out[i, place] = t
