"""Compiled arithmetic of networks and heads.

Every kernel works on contiguous arrays of one floating type: float32 while training, float64 when
predicting. A layer's weights ``(n_in, n_out)`` and then its biases ``(n_out,)`` follow each other
in the flat vector.
"""

import numpy as np
from numba import types
from numba.extending import overload

from censquant._compile import fast, fast_part

# Codes of the activations. Those that no default uses have codes of another type: kernels for them
# are then compiled only where one is used.
RELU, GELU = 0, 1
SILU, TANH = 0.0, 1.0
SOFTPLUS_ONE = 0.5413248546129181  # where the softplus is 1


def _power_of_two(exponent, like):
    """``2 ** exponent`` in the floating type of ``like``."""
    return type(like)(2.0) ** exponent


@overload(_power_of_two)
def _compiled_power_of_two(exponent, like):
    # Writing the exponent's bits keeps the loop free of library calls, so that it vectorises.
    if like == types.float32:
        return lambda exponent, like: np.int32(
            (np.int32(exponent) + np.int32(127)) << np.int32(23)
        ).view(np.float32)
    return lambda exponent, like: np.int64(
        (np.int64(exponent) + np.int64(1023)) << np.int64(52)
    ).view(np.float64)


@fast_part
def exp_minus(z):
    """``exp(-z)`` for ``z >= 0``, relative error below 2e-7.

    Constants are float32 throughout: a float64 one would widen the whole loop.
    """
    z = min(z, z * np.float32(0) + np.float32(80))
    n = np.floor(z * np.float32(1.4426950408889634) + np.float32(0.5))
    # ln 2 in two parts: the first has few bits, so that the difference is exact.
    r = n * np.float32(0.693359375) - z - n * np.float32(2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    return (p * r * r + r + np.float32(1)) * _power_of_two(-n, r)


@fast_part
def _bias_relu(z, bias, slope):
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            x = z[i, j] + bias[j]
            positive = x > 0
            z[i, j] = x if positive else np.float32(0)
            if slope is not None:
                slope[i, j] = np.float32(1) if positive else np.float32(0)


@fast_part
def _bias_gelu(z, bias, slope):
    """``x Phi(x)``; the normal tail is Zelen and Severo's rational form, error below 1e-7."""
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            x = z[i, j] + bias[j]
            size = abs(x)
            density = exp_minus(np.float32(0.5) * size * size) * np.float32(0.3989422804014327)
            t = np.float32(1) / (np.float32(1) + np.float32(0.2316419) * size)
            p = np.float32(1.330274429)
            p = p * t + np.float32(-1.821255978)
            p = p * t + np.float32(1.781477937)
            p = p * t + np.float32(-0.356563782)
            p = p * t + np.float32(0.319381530)
            tail = density * p * t
            share = np.float32(1) - tail if x > 0 else tail
            z[i, j] = x * share
            if slope is not None:
                slope[i, j] = share + x * density


@fast_part
def _bias_silu(z, bias, slope):
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            x = z[i, j] + bias[j]
            e = exp_minus(abs(x))
            sigmoid = np.float32(1) / (np.float32(1) + e)
            sigmoid = sigmoid if x > 0 else np.float32(1) - sigmoid
            z[i, j] = x * sigmoid
            if slope is not None:
                slope[i, j] = sigmoid * (np.float32(1) + x * (np.float32(1) - sigmoid))


@fast_part
def _bias_tanh(z, bias, slope):
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            x = z[i, j] + bias[j]
            e = exp_minus(np.float32(2) * abs(x))
            size = (np.float32(1) - e) / (np.float32(1) + e)
            value = size if x > 0 else -size
            z[i, j] = value
            if slope is not None:
                slope[i, j] = np.float32(1) - value * value


def _activate(z, bias, activation, slope):
    """Turn ``z`` into ``f(z + bias)`` in place; write ``f'`` into ``slope`` unless it is None."""
    activate = _relu_or_gelu if isinstance(activation, int) else _silu_or_tanh
    activate(z, bias, activation, slope)


@overload(_activate)
def _compiled_activate(z, bias, activation, slope):
    if isinstance(activation, types.Integer):
        return _relu_or_gelu
    return _silu_or_tanh


def _relu_or_gelu(z, bias, activation, slope):
    if activation == RELU:
        _bias_relu(z, bias, slope)
    else:
        _bias_gelu(z, bias, slope)


def _silu_or_tanh(z, bias, activation, slope):
    if activation == SILU:
        _bias_silu(z, bias, slope)
    else:
        _bias_tanh(z, bias, slope)


def _layer_of(values, place, n, width):
    """Return the part of flat work space that belongs to one layer; None of None."""
    return None if values is None else values[place : place + n * width].reshape(n, width)


@overload(_layer_of)
def _compiled_layer_of(values, place, n, width):
    if values == types.none:
        return lambda values, place, n, width: None
    return lambda values, place, n, width: values[place : place + n * width].reshape(n, width)


@fast_part
def _mix(word):
    """Scramble a 32-bit counter into a random word."""
    word = np.uint32((word ^ (word >> np.uint32(16))) * np.uint32(0x7FEB352D))
    word = np.uint32((word ^ (word >> np.uint32(15))) * np.uint32(0x846CA68B))
    return np.uint32(word ^ (word >> np.uint32(16)))


@fast_part
def _drop(h, slope, rate, key):
    """Zero a random share ``rate`` of the hidden values and scale up the rest."""
    threshold = np.uint32(rate * 4294967295.0)
    kept = np.float32(1.0 / (1.0 - rate))
    for i in range(h.shape[0]):
        for j in range(h.shape[1]):
            word = _mix(np.uint32(key + np.uint32(i * h.shape[1] + j)))
            factor = kept if word >= threshold else np.float32(0)
            h[i, j] *= factor
            slope[i, j] *= factor


@fast_part
def _multiply(a, b, out, small):
    """Write ``a @ b`` into ``out`` by products of at most ``small`` multiplications each.

    ``small`` 0 makes one product; see ``small_product``.
    """
    n = a.shape[0]
    size = small // (b.shape[0] * b.shape[1])
    if size < 16 or size >= n:
        np.dot(a, b, out)
        return
    n_blocks = (n + size - 1) // size
    size = (n + n_blocks - 1) // n_blocks
    for start in range(0, n, size):
        np.dot(a[start : start + size], b, out[start : start + size])


@fast_part
def _multiply_transposed(a, b, out, work, small):
    """Write ``a.T @ b`` into ``out``, as :func:`_multiply` does; ``work`` has room for ``out``."""
    n = a.shape[0]
    size = small // (a.shape[1] * b.shape[1])
    if size < 16 or size >= n:
        np.dot(a.T, b, out)
        return
    n_blocks = (n + size - 1) // size
    size = (n + n_blocks - 1) // n_blocks
    np.dot(a[:size].T, b[:size], out)
    part = work[: a.shape[1] * b.shape[1]].reshape(a.shape[1], b.shape[1])
    for start in range(size, n, size):
        np.dot(a[start : start + size].T, b[start : start + size], part)
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] += part[i, j]


