"""Trained networks in a graph: from features to curves.

Activations and heads are the rational forms of the compiled kernels, constants of single precision
included, so that an exported network says the same to the last digits.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from censquant._engine.networks._combined import (
    SMALLEST_GAP,
    HeadedNetwork,
    IncreasingHead,
    LinearSkip,
    ShapeHead,
    StackedNetwork,
)
from censquant._engine.networks._dense import DenseNetwork
from censquant._engine.networks._kernels import SOFTPLUS_ONE
from censquant._typing import Floats
from censquant.export._graph import Value, mean_of
from censquant.export._graphs_curves import FormulaCurve, GraphCurve, GridCurve
from censquant.export._graphs_distributions import UnitDistribution, distribution_graph
from censquant.survival._transform import LARGEST_LOG, TimeTransform

if TYPE_CHECKING:
    from censquant.estimators.neural._shape import ShapeReader
    from censquant.estimators.neural._trained_model import TrainedModel

_EXPONENTIAL = (
    1.9875691500e-4,
    1.3981999507e-3,
    8.3334519073e-3,
    4.1665795894e-2,
    1.6666665459e-1,
    5.0000001201e-1,
    1.0,
    1.0,
)
_NORMAL_TAIL = (1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530)
_NORMAL_DENSITY = 0.3989422804014327
_SOFTPLUS = (1 / 13, 1 / 11, 1 / 9, 1 / 7, 1 / 5, 1 / 3)


@singledispatch
def network_graph(network: Any, x: Value) -> Value:
    """Return the outputs of a network in a graph."""
    raise TypeError(
        f"{type(network).__name__} cannot be exported: networks of this package can; export a "
        "torch module by torch.onnx."
    )


@network_graph.register
def _dense(network: DenseNetwork, x: Value) -> Value:
    parameters, offset = network.parameters.astype(np.float64), 0
    activate = _ACTIVATIONS[network.activation]
    layers = list(pairwise(network.sizes))
    for place, (n_in, n_out) in enumerate(layers):
        weights = parameters[offset : offset + n_in * n_out].reshape(n_in, n_out)
        bias = parameters[offset + n_in * n_out : offset + (n_in + 1) * n_out]
        offset += (n_in + 1) * n_out
        x = x.matmul(weights) + bias
        if place < len(layers) - 1:
            x = activate(x)
    return x


@network_graph.register
def _headed(network: HeadedNetwork, x: Value) -> Value:
    return _head_graph(network.head, network_graph(network.network, x), network.parameters)


@network_graph.register
def _skip(network: LinearSkip, x: Value) -> Value:
    out = network_graph(network.network, x)
    trend = np.zeros((len(network.parameters), network.n_outputs))
    trend[:, 0] = network.parameters
    return out + x.matmul(trend)


@network_graph.register
def _stacked(network: StackedNetwork, x: Value) -> Value:
    return x.graph.concat([network_graph(part, x) for part in network.networks])


@singledispatch
def _head_graph(head: Any, raw: Value, parameters: Any) -> Value:
    raise TypeError(
        f"The head {type(head).__name__} cannot be exported: use the heads 'free' or 'increasing', "
        "or ShapeNN."
    )


@_head_graph.register
def _increasing(head: IncreasingHead, raw: Value, parameters: Any) -> Value:
    if head.n_outputs == 1:
        return raw
    first, others = raw.columns([0]), raw.columns(np.arange(1, head.n_outputs))
    return raw.graph.concat([first, _softplus(others)]).cumsum()


@_head_graph.register
def _shaped(head: ShapeHead, raw: Value, parameters: Any) -> Value:
    knots = np.asarray(head.knots)
    return _shapes(raw, np.asarray(parameters, dtype=np.float64), knots)


def _shapes(raw: Value, shape: Floats, knots: Floats) -> Value:
    """Return the quantiles of a ``ShapeHead``."""
    graph, n_gaps, centre = raw.graph, len(knots) - 1, len(knots) // 2
    gaps = _gaps(raw, shape, n_gaps) * np.diff(knots)
    middle = raw.columns([0]) + float(knots[centre])
    parts = [middle]
    if centre > 0:
        below = gaps.columns(np.arange(centre)).cumsum(reverse=True)
        parts.insert(0, middle - below)
    if centre < n_gaps:
        parts.append(middle + gaps.columns(np.arange(centre, n_gaps)).cumsum())
    return graph.concat(parts)


def _gaps(raw: Value, shapes: Floats, n_gaps: int) -> Value:
    """Return the gaps between quantiles, relative to those of the family."""
    own = raw.columns(np.arange(2, 2 + n_gaps)) + (shapes + SOFTPLUS_ONE)
    return _softplus(raw.columns([1]) + own) + SMALLEST_GAP


def _polynomial(x: Value, coefficients: tuple[float, ...], factor: float = 1.0) -> Value:
    """Return a polynomial by Horner's rule, with factors times coefficients of single precision."""
    first, second, *others = (_single(c) * factor for c in coefficients)
    total = x * first + second
    for coefficient in others:
        total = total * x + coefficient
    return total


