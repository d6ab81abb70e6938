"""A pool in a graph: answers of candidates, their tails, and the mixture of their distributions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from censquant._typing import Floats
from censquant.export._graph import Graph, Value, count_in_rows, count_in_table, mean_of
from censquant.export._graphs_curves import GraphCurve, GridCurve
from censquant.export._graphs_trees import followed_graph, reach_graph
from censquant.quantiles._grid import CURVE_QUANTILES

if TYPE_CHECKING:
    from censquant.estimators.ensemble._mixture import Mixture
    from censquant.estimators.ensemble._pool import Pool


LEVELS = np.array(CURVE_QUANTILES)
# Those of the kernels of the mixture.
ALMOST_ONE, MOST_STEPS = 1.0 - 1e-9, 30
# Relative to a time: far below what single precision shows.
_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class AnswerGraph:
    """See ``Answer``; the end's time and level have the shape (n, 1)."""

    values: Value
    end: tuple[Value, Value] | None


def pool_graph(pool: "Pool", x: Value) -> tuple[GraphCurve, Value]:
    """Return the pool's curves and their reach, in a graph."""
    transform, levels = pool.time_transform_, pool._pool_levels()
    answers = [
        answer_graph(name, models, x, mirror=transform.mirror)
        for name, models in pool.estimators_.items()
    ]
    values = mixture_graph(pool._mixture, answers, levels)
    if transform.mirror:
        values, levels = -values.reversed(), (1.0 - levels[::-1]).round(12)
    curve = GridCurve.of_predictions(values, levels, pool._lowest_time())
    followed = followed_graph(pool._follow_up, x, transform, pool.follow_up_)
    return curve, reach_graph(curve, followed, lowest=transform.mirror)


def answer_graph(name: str, models: Sequence[Any], x: Value, *, mirror: bool) -> AnswerGraph:
    """Return what ``ask`` does, in a graph; a candidate that cannot be exported is named."""
    reader = type(models[0])._mean_reader(models, LEVELS)
    if hasattr(reader, "graph_of"):  # networks side by side
        return AnswerGraph(reader.graph_of(x), None)
    try:
        parts = [_answer_of_one(model, x, mirror=mirror) for model in models]
    except TypeError as error:
        raise TypeError(
            f"The candidate {name!r} of the pool cannot be exported, so the pool cannot: {error}"
        ) from None
    ends = [part.end for part in parts if part.end is not None]
    end = None
    if ends:
        times, levels = zip(*ends, strict=True)
        end = (mean_of(times), mean_of(levels))
    return AnswerGraph(mean_of([part.values for part in parts]), end)


def _answer_of_one(model: Any, x: Value, *, mirror: bool) -> AnswerGraph:
    if hasattr(model, "_quantiles_and_end_graph"):
        return AnswerGraph(*model._quantiles_and_end_graph(x, LEVELS))
    curve, _ = model._curve_of_numbers(x)
    if mirror:
        return AnswerGraph(-curve.at(1.0 - LEVELS[::-1]).reversed(), None)
    return AnswerGraph(curve.at(LEVELS), None)


def mixture_graph(mixture: "Mixture", answers: Sequence[AnswerGraph], wanted: Floats) -> Value:
    """Return what ``Mixture.quantiles`` does, in a graph, up to the order of equal quantiles."""
    graph = answers[0].values.graph
    continued = _continued(mixture, answers)
    kept = np.flatnonzero(mixture.weights > 0)
    weights = mixture.weights[kept]
    bounds = mixture.bounds
    own = graph.concat([continued[k].reshape(1, len(LEVELS)) for k in kept], axis=-2)
    stacked = GridCurve(own, LEVELS, bounds.lower).limited(bounds.tail).values
    if bounds.low > -np.inf:
        stacked = stacked.maximum(bounds.low)
    return _Inversion(graph, stacked, weights, bounds.lower).quantiles(wanted)