@fast
def dense_forward(parameters, sizes, activation, dropout, key, x, hidden, slopes, out, small):
    """Write the network's output for the rows ``x`` into ``out``.

    ``hidden`` and ``slopes`` receive the hidden values and the activation's derivative there, layer
    after layer in flat work space: the backward pass needs both. With ``slopes`` None the pass
    predicts: no derivative is kept and nothing is dropped.
    """
    n = x.shape[0]
    last = len(sizes) - 2
    offset = 0
    place = 0
    layer_input = x
    for layer in range(last + 1):
        n_in = sizes[layer]
        n_out = sizes[layer + 1]
        weights = parameters[offset : offset + n_in * n_out].reshape(n_in, n_out)
        bias = parameters[offset + n_in * n_out : offset + (n_in + 1) * n_out]
        offset += (n_in + 1) * n_out
        if layer == last:
            _multiply(layer_input, weights, out, small)
            for i in range(n):
                for j in range(n_out):
                    out[i, j] += bias[j]
        else:
            h = _layer_of(hidden, place, n, n_out)
            slope = _layer_of(slopes, place, n, n_out)
            _multiply(layer_input, weights, h, small)
            _activate(h, bias, activation, slope)
            if slopes is not None and dropout > 0:
                _drop(h, slope, dropout, _mix(np.uint32(key + np.uint32(layer))))
            place += n * n_out
            layer_input = h


@fast
def dense_backward(parameters, sizes, x, hidden, slopes, out_gradient, gradient, work, small):
    """Write the loss's derivative by every parameter into ``gradient``.

    Follows a forward pass over the same ``x``, whose ``hidden`` and ``slopes`` it reads. The
    derivatives by hidden values take the place of ``hidden``; ``work`` has room for the weights of
    any layer.
    """
    n = x.shape[0]
    last = len(sizes) - 2
    offset = len(gradient)
    place = 0
    for layer in range(last):
        place += n * sizes[layer + 1]
    delta = out_gradient
    for step in range(last + 1):
        layer = last - step
        n_in = sizes[layer]
        n_out = sizes[layer + 1]
        offset -= (n_in + 1) * n_out
        weights = parameters[offset : offset + n_in * n_out].reshape(n_in, n_out)
        weight_gradient = gradient[offset : offset + n_in * n_out].reshape(n_in, n_out)
        bias_gradient = gradient[offset + n_in * n_out : offset + (n_in + 1) * n_out]
        bias_gradient[:] = np.float32(0)
        for i in range(n):
            for j in range(n_out):
                bias_gradient[j] += delta[i, j]
        if layer == 0:
            _multiply_transposed(x, delta, weight_gradient, work, small)
        else:
            place -= n * n_in
            h = _layer_of(hidden, place, n, n_in)
            slope = _layer_of(slopes, place, n, n_in)
            _multiply_transposed(h, delta, weight_gradient, work, small)
            np.dot(delta, weights.T, h)
            for i in range(n):
                for j in range(n_in):
                    h[i, j] *= slope[i, j]
            delta = h


