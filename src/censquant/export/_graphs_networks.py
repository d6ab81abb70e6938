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
)
_NORMAL_TAIL = (1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530)


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


def _shapes(raw: Value, shapes: Floats, knots: Floats) -> Value:
    """Return the quantiles of a ``ShapeHead``, or of one per network."""
    graph, n_gaps, centre = raw.graph, len(knots) - 1, len(knots) // 2
    scale = raw.columns([1]) + SOFTPLUS_ONE
    own = raw.columns(np.arange(2, 2 + n_gaps)) + shapes
    gaps = (_softplus(scale + own) + SMALLEST_GAP) * np.diff(knots)
    middle = raw.columns([0]) + float(knots[centre])
    parts = [middle]
    if centre > 0:
        below = gaps.columns(np.arange(centre)).cumsum(reverse=True)
        parts.insert(0, middle - below)
    if centre < n_gaps:
        parts.append(middle + gaps.columns(np.arange(centre, n_gaps)).cumsum())
    return graph.concat(parts)


def _polynomial(x: Value, coefficients: tuple[float, ...]) -> Value:
    """Return a polynomial by Horner's rule, with coefficients of single precision."""
    first, second, *others = (_single(c) for c in coefficients)
    total = x * first + second
    for coefficient in others:
        total = total * x + coefficient
    return total


def _exp_minus(z: Value) -> Value:
    """Return ``exp(-z)`` of values that are not negative; see the kernel ``exp_minus``."""
    z = z.minimum(80.0)
    n = (z * _single(1.4426950408889634) + 0.5).floor()
    r = n * _single(0.693359375) - z - n * _single(2.12194440e-4)
    return (_polynomial(r, _EXPONENTIAL) * r * r + r + 1.0) * (n * -math.log(2.0)).exp()


def _softplus(x: Value) -> Value:
    e = _exp_minus(x.abs())
    s = e / (e + 2.0)
    s2 = s * s
    p = _polynomial(s2, (1 / 13, 1 / 11, 1 / 9, 1 / 7, 1 / 5, 1 / 3))
    return x.maximum(0.0) + s * 2.0 * (p * s2 + 1.0)


def _relu(x: Value) -> Value:
    return x.maximum(0.0)


def _gelu(x: Value) -> Value:
    size = x.abs()
    density = _exp_minus(size * 0.5 * size) * _single(0.3989422804014327)
    t = 1.0 / (size * _single(0.2316419) + 1.0)
    tail = density * _polynomial(t, _NORMAL_TAIL) * t
    return x * (x > 0.0).where(1.0 - tail, tail)


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


def shapes_graph(reader: "ShapeReader", x: Value) -> Value:
    """Return what a reader of several networks does, side by side, in a graph."""
    n_networks, n_features = reader.center.shape
    scaled = (x.reshape(1, n_features) - reader.center) / reader.scale
    raw, offset, last = scaled, 0, len(reader.sizes) - 2
    for layer, (n_in, n_out) in enumerate(pairwise(reader.sizes.tolist())):
        middle, end = offset + n_in * n_out, offset + (n_in + 1) * n_out
        weights = reader.parameters[:, offset:middle].reshape(n_networks, n_in, n_out)
        raw = raw.matmul_each(weights) + reader.parameters[:, middle:end]
        raw = raw if layer == last else _ACTIVATIONS[reader.activation](raw)
        offset = end
    trend = np.zeros((n_networks, n_features, n_out))
    trend[:, :, 0] = reader.skips
    quantiles = _shapes(raw + scaled.matmul_each(trend), reader.shapes, reader.knots)
    n_models = reader.n_models
    if n_networks > n_models:
        shape = (n_models, n_networks // n_models, len(reader.knots))
        quantiles = quantiles.reshape(*shape).sum(axis=-2) / float(shape[1])
        quantiles = quantiles.reshape(n_models, len(reader.knots))
    times = quantiles.matmul(reader.readout).minimum(reader.caps[:, 0])
    times = times * reader.factors[:, 0] + reader.offsets[:, 0]
    if reader.transform.log:
        times = times.minimum(LARGEST_LOG).exp()
    if reader.lower > -np.inf:
        times = times.maximum(reader.lower)
    mean = (times.sum(axis=-2) / float(n_models)).reshape(reader.readout.shape[1])
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