def _continued(mixture: "Mixture", answers: Sequence[AnswerGraph]) -> list[Value]:
    """Return the quantiles of each candidate, continued where its data end."""
    values = [answer.values for answer in answers]
    if not mixture.reference.any():
        return values
    parts = [
        value * share for value, share in zip(values, mixture.reference, strict=True) if share > 0
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    reference = GridCurve(total, LEVELS, mixture.bounds.lower)
    ending = [place for place, answer in enumerate(answers) if answer.end is not None]
    tails = _tails([end for answer in answers if (end := answer.end) is not None], reference)
    for place, (tail, is_beyond) in zip(ending, tails, strict=True):
        values[place] = is_beyond.where(tail, values[place])
    return values


def _tails(ends: Sequence[tuple[Value, Value]], reference: GridCurve) -> list[tuple[Value, Value]]:
    """Return quantiles past the ends of several candidates, and which levels lie there."""
    if not ends:
        return []
    graph, n, m = reference.values.graph, len(ends), len(LEVELS)
    times, levels = (graph.concat(list(part)) for part in zip(*ends, strict=True))
    end = levels.minimum(ALMOST_ONE)
    alive = 1.0 - reference.levels_of(times)
    share = (alive / (1.0 - end)).reshape(n, 1)
    p = (1.0 - share * (1.0 - LEVELS)).clip(0.0, ALMOST_ONE).reshape(n * m)
    beyond = _quantile_of(reference, p).reshape(n, m).maximum(times.reshape(n, 1)).reshape(n * m)
    found = []
    for place in range(n):
        own = beyond.columns(np.arange(place * m, (place + 1) * m))
        found.append((own, end.columns([place]) < LEVELS))
    return found


def _quantile_of(curve: GridCurve, p: Value) -> Value:
    """Return the quantiles at levels that differ from row to row; see ``quantile_of``."""
    graph, values, last = p.graph, curve.values, len(LEVELS) - 1
    right = count_in_table(LEVELS, p, strictly=True).clip(1, last)
    left_value, right_value = values.take_along(right - 1), values.take_along(right)
    below, above = graph.lookup(LEVELS, right - 1), graph.lookup(LEVELS, right)
    inside = left_value + (right_value - left_value) * ((p - below) / (above - below))
    final, before = values.columns([last]), values.columns([last - 1])
    scale = (final - before) / np.log((1.0 - LEVELS[-2]) / (1.0 - LEVELS[-1]))
    tail = final + scale * ((1.0 - LEVELS[-1]) / (1.0 - p)).log()
    first = values.columns([0])
    start = first - curve.lower_reach() * (1.0 - p / LEVELS[0])
    inside = (p <= float(LEVELS[0])).where(start, inside)
    return (p >= float(LEVELS[-1])).where(tail, inside)


@dataclass(frozen=True, eq=False)
class _Inversion:
    """The mean of distribution functions and its inverse; see ``mixture_quantiles``.

    All quantiles of a row in order are the knots between which no candidate passes one of its own.
    The piece in which a wanted level is reached is found by a search; inside it the mean is a sum
    of straight lines and exponential tails, inverted by the rule of false position.

    ``values`` have the shape (n, candidates, levels).
    """

    graph: Graph
    values: Value
    weights: Floats
    lower: float

    def quantiles(self, wanted: Floats) -> Value:
        graph, n, m = self.graph, len(self.weights), len(LEVELS)
        curve, n_knots = GridCurve(self.values, LEVELS, self.lower), n * m
        knots, place = self.values.reshape(n_knots).sort()
        owner = graph.lookup(np.repeat(np.arange(n), m), place).reshape(1, n_knots)
        # How many of its quantiles each candidate has passed behind each knot.
        passed = owner.equals(np.arange(n)[:, None]).as_float().cumsum()
        pieces = _Pieces.of(curve)
        behind = pieces.at(passed.as_integer()).levels(knots.reshape(1, n_knots))
        behind = self._mean(behind).reshape(n_knots)
        found = count_in_rows(behind, graph.value(wanted), strictly=True)
        start = (self.values.columns([0]) - curve.lower_reach()).min(axis=-2).reshape(1)
        is_first = found.equals(0)
        before = (found - 1).maximum(0)
        low = is_first.where(start, knots.take_along(before))
        below = is_first.where(0.0, behind.take_along(before))
        high = knots.take_along(found.minimum(n_knots - 1))
        k = len(wanted)
        # The same places for every candidate.
        places = before.reshape(1, k) + graph.repeated(np.zeros((n, 1), np.int64), before)
        inner = is_first.reshape(1, k).where(0.0, passed.take_along(places)).as_integer()
        around = pieces.at(inner)
        above = self._mean(around.levels(high.reshape(1, k))).reshape(k)
        root = self._root(around, wanted, (low, below - wanted, high, above - wanted))
        value = (above < wanted).where(high, root)
        outside = curve.at(wanted).max(axis=-2).reshape(k)
        return found.equals(n_knots).where(outside, value)

    def _mean(self, levels: Value) -> Value:
        return (levels * self.weights[:, None]).sum(axis=-2)

    def _root(
        self, pieces: "_Pieces", wanted: Floats, ends: tuple[Value, Value, Value, Value]
    ) -> Value:
        """Return the times between two ends at which the mean level is the wanted one."""
        k = len(wanted)

        def is_open(low: Value, below: Value, high: Value, above: Value) -> Value:
            return (above > below) & (high - low > high.abs() * _TOLERANCE)

        def step(
            number: Value, low: Value, below: Value, high: Value, above: Value, side: Value
        ) -> list[Value]:
            going = is_open(low, below, high, above)
            slope = going.where(above - below, 1.0)
            middle = high - above * (high - low) / slope
            excess = self._mean(pieces.levels(middle.reshape(1, k))).reshape(k) - wanted
            late, early = going & (excess > 0.0), going & (excess < 0.0)
            met = going & excess.equals(0.0)
            half_below = late & side.equals(1.0)
            half_above = early & side.equals(-1.0)
            new_low = (early | met).where(middle, low)
            new_high = (late | met).where(middle, high)
            new_below = early.where(excess, half_below.where(below * 0.5, below))
            new_above = late.where(excess, half_above.where(above * 0.5, above))
            new_side = late.where(1.0, early.where(-1.0, side))
            return [new_low, new_below, new_high, new_above, new_side]

        def going(low: Value, below: Value, high: Value, above: Value, side: Value) -> Value:
            return is_open(low, below, high, above)

        side = self.graph.repeated(np.zeros(k), ends[0])
        low, below, high, above, _ = self.graph.loop(MOST_STEPS, [*ends, side], step, going=going)
        return (above <= -below).where(high, low)


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Pieces of each candidate's distribution function: those behind 0, 1, ... quantiles, or some.

    All but the last are straight; what the last one, a tail, has left decays from ``rest``. Shapes
    are (n, candidates, k).
    """

    base: Value
    slope: Value
    anchor: Value
    rest: Value
    is_tail: Value | None = None

    @classmethod
    def of(cls, curve: GridCurve) -> "_Pieces":
        """Return all pieces."""
        graph, values, last = curve.values.graph, curve.values, len(LEVELS) - 1
        left, first = values.columns(np.arange(last)), values.columns([0])
        gap = values.columns(np.arange(1, last + 1)) - left
        wide, final = gap > 0.0, gap.columns([last - 1])
        slope = wide.where(np.diff(LEVELS) / wide.where(gap, 1.0), 0.0)
        reach = curve.lower_reach()
        starts, decays = reach > 0.0, final > 0.0
        rise = starts.where(float(LEVELS[0]) / starts.where(reach, 1.0), 0.0)
        hazard = float(np.log((1.0 - LEVELS[-2]) / (1.0 - LEVELS[-1])))
        rate = decays.where(hazard / decays.where(final, 1.0), 0.0)
        rest = decays.where(1.0 - float(LEVELS[-1]), 0.0)
        lowest = starts.where(float(LEVELS[0]), 0.0)
        base = wide.where(LEVELS[:-1], LEVELS[1:])
        return cls(
            graph.concat([lowest, base, 1.0 - rest]),
            graph.concat([rise, slope, rate]),
            graph.concat([first, left, values.columns([last])]),
            rest,
        )

    def at(self, passed: Value) -> "_Pieces":
        """Return the pieces behind some numbers of quantiles."""
        base, slope, anchor = (
            part.take_along(passed) for part in (self.base, self.slope, self.anchor)
        )
        return _Pieces(base, slope, anchor, self.rest, passed.equals(len(LEVELS)))

    def levels(self, times: Value) -> Value:
        """Return the levels of times of shape (n, 1, k)."""
        assert self.is_tail is not None
        distance = (times - self.anchor) * self.slope
        tail = 1.0 - (-distance).exp() * self.rest
        return self.is_tail.where(tail, (self.base + distance).maximum(0.0))