@fast
def adam_step(parameters, gradient, mean, square, step, learning_rate, weight_decay):
    """Move the parameters by one step of Adam with L2 decay inside the gradient, as in the paper.

    ``step`` counts from 1. The decay would shrink the weights of units that no row reaches into
    subnormal numbers, with which processors are about ten times slower. A shrinking weight so
    stays at 1e-12: too little for any prediction, enough for the unit to grow again when the loss
    asks for it, which a weight of 0 could not. Moments may vanish: beside 1e-8 they are nothing.
    """
    smallest_normal = np.float32(1.1754944e-38)
    smallest_weight = np.float32(1e-12)
    beta1 = np.float32(0.9)
    beta2 = np.float32(0.999)
    rest1 = np.float32(1.0 - 0.9)
    rest2 = np.float32(1.0 - 0.999)
    rate = np.float32(learning_rate / (1.0 - 0.9**step))
    correction = np.float32(1.0 / np.sqrt(1.0 - 0.999**step))
    decay = np.float32(weight_decay)
    for i in range(len(parameters)):
        g = gradient[i] + decay * parameters[i]
        m = beta1 * mean[i] + rest1 * g
        v = beta2 * square[i] + rest2 * g * g
        p = parameters[i] - rate * m / (np.sqrt(v) * correction + np.float32(1e-8))
        mean[i] = m if abs(m) >= smallest_normal else np.float32(0)
        square[i] = v if v >= smallest_normal else np.float32(0)
        shrunk = abs(p) < smallest_weight and p != np.float32(0)
        parameters[i] = np.copysign(smallest_weight, p) if shrunk else p


@fast_part
def _softplus(x):
    """``log(1 + exp(x))`` in plain arithmetic; error below 3e-7."""
    e = exp_minus(abs(x))
    # log(1 + e) = 2 artanh(e / (2 + e)), whose argument is at most 1/3.
    s = e / (np.float32(2) + e)
    s2 = s * s
    p = np.float32(1 / 13)
    p = p * s2 + np.float32(1 / 11)
    p = p * s2 + np.float32(1 / 9)
    p = p * s2 + np.float32(1 / 7)
    p = p * s2 + np.float32(1 / 5)
    p = p * s2 + np.float32(1 / 3)
    return max(x, x * np.float32(0)) + np.float32(2) * s * (p * s2 + np.float32(1))


@fast_part
def _sigmoid(x):
    """``1 / (1 + exp(-x))``, the derivative of the softplus."""
    share = np.float32(1) / (np.float32(1) + exp_minus(abs(x)))
    return share if x > 0 else np.float32(1) - share


@fast
def increasing_forward(raw, out):
    """Write raw column 0 as it is, and each next one a softplus above the previous one."""
    n, n_levels = raw.shape
    for i in range(n):
        level = raw[i, 0]
        out[i, 0] = level
        for k in range(1, n_levels):
            level += _softplus(raw[i, k])
            out[i, k] = level


@fast
def increasing_backward(raw, out_gradient, raw_gradient):
    """Write the derivative by the raw values, given the derivative by the increasing ones."""
    n, n_levels = raw.shape
    for i in range(n):
        above = raw[i, 0] * np.float32(0)
        for k in range(n_levels - 1, 0, -1):
            above += out_gradient[i, k]
            raw_gradient[i, k] = above * _sigmoid(raw[i, k])
        raw_gradient[i, 0] = above + out_gradient[i, 0]


