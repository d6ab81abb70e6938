"""Heads against their definitions, by autograd and by differences."""

import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from censquant._engine.networks._combined import (
    HeadedNetwork,
    IncreasingHead,
    LinearSkip,
    ShapeHead,
)
from censquant._engine.networks._dense import DenseNetwork
from toys import shape_head

DTYPES = {np.float64: 1e-6, np.float32: 1e-5}
TOLERANCE = {np.float64: 3e-6, np.float32: 3e-5}


def increasing(raw):
    """The increasing head as a torch expression."""
    steps = torch.nn.functional.softplus(raw[:, 1:])
    return torch.cumsum(torch.cat([raw[:, :1], steps], dim=1), dim=1)


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_increasing_head_is_a_running_sum_of_softplus(dtype, data):
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 5)))
    width = 32 if dtype is np.float32 else 64
    raw = data.draw(arrays(dtype, shape, elements=st.floats(-30, 30, width=width)))
    slopes = data.draw(arrays(dtype, shape, elements=st.floats(-2, 2, width=width)))
    head = IncreasingHead(shape[1])
    out, raw_gradient = np.empty_like(raw), np.empty_like(raw)
    head.forward(raw, np.empty(0, dtype), out)
    assert head.backward(raw, np.empty(0, dtype), slopes, raw_gradient, np.empty(0, dtype)) == 0
    leaf = torch.tensor(raw, dtype=torch.float64, requires_grad=True)
    expected = increasing(leaf)
    expected.backward(torch.tensor(slopes, dtype=torch.float64))
    tolerance = DTYPES[dtype] * shape[1]
    np.testing.assert_allclose(out, expected.detach(), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(raw_gradient, leaf.grad, rtol=tolerance, atol=tolerance)


def test_the_increasing_head_is_right_far_out():
    values = np.array([0.0, 50.0, -50.0, 1e4, -1e4])
    raw = np.column_stack([np.zeros(5), values]).astype(np.float32)
    out, raw_gradient = np.empty_like(raw), np.empty_like(raw)
    IncreasingHead(2).forward(raw, np.empty(0), out)
    np.testing.assert_allclose(out[:, 1], np.logaddexp(0, values), rtol=1e-6, atol=1e-20)
    IncreasingHead(2).backward(raw, np.empty(0), np.ones_like(raw), raw_gradient, np.empty(0))
    np.testing.assert_allclose(raw_gradient[:, 1], np.exp(-np.logaddexp(0, -values)), atol=1e-6)


def test_the_increasing_head_has_as_many_raw_outputs_as_quantiles_and_nothing_of_its_own():
    head = IncreasingHead(4)
    assert (head.n_raw, head.n_outputs) == (4, 4)
    assert head.initial_parameters().size == 0


def bent(raw, shape, knots):
    """Quantiles by the head's definition, as a torch expression."""
    steps = torch.diff(knots)
    before = np.log(np.e - 1) + raw[:, 1:2] + shape + raw[:, 2:]
    gaps = (torch.nn.functional.softplus(before) + 0.01) * steps
    middle = len(knots) // 2
    columns = {middle: knots[middle] + raw[:, 0]}
    for k in range(middle, len(knots) - 1):
        columns[k + 1] = columns[k] + gaps[:, k]
    for k in range(middle - 1, -1, -1):
        columns[k] = columns[k + 1] - gaps[:, k]
    return torch.stack([columns[k] for k in range(len(knots))], dim=1)


def penalties(raw, shape, n_rows):
    scale = raw[:, 1]
    spread = torch.sum((scale - scale.mean()) ** 2) / max(len(scale) - 1, 1)
    rough_rows = (torch.diff(raw[:, 2:], dim=1) ** 2).sum(dim=1).mean()
    rough_shape = (torch.diff(shape) ** 2).sum()
    return (500 * rough_rows + 50 * rough_shape + 10 * spread) / n_rows


@pytest.mark.parametrize("dtype", TOLERANCE)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_passes_of_the_shape_head_are_those_of_autograd(dtype, data):
    n, n_levels = data.draw(st.integers(1, 4)), data.draw(st.integers(2, 6))
    numbers = st.floats(-4, 4, width=32 if dtype is np.float32 else 64)
    raw = data.draw(arrays(dtype, (n, n_levels + 1), elements=numbers))
    shape = data.draw(arrays(dtype, n_levels - 1, elements=numbers))
    slopes = data.draw(arrays(dtype, (n, n_levels), elements=numbers))
    n_rows = data.draw(st.sampled_from([None, 100, 1_000]))
    head = ShapeHead(shape_head(n_levels).knots, n_rows)
    out, raw_gradient = np.empty((n, n_levels), dtype), np.empty_like(raw)
    shape_gradient = np.full_like(shape, np.nan)
    head.forward(raw, shape, out)
    penalty = head.backward(raw, shape, slopes, raw_gradient, shape_gradient)

    leaves = [
        torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (raw, shape)
    ]
    expected = bent(*leaves, torch.tensor(head.knots, dtype=torch.float64))
    total = (expected * torch.tensor(slopes, dtype=torch.float64)).sum()
    expected_penalty = penalties(*leaves, n_rows) if n_rows else torch.tensor(0.0)
    by_raw, by_shape = (g.numpy() for g in torch.autograd.grad(total + expected_penalty, leaves))
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(out, expected.detach(), rtol=tolerance, atol=tolerance)
    assert penalty == pytest.approx(expected_penalty.item(), rel=10 * tolerance, abs=tolerance)
    slack = tolerance * (20 + max(np.abs(by_raw).max(), np.abs(by_shape).max()))
    np.testing.assert_allclose(raw_gradient, by_raw, rtol=0, atol=slack)
    np.testing.assert_allclose(shape_gradient, by_shape, rtol=0, atol=slack)


@pytest.mark.parametrize("dtype", TOLERANCE)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_quantiles_never_cross_and_keep_a_hundredth_of_the_bases_gaps(dtype, data):
    n_levels = data.draw(st.integers(2, 19))
    numbers = st.floats(-60, 60, width=32)
    raw = data.draw(arrays(dtype, (2, n_levels + 1), elements=numbers))
    shape = data.draw(arrays(dtype, n_levels - 1, elements=numbers))
    head, out = shape_head(n_levels), np.empty((2, n_levels), dtype)
    head.forward(raw, shape, out)
    # Rounding of single precision near 60 is a few millionths, per gap that is added.
    slack = 2e-4 if dtype is np.float32 else 1e-9
    widest = np.abs(out).max()
    assert (np.diff(out) >= 0.01 * np.diff(head.knots) - slack * max(widest / 60, 1)).all()
    assert (np.diff(out) > 0).all() or widest > 60


def test_zeros_give_the_base_with_one_part_in_a_hundred_added():
    head = shape_head(7)
    out = np.empty((1, 7))
    head.forward(np.zeros((1, head.n_raw)), np.zeros(6), out)
    np.testing.assert_allclose(out[0], 1.01 * np.array(head.knots), atol=1e-6)


def test_a_head_takes_location_scale_and_a_shape_per_gap():
    for n_levels in (2, 3, 19):
        head = shape_head(n_levels)
        assert (head.n_outputs, head.n_raw) == (n_levels, n_levels + 1)
        np.testing.assert_array_equal(head.initial_parameters(), np.zeros(n_levels - 1, "f4"))
        assert head.describe() == {"head": "shape", "knots": list(head.knots)}


def test_far_scales_give_finite_quantiles_and_gradients():
    raw = np.zeros((4, 6), dtype=np.float32)
    raw[:, 1] = -1e4, -80.0, 80.0, 1e4
    head, out = shape_head(5), np.empty((4, 5), dtype=np.float32)
    raw_gradient, shape_gradient = np.empty_like(raw), np.empty(4, np.float32)
    head.forward(raw, np.zeros(4, np.float32), out)
    head.backward(raw, np.zeros(4, np.float32), np.ones_like(out), raw_gradient, shape_gradient)
    assert np.isfinite(out).all()
    assert np.isfinite(raw_gradient).all()
    assert (np.diff(out) > 0).all()


def test_a_network_with_skip_and_head_is_differentiated_through():
    rng = np.random.default_rng(0)
    head = shape_head(5, n_rows=60)
    inner = DenseNetwork([2, 6, head.n_raw], activation="tanh", rng=rng)
    network = HeadedNetwork(LinearSkip(inner, 2), head)
    network.parameters[:] = rng.normal(size=4)
    network.network.parameters[:] = rng.normal(size=2)
    x = rng.normal(size=(5, 2)).astype(np.float32)
    slopes = rng.normal(size=(5, 5)).astype(np.float32)

    def loss():
        raw = torch.tensor(network.network.predict(x))
        shape = torch.tensor(network.parameters.astype(float))
        return (network.predict(x) * slopes).sum() + penalties(raw, shape, 60).item()

    np.testing.assert_allclose(network.forward(x, training=True), network.predict(x), atol=1e-5)
    network.backward(slopes)
    step = np.float32(2.0**-8)
    for owner in (network, network.network, inner):
        for i in range(len(owner.parameters)):
            start, losses = owner.parameters[i], []
            for value in (start + step, start - step):
                owner.parameters[i] = value
                losses.append(loss())
            owner.parameters[i] = start
            slope = (losses[0] - losses[1]) / (2 * step)
            assert owner.gradient[i] == pytest.approx(slope, rel=2e-3, abs=2e-3)


@pytest.mark.parametrize(
    ("knots", "message"),
    [
        ((0.0,), "knots must be at least two increasing numbers, got (0.0,)."),
        ((0.0, 0.0), "knots must be at least two increasing numbers, got (0.0, 0.0)."),
        ((1.0, 0.0), "knots must be at least two increasing numbers, got (1.0, 0.0)."),
        ((0.0, float("nan")), "knots must be at least two increasing numbers, got (0.0, nan)."),
        ((0.0, float("inf")), "knots must be finite, got (0.0, inf)."),
    ],
)
def test_knots_that_make_no_curve_are_refused(knots, message):
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        ShapeHead(knots)