def _exp_minus(z: Value) -> Value:
    """Return ``exp(-z)`` of values that are not negative; see the kernel ``exp_minus``."""
    n = (z * _single(1.4426950408889634) + 0.5).floor()
    r = n * (_single(0.693359375) - _single(2.12194440e-4)) - z
    return _polynomial(r, _EXPONENTIAL) * (n * -math.log(2.0)).exp()


def _softplus(x: Value) -> Value:
    e = _exp_minus(x.abs())
    s = e / (e + 2.0)
    s2 = s * s
    p = _polynomial(s2, _SOFTPLUS)
    return x.maximum(0.0) + s * 2.0 * (p * s2 + 1.0)


def _relu(x: Value) -> Value:
    return x.maximum(0.0)


def _gelu(x: Value) -> Value:
    size = x.abs()
    t = 1.0 / (size * _single(0.2316419) + 1.0)
    density = _exp_minus(size * size * 0.5)
    tail = _polynomial(t, _NORMAL_TAIL, _single(_NORMAL_DENSITY)) * t * density
    # x times the probability below it.
    return x.maximum(0.0) - size * tail


def _silu(x: Value) -> Value:
    share = 1.0 / (_exp_minus(x.abs()) + 1.0)
    return x * (x > 0.0).where(share, 1.0 - share)


def _tanh(x: Value) -> Value:
    e = _exp_minus(x.abs() * 2.0)
    size = (1.0 - e) / (e + 1.0)
    return (x > 0.0).where(size, -size)


_ACTIVATIONS = {"relu": _relu, "gelu": _gelu, "silu": _silu, "tanh": _tanh}


def _single(number: float) -> float:
    return float(np.float32(number))


def shapes_graph(readers: Sequence["ShapeReader"], x: Value) -> list[Value]:
    """Return what several readers say, in a graph, their networks side by side.

    All networks have the same layers. Features are scaled for each network, so that its weights
    stay numbers of single precision, which take half the room in a file or page.
    """
    first = readers[0]
    center, scale, parameters, skips, shapes = (
        np.concatenate([getattr(reader, name) for reader in readers])
        for name in ("center", "scale", "parameters", "skips", "shapes")
    )
    n_networks, n_features = center.shape
    scaled = (x.reshape(1, n_features) - center) / scale
    activate, offset = _ACTIVATIONS[first.activation], 0
    layers = list(pairwise(first.sizes.tolist()))
    raw = scaled
    for place, (n_in, n_out) in enumerate(layers):
        split, end = offset + n_in * n_out, offset + (n_in + 1) * n_out
        weights = parameters[:, offset:split].reshape(n_networks, n_in, n_out)
        bias, offset = parameters[:, split:end], end
        raw = raw.matmul_each(weights) + bias
        raw = raw if place == len(layers) - 1 else activate(raw)
    knots = np.concatenate([np.tile(reader.knots, (len(reader.skips), 1)) for reader in readers])
    trend = (scaled * skips).sum().reshape(n_networks)
    times = _times_at(raw, trend, shapes, knots, _readouts(readers))
    found, n_levels, begin = [], first.readout.shape[1], 0
    for reader in readers:
        n_own, n_each = len(reader.skips), len(reader.skips) // reader.n_models
        own = times.columns(np.arange(begin * n_levels, (begin + n_own) * n_levels))
        begin += n_own
        if n_each > 1:
            own = own.reshape(reader.n_models, n_each, n_levels).sum(axis=-2) / float(n_each)
        found.append(_in_user_time(reader, own.reshape(reader.n_models, n_levels)))
    return found