@fast
def shape_forward(raw, shape, steps, middle, floor, out):
    """Write a middle quantile and positive gaps as quantiles; see ``ShapeHead``."""
    n, n_levels = out.shape
    centre = n_levels // 2
    unit = raw.dtype.type(SOFTPLUS_ONE)
    start = raw.dtype.type(middle)
    least = raw.dtype.type(floor)
    gaps = np.empty(n_levels - 1, raw.dtype)
    for i in range(n):
        scale = unit + raw[i, 1]
        for k in range(n_levels - 1):
            gaps[k] = (_softplus(scale + shape[k] + raw[i, 2 + k]) + least) * steps[k]
        value = start + raw[i, 0]
        out[i, centre] = value
        for k in range(centre, n_levels - 1):
            value += gaps[k]
            out[i, k + 1] = value
        value = out[i, centre]
        for k in range(centre - 1, -1, -1):
            value -= gaps[k]
            out[i, k] = value


@fast
def shape_backward(
    raw, shape, steps, out_gradient, rough_rows, rough_shape, spread, raw_gradient, shape_gradient
):
    """Write the derivatives by raw outputs and shape, penalties included; return the penalties.

    ``rough_rows`` and ``rough_shape`` weight squared differences of neighbouring shapes, of each
    row and of all rows; ``spread`` weights the variance of the scales within the batch.
    """
    n, n_levels = out_gradient.shape
    n_gaps = n_levels - 1
    centre = n_levels // 2
    zero = raw.dtype.type(0)
    unit = raw.dtype.type(SOFTPLUS_ONE)
    mean = zero
    for i in range(n):
        mean += raw[i, 1]
    mean /= raw.dtype.type(n)
    by_row = raw.dtype.type(2.0 * rough_rows / n)
    by_scale = raw.dtype.type(2.0 * spread / max(n - 1, 1))
    by_gap = np.empty(n_gaps, raw.dtype)
    # From one shape to the next, with nothing before the first and after the last.
    change = np.zeros(n_gaps + 1, raw.dtype)
    shape_gradient[:] = zero
    rough = zero
    variance = zero
    for i in range(n):
        above = zero
        for k in range(n_gaps - 1, centre - 1, -1):
            above += out_gradient[i, k + 1]
            by_gap[k] = above
        below = zero
        for k in range(centre):
            below += out_gradient[i, k]
            by_gap[k] = -below
        raw_gradient[i, 0] = above + below + out_gradient[i, centre]
        scale = unit + raw[i, 1]
        total = zero
        for k in range(n_gaps):
            slope = by_gap[k] * steps[k] * _sigmoid(scale + shape[k] + raw[i, 2 + k])
            shape_gradient[k] += slope
            raw_gradient[i, 2 + k] = slope
            total += slope
        for k in range(n_gaps - 1):
            change[k + 1] = raw[i, 3 + k] - raw[i, 2 + k]
            rough += change[k + 1] * change[k + 1]
        for k in range(n_gaps):
            raw_gradient[i, 2 + k] += by_row * (change[k] - change[k + 1])
        off = raw[i, 1] - mean
        variance += off * off
        raw_gradient[i, 1] = total + by_scale * off
    penalty = rough_rows / n * rough + spread / max(n - 1, 1) * variance
    by_shape = raw.dtype.type(2.0 * rough_shape)
    for k in range(n_gaps - 1):
        step = shape[k + 1] - shape[k]
        shape_gradient[k] -= by_shape * step
        shape_gradient[k + 1] += by_shape * step
        penalty += rough_shape * step * step
    return penalty


@fast
def shape_networks(
    x,
    center,
    scale,
    parameters,
    skips,
    shapes,
    sizes,
    activation,
    steps,
    middle,
    floor,
    block,
    small,
    out,
):
    """Write the quantiles of several networks of one architecture into ``out`` (networks, n, k).

    Each has a row of ``center``, ``scale`` (of features), ``parameters``, ``skips`` (coefficients
    of ``LinearSkip``) and ``shapes`` (of ``ShapeHead``). Rows are taken ``block`` at a time, so
    that their hidden values stay in the processor's cache.
    """
    n, n_features = x.shape
    most = min(n, block)
    n_hidden = 0
    for layer in range(1, len(sizes) - 1):
        n_hidden += sizes[layer]
    hidden = np.empty(most * n_hidden)
    scaled_rows = np.empty((most, n_features))
    raw_rows = np.empty((most, sizes[-1]))
    for start in range(0, n, block):
        end = min(start + block, n)
        scaled, raw = scaled_rows[: end - start], raw_rows[: end - start]
        for k in range(len(parameters)):
            for i in range(end - start):
                for j in range(n_features):
                    scaled[i, j] = (x[start + i, j] - center[k, j]) / scale[k, j]
            dense_forward(
                parameters[k],
                sizes,
                activation,
                0.0,
                np.uint32(0),
                scaled,
                hidden,
                None,
                raw,
                small,
            )
            for i in range(end - start):
                for j in range(n_features):
                    raw[i, 0] += scaled[i, j] * skips[k, j]
            shape_forward(raw, shapes[k], steps, middle, floor, out[k, start:end])
