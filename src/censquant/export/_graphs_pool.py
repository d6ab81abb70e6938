"""A pool in a graph: answers of candidates, their tails, and the mixture of their distributions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from censquant._typing import Floats
from censquant.export._graph import (
    Graph,
    Value,
    count_in_rows,
    count_in_table,
    known_length,
    mean_of,
)
from censquant.export._graphs_curves import GraphCurve, GridCurve
from censquant.export._graphs_networks import shapes_graph
from censquant.export._graphs_trees import begun_graph, followed_graph, reach_graph
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
    answers = _answers(pool, x)
    values = mixture_graph(pool._mixture, answers, levels)
    if transform.mirror:
        values, levels = -values.reversed(), (1.0 - levels[::-1]).round(12)
    curve = GridCurve.of_predictions(values, levels, pool._lowest_time())
    followed = followed_graph(pool._follow_up, x, transform, pool.follow_up_)
    reach = reach_graph(curve, followed, lowest=transform.mirror)
    return curve, begun_graph(pool._entered, x, curve, reach, empirical=pool._is_empirical)


def _answers(pool: "Pool", x: Value) -> list[AnswerGraph]:
    """Return what each candidate says; networks of several candidates are computed together."""
    readers = {
        name: type(models[0])._mean_reader(models, LEVELS)
        for name, models in pool.estimators_.items()
    }
    alike: dict[Any, list[str]] = {}
    for name, reader in readers.items():
        if hasattr(reader, "layers"):
            alike.setdefault(reader.layers, []).append(name)
    found: dict[str, AnswerGraph] = {}
    for names in alike.values():
        values = shapes_graph([readers[name] for name in names], x)
        found.update(zip(names, (AnswerGraph(value, None) for value in values), strict=True))
    mirror = pool.time_transform_.mirror
    return [
        found[name] if name in found else _answer_of_models(name, models, x, mirror=mirror)
        for name, models in pool.estimators_.items()
    ]


def _answer_of_models(name: str, models: Sequence[Any], x: Value, *, mirror: bool) -> AnswerGraph:
    """Return what ``ask`` does, in a graph; a candidate that cannot be exported is named."""
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
    if ending:
        ends = [end for answer in answers if (end := answer.end) is not None]
        continued = _with_tails([values[place] for place in ending], ends, reference)
        for place, own in zip(ending, continued, strict=True):
            values[place] = own
    return values


def _with_tails(
    values: Sequence[Value], ends: Sequence[tuple[Value, Value]], reference: GridCurve
) -> list[Value]:
    """Return the quantiles of several candidates with those past their ends replaced."""
    graph, n, m = reference.values.graph, len(ends), len(LEVELS)
    times, levels = (graph.concat(list(part)) for part in zip(*ends, strict=True))
    end = levels.minimum(ALMOST_ONE)
    alive = 1.0 - reference.levels_of(times)
    share = (alive / (1.0 - end)).reshape(n, 1)
    p = (1.0 - share * (1.0 - LEVELS)).clip(0.0, ALMOST_ONE).reshape(n * m)
    own = graph.concat([value.reshape(1, m) for value in values], axis=-2)
    is_beyond = end.reshape(n, 1) < LEVELS
    start = is_beyond.where(times.reshape(n, 1), own).max()
    beyond = _quantile_of(reference, p).reshape(n, m).maximum(start)
    flat = is_beyond.where(beyond, own).reshape(n * m)
    return [flat.columns(np.arange(place * m, (place + 1) * m)) for place in range(n)]


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

    The knots are the quantiles of all candidates in order, and where their distributions start.
    Between two of them the mean is a sum of straight lines and exponential tails: a search finds
    the piece in which a wanted level is reached, and Newton's method the time within. As the piece
    is concave, it stays before that time.

    ``values`` have the shape (n, candidates, levels).
    """

    graph: Graph
    values: Value
    weights: Floats
    lower: float

    def quantiles(self, wanted: Floats) -> Value:
        graph, n, k = self.graph, len(self.weights), len(wanted)
        curve = GridCurve(self.values, LEVELS, self.lower)
        pieces = _Pieces.of(curve)
        own = graph.concat([pieces.start, self.values])
        n_own = known_length(own.shape[-1])
        n_knots = n * n_own
        knots, place = own.reshape(n_knots).sort()
        owner = graph.lookup(np.repeat(np.arange(n), n_own), place).reshape(1, n_knots)
        # How many of its knots each candidate has passed behind each knot.
        passed = owner.equals(np.arange(n)[:, None]).as_float().cumsum()
        behind = self._mean(pieces.levels(passed.as_integer(), knots.reshape(1, n_knots)))
        behind = behind.reshape(n_knots)
        found = count_in_rows(behind, graph.value(wanted), strictly=True)
        before = (found - 1).maximum(0)
        low, below = knots.take_along(before), behind.take_along(before)
        width = knots.take_along(found.minimum(n_knots - 1)) - low
        # The same places for every candidate.
        places = before.reshape(1, k) + graph.repeated(np.zeros((n, 1), np.int64), before)
        inner = passed.take_along(places).as_integer()
        slope, rate, rest = pieces.behind(inner, low.reshape(1, k))
        distance = self._distance(self._mean(slope), rate, rest, (wanted - below, low, width))
        outside = curve.at(wanted).max(axis=-2).reshape(k)
        return found.equals(n_knots).where(outside, low + distance)

    def _mean(self, levels: Value) -> Value:
        return (levels * self.weights[:, None]).sum(axis=-2)

    def _distance(
        self, slope: Value, rate: Value, rest: Value, wanted: tuple[Value, Value, Value]
    ) -> Value:
        """Return how far from the beginning of a piece the mean has risen by some level.

        ``wanted`` are this level, and where the piece begins and how long it is.
        """
        rise, begin, width = wanted
        k = known_length(rise.shape[-1])
        slope = slope.reshape(k)
        # What candidates in their tails have left, and how fast they lose it.
        left = rest * self.weights[:, None]
        lost = left * rate

        def moved(distance: Value | None) -> Value:
            """Return the next distance; none is the beginning."""
            missing, steep = rise, slope
            if distance is None:
                steep = steep + lost.sum(axis=-2).reshape(k)
            else:
                decay = (rate * distance.reshape(1, k) * -1.0).exp()
                missing = rise - slope * distance - (left - left * decay).sum(axis=-2).reshape(k)
                steep = steep + (lost * decay).sum(axis=-2).reshape(k)
            rises = steep > 0.0
            step = rises.where(missing / rises.where(steep, 1.0), width)
            return (step if distance is None else distance + step).clip(0.0, width)

        def step(number: Value, distance: Value, before: Value) -> list[Value]:
            return [moved(distance), distance]

        def going(distance: Value, before: Value) -> Value:
            return (distance - before).abs() > (begin + distance).abs() * _TOLERANCE

        first = moved(None)
        is_bent = rest.max(axis=-2) > 0.0
        return self.graph.loop(MOST_STEPS, [first, first], step, going=going, only_if=is_bent)[0]


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Pieces of each candidate's distribution function: those behind 0, 1, ... knots.

    The knots are its start and its quantiles. The first piece is 0, the last one a tail, and all
    others are straight. What is left in the tail decays from ``rest`` at a rate that is its slope.
    Shapes are (n, candidates, k).
    """

    base: Value
    slope: Value
    anchor: Value
    rest: Value
    start: Value

    @classmethod
    def of(cls, curve: GridCurve) -> "_Pieces":
        """Return all pieces."""
        graph, values, last = curve.values.graph, curve.values, len(LEVELS) - 1
        left, first = values.columns(np.arange(last)), values.columns([0])
        gap = values.columns(np.arange(1, last + 1)) - left
        wide, final = gap > 0.0, gap.columns([last - 1])
        slope = wide.where(np.diff(LEVELS) / wide.where(gap, 1.0), 0.0)
        reach = curve.lower_reach().maximum(0.0)
        starts, decays = reach > 0.0, final > 0.0
        rise = starts.where(float(LEVELS[0]) / starts.where(reach, 1.0), 0.0)
        hazard = float(np.log((1.0 - LEVELS[-2]) / (1.0 - LEVELS[-1])))
        rate = decays.where(hazard / decays.where(final, 1.0), 0.0)
        rest = decays.where(1.0 - float(LEVELS[-1]), 0.0)
        none, start = reach * 0.0, first - reach
        base = wide.where(LEVELS[:-1], LEVELS[1:])
        return cls(
            graph.concat([none, none, base, 1.0 - rest]),
            graph.concat([none, rise, slope, rate]),
            graph.concat([start, start, left, values.columns([last])]),
            rest,
            start,
        )

    def levels(self, passed: Value, times: Value) -> Value:
        """Return the levels of times of shape (n, 1, k), behind so many knots."""
        distance = (times - self.anchor.take_along(passed)) * self.slope.take_along(passed)
        tail = 1.0 - (distance * -1.0).exp() * self.rest
        return self._is_tail(passed).where(tail, self.base.take_along(passed) + distance)

    def behind(self, passed: Value, times: Value) -> tuple[Value, Value, Value]:
        """Return the slopes of straight pieces; rates of tails and what these have left, or 0."""
        is_tail, slope = self._is_tail(passed), self.slope.take_along(passed)
        rate = is_tail.where(slope, 0.0)
        distance = (times - self.anchor.take_along(passed)) * rate
        rest = is_tail.where((distance * -1.0).exp() * self.rest, 0.0)
        return slope - rate, rate, rest

    @staticmethod
    def _is_tail(passed: Value) -> Value:
        return passed.equals(len(LEVELS) + 1)
