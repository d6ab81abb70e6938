"""Compiled arithmetic of heads, in float32 while training and in float64 when predicting.

It calls ``exp_minus`` of ``_kernels.py``: after a change of that function, ``make clean``.
"""

import numpy as np

from censquant._compile import fast
from censquant._engine.networks._kernels import exp_minus

SOFTPLUS_ONE = 0.5413248546129181  # where the softplus is 1


@fast
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


@fast
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