def _readouts(readers: Sequence["ShapeReader"]) -> Floats:
    """Return the matrix of each network from gaps between knots to quantiles, less the middle."""
    matrices = []
    for reader in readers:
        place, centre = np.arange(len(reader.knots)), len(reader.knots) // 2
        gap = place[:-1, None]
        above = (gap >= centre) & (gap < place)
        below = (gap < centre) & (gap >= place)
        matrix = (above.astype(np.float64) - below) @ reader.readout
        matrices += [matrix * np.diff(reader.knots)[:, None]] * len(reader.skips)
    return np.stack(matrices)


def _times_at(raw: Value, trend: Value, shapes: Floats, knots: Floats, readouts: Floats) -> Value:
    """Return the quantiles of each network in model units, one network after the other."""
    n_networks, n_knots = knots.shape
    gaps = _gaps(raw, shapes, n_knots - 1)
    middle = raw.columns([0]) + (trend + knots[:, n_knots // 2]).reshape(n_networks, 1)
    return (gaps.matmul_each(readouts) + middle).reshape(n_networks * readouts.shape[-1])


def _in_user_time(reader: "ShapeReader", times: Value) -> Value:
    """Return the mean over models of quantiles in model units, in the user's unit of time."""
    times = times.minimum(reader.caps[:, 0]) * reader.factors[:, 0] + reader.offsets[:, 0]
    if reader.transform.log:
        times = times.minimum(LARGEST_LOG).exp()
    if reader.lower > -np.inf:
        times = times.maximum(reader.lower)
    mean = (times.sum(axis=-2) / float(reader.n_models)).reshape(reader.readout.shape[1])
    return -mean if reader.transform.mirror else mean


CurveGraph = tuple[GraphCurve, Value]
"""Curves, and their reach of shape (n, 1)."""


def ensemble_graph(
    models: Sequence["TrainedModel"], x: Value, levels: Floats | None = None
) -> GraphCurve:
    """Return what ``ensemble_curve`` does, in a graph."""
    first = models[0]
    outputs = [network_graph(model.network, scaled_graph(model, x)) for model in models]
    objective: Any = first.objective
    if hasattr(objective, "distribution"):
        times = UserTimesGraph(distribution_graph(objective, outputs), first.time_transform)
        return FormulaCurve(times, first.quantiles if levels is None else levels, first.lower)
    if len(models) > 1:
        # Crossed quantiles are put in order before they are averaged.
        outputs = [GridCurve.of_predictions(out, first.quantiles).values for out in outputs]
    values = mean_of(outputs)
    times_of_levels = first.time_transform.graph_inverse(values)
    if first.time_transform.mirror:
        times_of_levels = times_of_levels.reversed()
    return GridCurve.of_predictions(times_of_levels, first.quantiles, first.lower)


def scaled_graph(model: "TrainedModel", x: Value) -> Value:
    """Return centred and scaled features."""
    scale = model.feature_scale
    return x if scale.center is None else (x - scale.center) / scale.scale


@dataclass(frozen=True, eq=False)
class UserTimesGraph:
    """See ``UserTimes``: a distribution in model units, asked in the user's unit of time."""

    inner: UnitDistribution
    transform: TimeTransform

    def quantile(self, levels: Floats) -> Value:
        """Return quantiles in the user's unit."""
        inner = self.inner
        mirror = self.transform.mirror
        z = inner.inverse_survival(levels) if mirror else inner.quantile(levels)
        return self.transform.graph_inverse(z)

    def cdf(self, times: Value) -> Value:
        """Return the levels of times in the user's unit."""
        u = times
        if self.transform.log:
            positive = times > 0.0
            u = positive.where(positive.where(times, 1.0).log(), -np.inf)
        z = (u - self.transform.center) / self.transform.scale
        return self.inner.survival(-z) if self.transform.mirror else self.inner.cdf(z)
